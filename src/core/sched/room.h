/* By fair share: makes room for a gang. A gang may have been granted its slots while the free slots lie on so many
 * agents that the gang fits nowhere. Then smaller requests are stopped where the gang could run. These have been
 * granted their slots as well, and start again where slots are free. What is lent is stopped first, whatever its size.
 * Gangs to which slots are lent never stop what is not lent; apart from that, smaller requests never stop larger ones.
 * So this comes to an end. */
#ifndef DET_CORE_SCHED_ROOM_H
#define DET_CORE_SCHED_ROOM_H

#include "core/sched/internal.h"

/* Sets `fits_now` and `counts` of each group of waiting requests: whether such a request has a place, and whether it
 * would have one if everything that can be preempted were gone. */
void room_find_who_counts(struct sched *s);
/* Returns what has been found out so, for a shape. A request that its quotas do not allow does not count. */
static inline bool shape_fits_now(const struct sched_shape *shape)
{
    return shape->allowed != NOT_ALLOWED && shape->group->fits_now;
}
static inline bool shape_counts(const struct sched_shape *shape)
{
    return shape->group->counts &&
           (shape->allowed != NOT_ALLOWED || sched_quotas_may_allow(shape->key.quotas, shape->key.fit.slots));
}
/* Chooses the agents on which the least has to be stopped, releases the requests there, and leaves the gang's shares in
 * s->share. 0: stopping requests does not help. The caller must have given back in the index what is on its way out and
 * what was released in this pass, and must have found which requests are lent. */
size_t room_make(struct pass *p, const struct sched_request *r);

#endif
