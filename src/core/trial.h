/* A trial: one training with one set of hyperparameters, over as many allocations as it takes.
 *
 * It is told which state to be in by its experiment, asks for an allocation while it is ACTIVE, and decides what the
 * end of an allocation means:
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
 * Where its searcher hands out operations, a trial that has completed its own gives its slots back and waits ACTIVE for
 * the next one; it is COMPLETED once it is closed. One that ends well without having completed anything in this run
 * does not care for operations, and is COMPLETED as well. */
#ifndef DET_CORE_TRIAL_H
#define DET_CORE_TRIAL_H

#include "core/objects.h"

struct searcher_action;

enum { TRIAL_INVALID_HP_GRACE_US = 10000000, TRIAL_RETRY_MAX_US = 60000000, TRIAL_LAUNCHES_MAX = 20 };

void trial_create(struct core *c, struct experiment *x, const struct searcher_action *create);
/* One that has ended starts over in a continued experiment: a new task, no restarts yet, its checkpoints and the number
 * of its runs as they were. */
void trial_again(struct core *c, struct trial *t, const char *hparams);
bool trial_has_invalid_hp(const struct trial *t);
/* The experiment (or the user) wants it to be in this state. */
void trial_patch(struct core *c, struct trial *t, enum run_state wanted);
struct searcher_operation trial_operation(const struct trial *t); /* what its searcher asks it for */
/* Where searchers hand out operations: there is one to train for; there will be none any more. */
void trial_operation_given(struct core *c, struct trial *t);
void trial_operation_completed(struct core *c, struct trial *t);
void trial_closed(struct core *c, struct trial *t);
void trial_stop_by_searcher(struct core *c, struct trial *t);
void trial_allocation_ended(struct core *c, struct trial *t, const struct allocation_row *ended);

int trial_kill(struct core *c, int32_t id, struct error *err);
int trial_early_exit(struct core *c, int32_t id, enum early_exit reason, struct error *err);
void trial_checkpointed(struct core *c, int32_t id, const char *uuid, int32_t steps_completed);
/* A line of its output matched a log policy: what follows from it follows at its next failure, or start. */
void trial_log_matched(struct core *c, int32_t id, const char *policy, const char *agent_id,
                       enum log_policy_action action);
bool trial_excludes(const struct trial *t, const char *agent_id);
void trial_timer(struct core *c, struct timer *t);

struct trial *trial_find(const struct core *c, int32_t id);
struct trial *trial_restore(struct core *c, struct experiment *x, const struct trial_row *row);
/* After a restart, once its open allocation, if any, hangs on it again. */
void trial_resume(struct core *c, struct trial *t);
void trial_fail(struct core *c, struct trial *t); /* ERROR, now; tells nobody */
void trial_free(struct core *c, struct trial *t);

#endif
