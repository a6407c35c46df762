/* An allocation: one run of a task on the resources that a pool gave it, from request to exit.
 *
 * It is PENDING until its resource manager has placed it, then as far as its most advanced container. The first
 * container that fails decides how the allocation ended, and the others are killed
 * (docs/spec/lifecycle.md#end-of-an-allocation). Two ways to end it early:
 *   terminate  asks the task to checkpoint and exit (preemption), and kills it after preemption_timeout. An allocation
 *              that is not ready yet has nothing to save: it is killed.
 *   kill       SIGKILL to all containers, every 30 s until they are gone; asking again within 15 s does nothing.
 *
 * allocation.c creates allocations, starts their containers, handles what their tasks report, and restores them;
 * container.c handles reports about containers, allocation_end.c the end, and allocation_state.c the states of both. */
#ifndef DET_CORE_RESOURCES_ALLOCATION_H
#define DET_CORE_RESOURCES_ALLOCATION_H

#include "core/state/objects.h"

enum { ALLOCATION_KILL_DEBOUNCE_US = 15000000, ALLOCATION_KILL_AGAIN_US = 30000000 };
/* The task is warned when a tenth of its max_time is left, but at most so long before the end. */
enum { ALLOCATION_NOTICE_MAX_US = 300000000 };
#define ALLOCATION_TASK_LIMIT_US 3600000000ll

struct allocation *allocation_request(struct core *c, struct trial *t);
void allocation_request_for_task(struct core *c, struct task *t, struct pool *pool);
/* An allocation that has ended stays that of its trial until the trial has been told (FACT_ALLOCATION_ENDED). */
static inline bool allocation_is_open(const struct allocation *a)
{
    return a->row.state != ALLOCATION_TERMINATED;
}
/* allocation_terminate() and allocation_kill() do nothing if the allocation has ended already. */
void allocation_terminate(struct core *c, struct allocation *a, const char *reason);
void allocation_kill(struct core *c, struct allocation *a, const char *reason);
/* Stops an allocation for good because it has gone over this limit. A trial or generic task may save its state before
 * it ends, as if it were preempted, although it does not run again. */
void allocation_stop(struct core *c, struct allocation *a, enum run_limit limit, const char *reason);

/* These functions are for the resource manager, which calls them in this order: it adds a container for each agent,
 * then it says that the allocation is assigned. */
struct container *allocation_add_container(struct core *c, struct allocation *a, struct agent *agent);
void allocation_assigned(struct core *c, struct allocation *a);
void allocation_start_container(struct core *c, struct container *k); /* may be called again for the same container */
void container_report(struct core *c, struct container *k, const struct core_container_report *r);
/* The same as container_exited() for an end in which the agent may have a part: a failure for a reason of its host is
 * noted (quarantine.h). */
void container_failed(struct core *c, struct container *k, enum exit_kind kind, int32_t code, const char *text);
void container_exited(struct core *c, struct container *k, enum exit_kind kind, int32_t code, const char *text);

/* These functions handle what the task says. ERR_NOT_FOUND if the allocation is not open. */
int allocation_ready(struct core *c, const char *id, struct error *err);
int allocation_waiting(struct core *c, const char *id, struct error *err);
int allocation_preempt_acked(struct core *c, const char *id, struct error *err);
int allocation_preempt_pending(struct core *c, const char *id, struct error *err);
int allocation_daemon(struct core *c, const char *id, const char *container_id, struct error *err);
int allocation_gather(struct core *c, const struct core_event *ev, struct error *err);
void allocation_timer(struct core *c, struct timer *t);

struct allocation *allocation_find(const struct core *c, const char *id);
struct container *container_find(const struct core *c, const char *id);

/* Restores an allocation of a trial or of a task of its own. The other one of these two is NULL. */
struct allocation *allocation_restore(struct core *c, struct trial *trial, struct task *task,
                                      const struct allocation_row *row);
struct container *container_restore(struct core *c, struct allocation *a, const struct container_row *row);
/* To be called when the allocation's containers have been restored. */
void allocation_resume(struct core *c, struct allocation *a);
/* Ends the allocation and its containers at once, without waiting for any agent. */
void allocation_end(struct core *c, struct allocation *a, enum exit_kind kind, int32_t code, const char *text);
void allocation_free(struct core *c, struct allocation *a);

#endif
