/* The commands of determined-master, such as `backup`: a word that comes first on its command line, and its arguments.
 * A command takes the options of the master itself, so that it finds the configuration that a master started with them
 * would have. */
#ifndef DET_MASTER_COMMANDS_COMMANDS_H
#define DET_MASTER_COMMANDS_COMMANDS_H

#include "common/base/error.h"

/* config show [--origin] | check: the configuration as it would count, on stdout. */
int config_command(int argc, char *const *argv, struct error *err);
/* FILE: a copy of the store, made by the running master, or by this process when none runs. */
int backup_command(int argc, char *const *argv, struct error *err);
/* FILE: brings it back into an empty data directory. */
int restore_command(int argc, char *const *argv, struct error *err);

#endif
