/* Elastic pools: machines that a provider launches when tasks wait for them, and ends when they idle.
 *
 *     CORE_INSTANCES_LISTED ──→ instances.h ──┐
 *     agents come, go, get work, idle ────────┼─→ elastic_turn ──→ scale.h ──→ CORE_ORDER_INSTANCES
 *     requests wait, time passes ─────────────┘
 *
 * The provider's list alone says which machines there are, so that no crash can make the master forget one. After an
 * order the pool waits for a list that was made after the order had been carried out; so it never decides twice by the
 * same list. From the decision to end a machine on, its agent gets nothing to do (docs/decisions/0006). */
#ifndef DET_CORE_RESOURCES_ELASTIC_H
#define DET_CORE_RESOURCES_ELASTIC_H

#include "core/state/objects.h"

struct elastic *elastic_new(const struct scale_opts *opts);
void elastic_free(struct core *c, struct elastic *e); /* NULL is fine */

/* Takes what the provider has listed. Machines that it takes back get nothing new, and their tasks are asked for a
 * checkpoint. */
int elastic_listed(struct core *c, const struct core_event *ev, struct error *err);
void elastic_timer(struct timer *t);
/* Has to be called at the end of each step, after the pool's scheduler. Its cost depends on what the next three
 * functions have been told. */
void elastic_turn(struct core *c, struct pool *p, bool changed);
/* Has to be called when the agent has come or gone, has got a container, or has ended one. */
void elastic_touch(struct pool *p, const struct agent *agent);
/* Has to be called when a request begins to wait (by 1), or does not wait any more (by −1). */
void elastic_waits(struct pool *p, const struct sched_request *r, int by);
/* Returns the cores and the memory of the largest machine that the provider has listed and whose agent has connected
 * since the master started; nothing if none is known, or if the pool is not elastic. */
struct sched_needs elastic_largest(const struct pool *p);
/* Returns whether machines that an elastic pool launches have so many cores and so much memory, as far as is known. */
bool elastic_could_have(const struct pool *p, const struct sched_needs *needs);
/* Has to be called when the job's max_slots has changed. */
void elastic_limits(struct pool *p, const struct job *job, int max_slots_before);
void elastic_clock_set(struct core *c, int64_t by_us);
/* Has to be called after a restart. Agents of machines whose pool is not elastic any more are forgotten, unless
 * something may still run there. */
void elastic_restored(struct core *c);

/* Returns whether the provider still lists the agent's machine. The result is true as long as no list has come. */
bool elastic_lists(const struct agent *agent);
/* For tests: compares the sums that the pool keeps with sums over all requests and instances. */
bool elastic_adds_up(const struct core *c, const struct pool *p);
void elastic_view(const struct core *c, const struct pool *p, struct core_pool_view *ret);

#endif
