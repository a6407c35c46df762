/* What determined-master does besides serving: each is a word that comes first on its command line, with the arguments
 * behind it. They take the options of the master itself, so that they see what a master started that way would see. */
#ifndef DET_MASTER_COMMANDS_H
#define DET_MASTER_COMMANDS_H

#include "common/error.h"

/* config show [--origin] | check: the configuration as it would count, on stdout. */
int config_command(int argc, char *const *argv, struct error *err);
/* FILE: a copy of the store, made by the running master, or by this process when none runs. */
int backup_command(int argc, char *const *argv, struct error *err);
/* FILE: brings it back into an empty data directory. */
int restore_command(int argc, char *const *argv, struct error *err);

#endif
