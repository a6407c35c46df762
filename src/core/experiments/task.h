/* A task of its own, which belongs to no trial: one allocation on one agent, run once, and never preempted. Only
 * generic tasks can be paused and then have one allocation after another (generic_task.h).
 *
 * A collection removes checkpoints. The platform starts it, it has no slots, it may take ALLOCATION_TASK_LIMIT_US at
 * most, and it is not shown in the job queue. Whoever created it hears of its end (CORE_TASK_ENDED) and decides whether
 * to try again. Tasks of all other kinds are launched by users: commands, notebooks, shells, TensorBoards. Such a task
 * is a job of its own in the queue of its pool. It ends by itself, or when a user kills it, or when it was idle for too
 * long.
 *
 * The core does not know what the task executes. */
#ifndef DET_CORE_EXPERIMENTS_TASK_H
#define DET_CORE_EXPERIMENTS_TASK_H

#include "core/state/objects.h"

int task_create(struct core *c, const struct core_task_spec *spec, struct error *err);
/* Ends a launched task that is not generic. ERR_NOT_FOUND if there is none with this id, or if it is over. */
int task_kill(struct core *c, const char *id, struct error *err);
void task_used(struct core *c, const char *id);
void task_allocation_ended(struct core *c, struct task *t); /* FACT_ALLOCATION_ENDED: frees the task */

struct task *task_find(const struct core *c, const char *id);
struct task *task_find_by_job(const struct core *c, const char *job_id); /* only launched tasks are found */
void task_restore(struct core *c, const struct task_row *row);
/* To be called after task_restore() for a task that a user has launched. Nothing happens if there is no such task. */
void task_restore_launched(struct core *c, const struct launched_row *row);
/* Returns false if the store lacks what the task needs to go on: its request failed while it was stored. */
bool task_can_go_on(const struct task *t);
/* Has to be called after a restart of the master. It ends the task if the task's allocation was not found. */
void task_resume(struct core *c, struct task *t);
/* For generic_task.c. A task that has no allocation has no place in the queue. task_end() frees the task. */
void task_join_queue(struct core *c, struct task *t);
void task_leave_queue(struct core *c, struct task *t);
void task_end(struct core *c, struct task *t);
void task_clock_set(struct core *c, int64_t by_us);
void task_free(struct core *c, struct task *t);

#endif
