/* Shows a trial to people: `det trial describe` on a terminal. */
#ifndef DET_CLI_CMD_TRIAL_TRIAL_SHOW_H
#define DET_CLI_CMD_TRIAL_TRIAL_SHOW_H

#include "cli/cmd/show.h"

int trial_show(struct cli *cli, const struct wire_trial *trial,
               struct error *err); /* shows the trial and its metrics */

/* What a trial reported, gathered from its workloads: workloads with the same number of batches form one step. */
struct step;
struct trial_steps {
    struct step *step;
    size_t n, cap;
};
void trial_steps_add(struct trial_steps *all, struct arena *a, const struct wire_workload_container *w);
void trial_steps_show(struct cli *cli, struct trial_steps *all);

#endif
