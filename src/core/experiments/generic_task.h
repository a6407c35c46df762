/* Generic tasks: launched tasks that can be paused, and that can have tasks below them.
 *
 * What a user does to such a task happens to all tasks below it, too. A task that is paused is asked to save its state
 * and to exit, as a trial is, and is killed after its preemption_timeout. When it is unpaused, it gets another
 * allocation. What follows the end of an allocation:
 *
 *     state              how the allocation ended                                  the task's next state
 *     STOPPING_CANCELED  in any way                                                CANCELED
 *     any other          the program failed, or could not be started               ERROR
 *     any other          the program exited with 0, and acknowledged no preemption COMPLETED
 *     STOPPING_PAUSED    in any other way                                          PAUSED
 *     ACTIVE             it was preempted: unpaused before it had exited, or       ACTIVE, in another allocation
 *                        it has told that its machine will go away
 *     ACTIVE             in any other way, such as with its agent                  ERROR
 *
 * A task whose parent has ended goes on. */
#ifndef DET_CORE_EXPERIMENTS_GENERIC_TASK_H
#define DET_CORE_EXPERIMENTS_GENERIC_TASK_H

#include "core/state/objects.h"

int generic_change(struct core *c, const struct core_event *ev, struct error *err); /* CORE_GENERIC_CHANGE */
/* FACT_ALLOCATION_ENDED. It frees the task if the task is over. */
void generic_allocation_ended(struct core *c, struct task *t, const struct allocation_row *ended);
/* Has to be called after a restart of the master, when allocations have been restored. */
void generic_resume(struct core *c, struct task *t);

#endif
