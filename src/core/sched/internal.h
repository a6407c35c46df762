/* What the policies share. For the scheduler's own sources only. */
#ifndef DET_CORE_SCHED_INTERNAL_H
#define DET_CORE_SCHED_INTERNAL_H

#include "core/sched/projection.h"
#include "core/sched/line.h"
#include "core/sched/places.h"
#include "core/sched/policy.h"
#include "core/sched/queue.h"
#include "core/sched/shares.h"

enum { SCHED_LEVELS = SCHED_PRIORITY_MAX + 1 }; /* level 0: all requests, by fair share */

struct sched {
    struct sched_opts opts;
    const struct sched_policy_type *policy;
    struct places places;
    struct projection projection;
    struct sched_level with_slots[SCHED_LEVELS], without[SCHED_LEVELS];
    struct sched_line line;
    size_t group_n;
    TAILQ_HEAD(, sched_request) releasing;
    size_t releasing_n[2]; /* of these, without slots and with */
    struct sched_promotions promotions;
    uint64_t pass, outlooks;
    struct sched_share *share; /* room for one placement */
    size_t agent_n, share_cap;
    struct claims_room claims;
};

/* Where requests like r, with slots or without, stand at a priority. */
struct sched_level *sched_level_of(struct sched *s, const struct sched_request *r, int priority);

/* Kinds of requests that need not be looked at again in a pass: while room only shrinks, what failed once fails again. */
enum { SHAPE_SET_MAX = 64 };
struct shape_set {
    struct shape_key key[SHAPE_SET_MAX];
    size_t n;
};
bool shape_set_has(const struct shape_set *set, const struct sched_shape *shape);
void shape_set_add(struct shape_set *set, const struct sched_shape *shape); /* unless it is full */

/* One pass. */
struct pass {
    struct sched *s;
    struct arena *arena;
    struct sched_decision *ret;
    size_t allocate_cap, unplaced_cap, release_cap;
    bool backfilling; /* something more important waits */
    bool releasing;   /* and room is being made for it: what is free may be what it will need */
    struct shape_set unfit, infeasible, too_large; /* no place now; nothing that could be stopped helped; nor what leaves */
    bool has_outlook, saw_what_leaves;
    /* By priority: the levels that are served, and the one that would be stopped first of what is not released yet. The least
     * important and latest goes first, whoever it is for: what is released is always all that comes before this one. */
    struct sched_level *level;
    struct sched_request *next_victim;
    int kept_n; /* gangs whose places are kept in what leaves */
    uint64_t began; /* the number of the pass; each plan by fair share has one of its own */
};

void pass_allocate(struct pass *p, struct sched_request *r, const struct sched_share *share, size_t n);
void pass_grant(struct pass *p, struct sched_request *r); /* without a place */
void pass_release(struct pass *p, struct sched_request *r);

/* It would not fit into what leaves, either. True is sure. */
bool pass_is_too_large(struct pass *p, const struct sched_shape *shape);
/* For what could not be helped at a more important priority, even fewer can be stopped at this one. True is sure. */
bool pass_is_infeasible(struct pass *p, const struct sched_shape *shape);
void pass_note_infeasible(struct pass *p, const struct sched_shape *shape);
void pass_forget_infeasible(struct pass *p); /* there is more room than there was */

#endif
