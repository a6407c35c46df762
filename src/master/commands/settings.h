/* The master's configuration as the program uses it: it is loaded, older spellings are rewritten, and keys that depend
 * on each other are checked. Values that depend on the machine (data_dir, db.path, port) are filled in, so that whoever
 * reads a key later finds the value that holds. */
#ifndef DET_MASTER_COMMANDS_SETTINGS_H
#define DET_MASTER_COMMANDS_SETTINGS_H

#include "common/base/strbuf.h"
#include "common/config/config.h"

/* Returns where the master's configuration comes from. The arguments are those without the program's name and its
 * command. */
struct config_input master_config_input(int argc, char *const *argv);
int master_settings_load(const struct config_input *in, struct config **ret, struct error *err);
/* Adds the place of the database in the form that store_open takes. The text may hold the password. */
void master_settings_database(const struct config *c, struct strbuf *out);

#endif
