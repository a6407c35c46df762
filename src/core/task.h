/* A task of its own, which is no trial's: one allocation without slots, run once, for an hour at most, and never preempted.
 * What it is for, its creator knows; it is told of the end (CORE_TASK_ENDED) and decides whether to try again. */
#ifndef DET_CORE_TASK_H
#define DET_CORE_TASK_H

#include "core/objects.h"

int task_create(struct core *c, const struct core_task_spec *spec, struct error *err);
void task_allocation_ended(struct core *c, struct task *t);

struct task *task_find(const struct core *c, const char *id);
void task_restore(struct core *c, const struct task_row *row);
/* After a restart: one whose allocation was not found is over. */
void task_resume(struct core *c, struct task *t);
void task_free(struct task *t);

#endif
