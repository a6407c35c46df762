/* What the commands about experiments share. */
#ifndef DET_CLI_CMD_EXPERIMENT_H
#define DET_CLI_CMD_EXPERIMENT_H

#include "cli/api.h"

bool experiment_is_final(enum wire_experiment_state s);
/* The trial with the lowest id; 0 while there is none. */
int experiment_first_trial(struct cli *cli, int32_t experiment_id, int32_t *ret, struct error *err);

#endif
