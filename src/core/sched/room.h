/* By fair share: makes room for a gang. A gang may have been granted its slots while the free slots lie on so many
 * agents that the gang fits nowhere. Then smaller requests are stopped where the gang could run. These have been
 * granted their slots as well, and start again where slots are free. Smaller requests never stop larger ones, so that
 * this comes to an end. */
#ifndef DET_CORE_SCHED_ROOM_H
#define DET_CORE_SCHED_ROOM_H

#include "core/sched/internal.h"

/* Sets `counts` of each shape of waiting requests: whether such a request would have a place if everything that can be
 * preempted were gone. */
void room_find_who_counts(struct sched *s);
/* Chooses the agents on which the least has to be stopped, releases the requests there, and leaves the gang's shares in
 * s->share. 0: stopping requests does not help. The caller must have given back in the index what is on its way out and
 * what was released in this pass. */
size_t room_make(struct pass *p, const struct sched_request *r);

#endif
