/* What the policies share. For the scheduler's own sources only. */
#ifndef DET_CORE_SCHED_INTERNAL_H
#define DET_CORE_SCHED_INTERNAL_H

#include "core/sched/line.h"
#include "core/sched/places.h"
#include "core/sched/queue.h"

enum { SCHED_LEVELS = SCHED_PRIORITY_MAX + 1 }; /* level 0: all requests, by fair share */

struct claim;
/* Room for what a pass by fair share notes of each job; kept, for fresh memory costs more than the notes. */
struct claims_room {
    struct claim *item;
    uint32_t *order, *sorted;
    size_t cap;
};

struct sched {
    struct sched_opts opts;
    struct places places;
    struct sched_level with_slots[SCHED_LEVELS], without[SCHED_LEVELS];
    struct sched_groups groups;
    size_t group_n;
    TAILQ_HEAD(, sched_request) releasing;
    size_t releasing_n[2]; /* of these, without slots and with */
    struct sched_promotions promotions;
    uint64_t pass;
    struct sched_share *share; /* room for one placement */
    size_t agent_n, share_cap;
    struct claims_room claims;
};

/* Where requests like r, with slots or without, stand at a priority. */
struct sched_level *sched_level_of(struct sched *s, const struct sched_request *r, int priority);

/* One pass. */
struct pass {
    struct sched *s;
    struct arena *arena;
    struct sched_decision *ret;
    size_t allocate_cap, unplaced_cap, release_cap;
    bool backfilling; /* something more important waits */
    bool releasing;   /* and room is being made for it: what is free may be what it will need */
};

void pass_allocate(struct pass *p, struct sched_request *r, const struct sched_share *share, size_t n);
void pass_grant(struct pass *p, struct sched_request *r); /* without a place */
void pass_release(struct pass *p, struct sched_request *r);

/* The policies. They leave the places as they found them. */
void sched_by_priority(struct pass *p);
void sched_by_fair_share(struct pass *p);

#endif
