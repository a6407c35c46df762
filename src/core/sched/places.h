/* Where a request fits: the agents of a pool, indexed by what they have free.
 *
 * Agents alike in (slots, empty slots), or (aux, empty aux) for zero-slot tasks on idle ones, share a bucket, and with it
 * the score; a pool of equal agents has as many buckets as an agent has slots, plus one. Inside one they stand by the hash
 * of their id, so that the one preferred by a request, the nearest at or below the request's own hash, is found in
 * O(log agents).
 *
 * A pass plans by changing these indexes themselves. Each change is noted on a trail, so that it can be taken back. */
#ifndef DET_CORE_SCHED_PLACES_H
#define DET_CORE_SCHED_PLACES_H

#include "core/sched/sched.h"

RB_HEAD(sched_places_by_hash, sched_place);

struct sched_bucket {
    struct bucket_key {
        int all, empty;
        int by_aux; /* these count zero-slot containers, not slots */
    } key;
    double score;
    size_t n;
    struct sched_places_by_hash places;
    struct sched_bucket *next;
    UT_hash_handle hh;
};

/* Walks over the bucket's agents in a circle, from the one with the nearest hash at or below `hash` on. NULL: there are none. */
struct sched_place *bucket_first(struct sched_bucket *b, uint64_t hash);
struct sched_place *bucket_next(struct sched_bucket *b, struct sched_place *place);

/* The buckets that are looked at for one kind of request: with slots, or without. */
struct bucket_set {
    struct sched_bucket *by_key, *first;
};

/* How many open agents there are of each size, busy or not. */
struct agent_size {
    int slots;
    size_t n, whole; /* whole: that would be idle (infeasible.c, room.c) */
    struct sched_bucket *idle; /* NULL: none ever was */
    struct agent_size *next; /* larger ones first */
};

struct trail_entry {
    struct sched_agent *agent;
    int empty_slots, empty_aux; /* as they were */
};

struct places {
    enum fitting_policy fitting;
    bool allow_heterogeneous_fits;
    struct bucket_set for_slots, for_aux;
    struct sched_agent *by_id;
    struct agent_size *sizes;
    size_t aux_agents; /* open ones that take zero-slot containers */
    int64_t capacity;  /* slots of all agents */
    uint64_t room;     /* bit n: some agent has n + 1 empty slots; 64 stands for more */
    int room_n[64];    /* so many have */
    struct trail_entry *trail;
    size_t trail_n, trail_cap;
};

void places_init(struct places *p, const struct sched_opts *opts);
void places_free(struct places *p);

void places_add(struct places *p, struct sched_agent *agent);
void places_remove(struct places *p, struct sched_agent *agent);
void places_set(struct places *p, struct sched_agent *agent, const struct sched_agent *to);

/* Where the request would go now: the best single agent, else whole agents of one size whose slots divide the request,
 * else, if allowed, whole agents of any size. 0: nowhere. ret has room for all agents. */
size_t places_fit(struct places *p, const struct sched_request *r, struct sched_share *ret);
/* False: it could not be placed, whatever else were to go. (True is sure for agents of one size; which whole agents of
 * several sizes add up depends on which are idle.) */
bool places_could_fit(const struct places *p, const struct sched_request *r);
/* The same for agents of such sizes, whichever they are. */
bool sizes_could_hold(const struct agent_size *largest_first, const struct sched_request *r, bool allow_heterogeneous_fits);

/* Planning: everything done since places_mark() is undone by places_undo(mark). */
size_t places_mark(const struct places *p);
void places_take(struct places *p, const struct sched_share *share, size_t n);
void places_give(struct places *p, const struct sched_share *share, size_t n);
void places_plan(struct places *p, struct sched_agent *agent, int empty_slots, int empty_aux); /* it has so much free */
void places_undo(struct places *p, size_t mark);
void places_commit(struct places *p); /* forget the trail */

bool places_blocked(const struct sched_request *r, const struct sched_agent *agent);
uint64_t places_hash(const char *id); /* of agents and requests: the first 8 bytes of its MD5, little-endian */

#endif
