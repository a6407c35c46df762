/* Opens addresses in the browser of the person at the terminal. */
#ifndef DET_CLI_CMD_TASK_BROWSER_H
#define DET_CLI_CMD_TASK_BROWSER_H

#include <stdbool.h>

#include "cli/cli.h"

/* The program is the first that starts of those that BROWSER names (separated by colons, %s stands for the address);
 * without BROWSER it is the desktop's own. Returns false if there is none. Does not wait for the program. */
bool browser_open(struct cli *cli, const char *url);

#endif
