/* A trial: one training with one set of hyperparameters, over as many allocations as it takes.
 *
 * Its experiment tells it which state to be in. While it is ACTIVE it asks for an allocation, and it decides what the
 * end of an allocation means (docs/spec/lifecycle.md#end-of-a-trials-allocation):
 *
 *     how the allocation ended             ACTIVE                        PAUSED              STOPPING_x
 *     exit 0, preemption acknowledged      next allocation               waits               x
 *     exit 0                               COMPLETED                     COMPLETED           x
 *     FAILED, TASK_ERROR                   restart, or ERROR when        waits, or ERROR     ERROR
 *                                          max_restarts are used up
 *     KILLED by the master                 next allocation               waits               x
 *     agent's or master's fault            next allocation, not counted  waits               x
 *                                          and the task's log says so;
 *                                          ERROR after TRIAL_LAUNCHES_MAX
 *                                          failed launches in a row
 *     INVALID_HP was reported              COMPLETED                     COMPLETED           x
 *
 * In a search with operations (docs/spec/searchers.md#operations), a trial that has completed its operation gives its
 * slots back and waits ACTIVE for the next one; it is COMPLETED once the searcher has closed it. A trial whose program
 * ends with status 0 and has completed no operation in this run is COMPLETED as well: its program does not use
 * operations. */
#ifndef DET_CORE_EXPERIMENTS_TRIAL_H
#define DET_CORE_EXPERIMENTS_TRIAL_H

#include "core/state/objects.h"

struct searcher_action;

enum { TRIAL_INVALID_HP_GRACE_US = 10000000, TRIAL_RETRY_MAX_US = 60000000, TRIAL_LAUNCHES_MAX = 20 };

/* Creates a trial, which is PAUSED. The caller enters it under its number in its experiment. */
struct trial *trial_create(struct core *c, struct experiment *x, const struct searcher_action *create);
/* Starts a trial of a continued experiment a second time. The trial has ended, and becomes PAUSED. It gets a new task
 * and no restarts are counted yet. It keeps its checkpoints and its run id. */
void trial_again(struct core *c, struct trial *t, const char *hparams);
bool trial_has_invalid_hp(const struct trial *t);
/* Moves the trial to the state that its experiment or a user wants, where the table of states allows it. */
void trial_patch(struct core *c, struct trial *t, enum run_state wanted);
struct searcher_operation trial_operation(const struct trial *t); /* what the searcher asks the trial for */
/* These functions have to be called when the searcher has given the trial an operation; when a trial has completed its
 * operation; and when the searcher has closed the trial. */
void trial_operation_given(struct core *c, struct trial *t);
void trial_operation_completed(struct core *c, struct trial *t);
void trial_closed(struct core *c, struct trial *t);
void trial_stop_by_searcher(struct core *c, struct trial *t);
void trial_allocation_ended(struct core *c, struct trial *t,
                            const struct allocation_row *ended); /* FACT_ALLOCATION_ENDED */

int trial_kill(struct core *c, int32_t id, struct error *err);
int trial_early_exit(struct core *c, int32_t id, enum early_exit reason, struct error *err);
void trial_checkpointed(struct core *c, int32_t id, const char *uuid, int32_t steps_completed);
/* A line of the trial's output has matched a log policy. The policy takes effect at the trial's next failure or
 * start. */
void trial_log_matched(struct core *c, int32_t id, const char *policy, const char *agent_id,
                       enum log_policy_action action);
bool trial_excludes(const struct trial *t, const char *agent_id);
void trial_timer(struct core *c, struct timer *t);

struct trial *trial_find(const struct core *c, int32_t id);
struct trial *trial_restore(struct core *c, struct experiment *x, const struct trial_row *row);
/* Has to be called after a restart of the master, when the trial's open allocation, if it has one, has been
 * restored. */
void trial_resume(struct core *c, struct trial *t);
void trial_fail(
    struct core *c,
    struct trial *t); /* sets the trial to ERROR at once, and tells neither its experiment nor its searcher */
void trial_free(struct core *c, struct trial *t);

#endif
