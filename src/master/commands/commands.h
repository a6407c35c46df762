/* The commands of determined-master, such as `backup`: a word that comes first on its command line, and its arguments.
 * A command takes the options of the master itself, so that it finds the configuration that a master started with them
 * would have. */
#ifndef DET_MASTER_COMMANDS_COMMANDS_H
#define DET_MASTER_COMMANDS_COMMANDS_H

#include "common/base/error.h"

/* Carries out `config show [--origin]` or `config check`, which prints the configuration as a master would use it to
 * stdout. */
int config_command(int argc, char *const *argv, struct error *err);
/* Carries out `audit verify`, which checks the audit log in the store. */
int audit_command(int argc, char *const *argv, struct error *err);
/* Carries out `backup FILE`. The running master makes the copy of the store, or this process does if no master runs. */
int backup_command(int argc, char *const *argv, struct error *err);
/* Carries out `restore FILE`, which brings a copy back into an empty data directory. */
int restore_command(int argc, char *const *argv, struct error *err);

#endif
