/* Elastic pools: machines that a provider launches when tasks wait for them, and ends when they idle.
 *
 *     CORE_INSTANCES_LISTED ──→ instances.h ──┐
 *     agents come, go, get work, idle ────────┼─→ elastic_turn ──→ scale.h ──→ CORE_ORDER_INSTANCES
 *     requests wait, time passes ─────────────┘
 *
 * The provider's list is the only truth about machines: nothing that was launched can be forgotten, whatever crashes. After
 * an order the pool waits for a list that is younger than it, so nothing is decided twice from one picture. A machine
 * that is to end gets nothing to do any more from the moment of the decision. */
#ifndef DET_CORE_ELASTIC_H
#define DET_CORE_ELASTIC_H

#include "core/objects.h"

struct elastic *elastic_new(const struct scale_opts *opts);
void elastic_free(struct core *c, struct elastic *e); /* NULL is fine */

int elastic_listed(struct core *c, const struct core_event *ev, struct error *err);
void elastic_timer(struct timer *t);
/* At the end of each step, after the pool's scheduler. Costs what has changed of agents and requests: */
void elastic_turn(struct core *c, struct pool *p, bool changed);
/* … the agent comes or goes, gets something to do, or has given it back */
void elastic_touch(struct pool *p, const struct agent *agent);
/* … a request begins to wait (by 1), or waits no longer (−1) */
void elastic_waits(struct pool *p, const struct sched_request *r, int by);
/* … its job's max_slots is another one now */
void elastic_limits(struct pool *p, const struct job *job, int max_slots_before);
void elastic_clock_set(struct core *c, int64_t by_us);
/* Agents of machines whose pool is not elastic any more are forgotten, unless something may still run there. */
void elastic_restored(struct core *c);

/* Is its machine still there, as far as anybody knows? */
bool elastic_lists(const struct agent *agent);
/* For tests: the sums are those of what there is, looked at one by one. */
bool elastic_adds_up(const struct core *c, const struct pool *p);
void elastic_view(const struct core *c, const struct pool *p, struct core_pool_view *ret);

#endif
