/* The master's configuration as the program uses it: it is loaded, older spellings are rewritten, and keys that depend
 * on each other are checked. Values that depend on the machine (data_dir, db.path, port) are filled in, so that whoever
 * reads a key later finds the value that holds. */
#ifndef DET_MASTER_COMMANDS_SETTINGS_H
#define DET_MASTER_COMMANDS_SETTINGS_H

#include "common/base/strbuf.h"
#include "common/config/config.h"

/* Where the master's configuration comes from; the arguments without the program's name and its command. */
struct config_input master_config_input(int argc, char *const *argv);
int master_settings_load(const struct config_input *in, struct config **ret, struct error *err);
/* Where the database is, as store_open takes it: it may hold the password. */
void master_settings_database(const struct config *c, struct strbuf *out);

#endif
