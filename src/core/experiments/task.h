/* A task of its own, which belongs to no trial: one allocation without slots, run once, for ALLOCATION_TASK_LIMIT_US at
 * most, and never preempted. The core does not know what the task is for. Whoever created it hears of its end
 * (CORE_TASK_ENDED) and decides whether to try again. */
#ifndef DET_CORE_EXPERIMENTS_TASK_H
#define DET_CORE_EXPERIMENTS_TASK_H

#include "core/state/objects.h"

int task_create(struct core *c, const struct core_task_spec *spec, struct error *err);
void task_allocation_ended(struct core *c, struct task *t); /* FACT_ALLOCATION_ENDED: frees the task */

struct task *task_find(const struct core *c, const char *id);
void task_restore(struct core *c, const struct task_row *row);
/* Has to be called after a restart of the master. It ends the task if the task's allocation was not found. */
void task_resume(struct core *c, struct task *t);
void task_free(struct core *c, struct task *t);

#endif
