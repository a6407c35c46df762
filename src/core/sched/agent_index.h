/* The index of a pool's agents by what they have free. It answers where a request fits (fits.c).
 *
 * Agents alike in (slots, empty slots), or (aux, empty aux) for zero-slot tasks on idle ones, share a bucket, and with
 * it the score; a pool of equal agents has as many buckets as an agent has slots, plus one. Inside one they stand by
 * the hash of their id, so that the one preferred by a request, the nearest at or below the request's own hash, is
 * found in O(log agents).
 *
 * A pass plans by changing these indexes themselves. Each change is noted in a list (`undo`), so that it can be taken
 * back. */
#ifndef DET_CORE_SCHED_AGENT_INDEX_H
#define DET_CORE_SCHED_AGENT_INDEX_H

#include "core/sched/sched.h"

RB_HEAD(agent_index_entries, agent_index_entry);

struct sched_bucket {
    struct bucket_key {
        int all, empty;
        int by_aux; /* 1: `all` and `empty` count containers without slots, not slots */
    } key;
    double score;
    size_t n;
    struct agent_index_entries entries;
    struct sched_bucket *next;
    UT_hash_handle hh;
};

/* Walks over the bucket's agents in a circle, from the one with the nearest hash at or below `hash` on. NULL: there are
 * none. */
struct agent_index_entry *bucket_first(struct sched_bucket *b, uint64_t hash);
struct agent_index_entry *bucket_next(struct sched_bucket *b, struct agent_index_entry *entry);

/* The buckets that are looked at for one kind of request: with slots, or without. */
struct bucket_set {
    struct sched_bucket *by_key, *first;
};

/* How many open agents there are of each size, busy or not. */
struct agent_size {
    int slots;
    size_t n,
        whole; /* n: agents of this size. whole: those that would be idle after the last count (infeasible.c, room.c) */
    struct sched_bucket *idle; /* the bucket of idle agents of this size; NULL: none was ever idle */
    struct agent_size *next;   /* larger ones first */
};

struct undo_entry {
    struct sched_agent *agent;
    int empty_slots, empty_aux; /* the values before the change */
};

struct agent_index {
    enum fitting_policy fitting;
    bool allow_heterogeneous_fits;
    struct bucket_set for_slots, for_aux;
    struct sched_agent *by_id;
    struct agent_size *sizes;
    size_t aux_agents; /* open ones that take zero-slot containers */
    int64_t capacity;  /* slots of all agents */
    uint64_t room;     /* bit n: some agent has n + 1 empty slots; 64 stands for more */
    int room_n[64];    /* room_n[n]: how many agents have n + 1 empty slots */
    struct undo_entry *undo;
    size_t undo_n, undo_cap;
};

void agent_index_init(struct agent_index *p, const struct sched_opts *opts);
void agent_index_free(struct agent_index *p);

void agent_index_add(struct agent_index *p, struct sched_agent *agent);
void agent_index_remove(struct agent_index *p, struct sched_agent *agent);
void agent_index_set(struct agent_index *p, struct sched_agent *agent, const struct sched_agent *to);

/* Where the request would go now: the best single agent, else whole agents of one size whose slots divide the request,
 * else, if allowed, whole agents of any size. 0: nowhere. ret has room for all agents. */
size_t agent_index_fit(struct agent_index *p, const struct sched_request *r, struct sched_share *ret);
/* False: it could not be placed, whatever else were to go. (True is sure for agents of one size; which whole agents of
 * several sizes add up depends on which are idle.) */
bool agent_index_could_fit(const struct agent_index *p, const struct sched_request *r);
/* The same question for any agents of these sizes; blocked agents are not looked at. */
bool sizes_could_hold(const struct agent_size *largest_first, const struct sched_request *r,
                      bool allow_heterogeneous_fits);

/* Planning: everything done since agent_index_mark() is undone by agent_index_undo(mark). */
size_t agent_index_mark(const struct agent_index *p);
void agent_index_take(struct agent_index *p, const struct sched_share *share, size_t n);
void agent_index_give(struct agent_index *p, const struct sched_share *share, size_t n);
void agent_index_plan(struct agent_index *p, struct sched_agent *agent, int empty_slots,
                      int empty_aux); /* counts the agent as having so much free */
void agent_index_undo(struct agent_index *p, size_t mark);
void agent_index_commit(struct agent_index *p); /* the changes noted so far stay: the list is emptied */

bool sched_is_blocked(const struct sched_request *r, const struct sched_agent *agent);
uint64_t
sched_hash(const char *id); /* the hash of an agent's or a request's id: the first 8 bytes of its MD5, little-endian */

#endif
