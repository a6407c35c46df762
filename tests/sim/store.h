/* The store of the simulation: rows in arrays, changed by PUT effects only. */
#ifndef DET_TESTS_SIM_STORE_H
#define DET_TESTS_SIM_STORE_H

#include "common/base/strbuf.h"
#include "core/core.h"

struct sim_store {
    struct experiment_row experiment[128];
    struct core_experiment_spec spec[128];
    char *snapshot[128];
    struct strbuf events[128]; /* the events of the searcher since its snapshot */
    int64_t events_from[128];
    size_t experiment_n;
    struct trial_row trial[512];
    size_t trial_n;
    struct task_row task[512];
    size_t task_n;
    struct launched_row launched[512];
    size_t launched_n;
    struct allocation_row *allocation;
    size_t allocation_n;
    struct container_row *container;
    size_t container_n;
    struct core_quota_change quota[8];
    size_t quota_n;
    struct agent_row agent[16];
    size_t agent_n;
};

void store_apply(struct sim_store *s, const struct core_effects *effects);
/* Checks that no slot is taken twice, that each trial has at most one open allocation, and that nothing is open of what
 * has ended. */
void store_check(const struct sim_store *s);
/* Reads what a master reads at its start. The caller frees the arrays. */
struct core_rows store_read(const struct sim_store *s);
void store_rows_free(struct core_rows *rows);
void store_free(struct sim_store *s);
struct trial_row *store_trial(struct sim_store *s, int32_t id);
const struct launched_row *store_launched(const struct sim_store *s, const char *task_id); /* NULL: there is none */

#endif
