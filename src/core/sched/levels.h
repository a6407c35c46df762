/* The requests of a pool by priority and shape, those of each shape in the order of their turns.
 *
 * Requests have the same *shape* if they need as many slots and as much of cores and memory, may be spread or not, and
 * have the same blocked agents and quotas. Shapes that differ in their quotas only are of one *group*: while room only
 * shrinks, requests of one group fit or fail together. So a pass that sees one fail need not look at the thousands like
 * it: it walks over groups, not over requests. Gangs that may take agents of several sizes are the exception: each is a
 * group of its own, because the choice of the largest sizes first can fail with more room and succeed with less.
 *
 * A group keeps its shapes by what their quotas allow them now, and in the order of their first turns. So a pass does
 * not look at shapes whose quotas are used up, however many there are. quotas.c says which shapes a change concerns. */
#ifndef DET_CORE_SCHED_LEVELS_H
#define DET_CORE_SCHED_LEVELS_H

#include "core/sched/sched.h"

RB_PROTOTYPE(sched_requests, sched_request, turn, sched_request_compare)

RB_HEAD(sched_shapes, sched_shape);

/* What the quotas of a shape allow one more of its requests. */
enum sched_allowed {
    ALLOWED_AS_OWN,
    ALLOWED_TO_BORROW,
    NOT_ALLOWED, /* a limit is reached */
    SCHED_ALLOWED_NR
};

struct sched_shape {
    struct shape_key {
        struct shape_fit {
            int slots, single_agent;
            struct sched_needs needs;
            /* the list of blocked agents, or the only request of this shape; NULL: the shape needs neither */
            const void *own;
        } fit;                       /* this alone says where it fits */
        struct sched_quotas *quotas; /* whether they allow it is the same for all requests of the shape */
    } key;
    struct sched_requests pending;
    struct sched_request *first; /* of `pending` */
    size_t n;
    struct sched_group *group;
    enum sched_allowed allowed;
    struct sched_moment lost; /* when the shape could be its quotas' own for the last time */
    /* The request at which the walk of the pass `at_in` has arrived. NULL: it has passed the last one. */
    struct sched_request *at;
    uint64_t at_in;
    struct sched_watch watch[SCHED_QUOTAS_MAX];
    RB_ENTRY(sched_shape) in_turn;
    LIST_ENTRY(sched_shape) in_group;
    UT_hash_handle hh;
};

/* Shapes that fit alike: they differ in their quotas only. */
struct sched_group {
    struct shape_fit fit;
    LIST_HEAD(, sched_shape) shapes;
    struct sched_shapes allowed[SCHED_ALLOWED_NR]; /* the same by what their quotas allow, each by its first turn */
    uint64_t moves;                                /* how often `allowed` has changed */
    bool infeasible, too_large;                    /* what infeasible.c has found out in this pass */
    /* With fair share, of this pass (room.c). fits_now: such requests fit now. counts: they fit now, or room for them
     * could be made. */
    bool fits_now, counts;
    /* What was found out when the agents' index had changed so often (agent_index.changes): could_fit: agents could
     * hold such a request (infeasible.c). could_have_room: room could be made for it, with fair share (room.c). */
    uint64_t could_fit_at, could_have_room_at;
    bool could_fit, could_have_room;
    LIST_ENTRY(sched_group) in_level;
    UT_hash_handle hh;
};

/* The requests of one priority that have slots, or those that have none. */
struct sched_level {
    const struct sched_opts *opts;
    struct sched_shape *by_key;
    struct sched_group *by_fit;
    LIST_HEAD(, sched_group) groups;
    size_t group_n, pending_n;
    struct sched_requests running; /* requests that have their slots, can be preempted, and are not on their way out */
};

void level_init(struct sched_level *l, const struct sched_opts *opts /* must live longer than the level */);
void level_free(struct sched_level *l);
void level_add(struct sched_level *l,
               struct sched_request *r); /* the request's state says into which index of the level it goes */
void level_remove(struct sched_level *l, struct sched_request *r);

/* Returns a request of the group. */
static inline struct sched_request *group_any(const struct sched_group *group)
{
    return LIST_FIRST(&group->shapes)->first;
}
/* Returns the first request of the group that its quotas do not forbid; NULL: they forbid all. */
struct sched_request *group_first(struct sched_group *group);

/* Finds anew what the quotas of a shape allow. */
void shape_settle(struct sched_shape *shape, const struct sched_moment *now);

/* A heap of requests by their turns, each with what it was found in. */
struct heap {
    struct heap_item {
        struct sched_request *next;
        void *in;
    } *item;
    size_t n, cap;
};

/* A walk over those requests of one group that their quotas allow in one way, in the order of their turns. A shape is
 * opened when its first request's turn has come. */
struct line {
    struct sched_group *group;
    enum sched_allowed allowed;
    const struct sched_moment *now;
    struct heap opened;               /* the next request of each shape that was opened */
    const struct sched_request *last; /* the first request of the shape that was opened last */
    struct sched_shape *next_shape;   /* the shape that is opened next; valid while the group's moves are `moves` */
    uint64_t moves;
    struct sched_request *behind; /* requests whose turns do not come after this one's are passed over; NULL: none */
    struct arena *arena;
};
/* Returns the request at which the line is. NULL: it is at its end. */
struct sched_request *line_next(struct line *line);
void line_advance(struct line *line);                                 /* to the request after line_next() */
void line_skip_to_behind(struct line *line, struct sched_request *r); /* to the first one whose turn is after r's */

/* A walk over lines, in the order of the turns of their next requests. */
struct walk {
    struct heap lines;
    struct arena *arena;
};
void walk_init(struct walk *w, struct arena *a); /* begins a walk over no line */
/* Begins a walk over all pending requests of the level that their quotas allow in this way. */
void walk_start(struct walk *w, struct sched_level *l, enum sched_allowed allowed, const struct sched_moment *now,
                struct arena *a);
void walk_push(struct walk *w, struct line *line); /* does nothing when the line is at its end */
/* Takes out the line whose next request has the first turn. NULL: the walk is at its end. */
struct line *walk_pop(struct walk *w);

#endif
