/* The requests of a pool by priority and shape, those of each shape in the order of their turns.
 *
 * Requests have the same *shape* if they need as many slots, may be spread or not, and have the same blocked agents and
 * quotas.
 * While room only shrinks, requests of one shape fit or fail together. So a pass that sees one fail need not look at
 * the thousands like it: it walks over shapes, not over requests. Gangs that may take agents of several sizes are the
 * exception: each is a shape of its own, because the choice of the largest sizes first can fail with more room and
 * succeed with less. */
#ifndef DET_CORE_SCHED_LEVELS_H
#define DET_CORE_SCHED_LEVELS_H

#include "core/sched/sched.h"

RB_PROTOTYPE(sched_requests, sched_request, turn, sched_request_compare)

struct sched_shape {
    struct shape_key {
        struct shape_fit {
            int slots, single_agent;
            /* the list of blocked agents, or the only request of this shape; NULL: the shape needs neither */
            const void *own;
        } fit;                             /* this alone says where it fits */
        const struct sched_quotas *quotas; /* whether they allow it is the same for all requests of the shape */
    } key;
    struct sched_requests pending;
    size_t n;
    bool infeasible, too_large; /* what infeasible.c has found out in this pass */
    bool fits_now,
        counts; /* for fair share: fits_now: it fits now. counts: it fits now, or room for it could be made (room.h) */
    struct sched_shape *next;
    UT_hash_handle hh;
};

/* The requests of one priority that have slots, or those that have none. */
struct sched_level {
    const struct sched_opts *opts;
    struct sched_shape *by_key, *first;
    size_t shape_n, pending_n;
    struct sched_requests running; /* requests that have their slots, can be preempted, and are not on their way out */
};

void level_init(struct sched_level *l, const struct sched_opts *opts /* must live longer than the level */);
void level_free(struct sched_level *l);
void level_add(struct sched_level *l,
               struct sched_request *r); /* the request's state says into which index of the level it goes */
void level_remove(struct sched_level *l, struct sched_request *r);

/* A walk over the requests of several shapes in the order of their turns. It is a heap that holds the next request of
 * each shape. */
struct cursor {
    struct sched_shape *shape;
    struct sched_request *next;
};
struct walk {
    struct cursor *heap;
    size_t n;
};
void walk_start(struct walk *w, struct sched_level *l,
                struct arena *a); /* begins a walk over all pending requests of the level */
void walk_init(struct walk *w, size_t shape_n,
               struct arena *a); /* begins a walk over no shape; walk_push() adds some */
void walk_push(struct walk *w,
               struct cursor c); /* does nothing when the cursor has passed the last request of its shape */
bool walk_pop(struct walk *w, struct cursor *ret);
struct cursor cursor_after(const struct cursor *c);
/* Returns the first request of the shape whose turn comes after r's. */
struct cursor cursor_behind(struct sched_shape *shape, struct sched_request *r);

#endif
