/* What trials ran in, by the master's records: one for each container of each run. */
#ifndef DET_CLI_CMD_TRIAL_ENVIRONMENT_H
#define DET_CLI_CMD_TRIAL_ENVIRONMENT_H

#include "cli/connection/api.h"
#include "cli/terminal/table.h"

/* A master that keeps no such records gives an empty list. */
int environments_fetch(struct cli *cli, int32_t trial_id, struct wire_get_trial_environments_response *ret,
                       struct error *err);
void environments_print(struct cli *cli, const struct wire_get_trial_environments_response *e, bool csv);
/* "2 x Tesla T4"; NULL: there are no devices, or they are not known. */
const char *environment_devices(struct arena *a, const struct wire_host_environment *host);
/* "Python 3.11.2, numpy 2.4.6, torch 2.15.0 on node1 (2 x Tesla T4)" for the last run's first container; NULL: no
 * record. */
const char *environments_summary(struct arena *a, const struct wire_get_trial_environments_response *e);

#endif
