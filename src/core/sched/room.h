/* By fair share: makes room for a gang. A gang may have been granted its slots while the free slots lie on so many
 * agents that the gang fits nowhere. Then smaller requests are stopped where the gang could run. These have been
 * granted their slots as well, and start again where slots are free. Smaller requests never stop larger ones, so that
 * this comes to an end. */
#ifndef DET_CORE_SCHED_ROOM_H
#define DET_CORE_SCHED_ROOM_H

#include "core/sched/internal.h"

/* Sets `counts` of each kind of waiting request: whether it would have a place if everything that can be preempted were
 * gone. */
void room_find_who_counts(struct sched *s);
/* Chooses the agents on which least has to be stopped, releases that, and leaves the gang's places in s->share. 0:
 * nothing helps. The caller has given back to the places what is on its way out or was released in this pass. */
size_t room_make(struct pass *p, const struct sched_request *r);

#endif
