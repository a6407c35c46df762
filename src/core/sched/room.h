/* Room for gangs by fair share: a gang that has been granted its slots, which are free in many places but not where it
 * could run, has smaller requests stopped there. They are granted theirs as well, and start again where it is free: smaller
 * ones never stop larger ones, so that comes to an end. */
#ifndef DET_CORE_SCHED_ROOM_H
#define DET_CORE_SCHED_ROOM_H

#include "core/sched/internal.h"

/* Would each waiting kind of request have a place, if all that can be preempted were gone? Sets its `counts`. */
void room_find_who_counts(struct sched *s);
/* Stops what has to be stopped, on those agents where it is least, and leaves its places in s->share. 0: in vain. What is
 * on its way out, or was released in this pass, has been given back to the places. */
size_t room_make(struct pass *p, const struct sched_request *r);

#endif
