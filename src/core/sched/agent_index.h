/* The index of a pool's agents by what they have free. It answers where a request fits (fits.c).
 *
 * Agents alike in (slots, empty slots), or (aux, empty aux) for zero-slot tasks on idle ones, share a bucket, and with
 * it the score; a pool of equal agents has as many buckets as an agent has slots, plus one. Inside one they stand by
 * the hash of their id, so that the one preferred by a request, the nearest at or below the request's own hash, is
 * found in O(log agents).
 *
 * Cores and memory have no index. Only for a request that needs some, the agents of a bucket are looked at one after
 * the other until one has enough left.
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
        int by_aux; /* 1: `all` and `empty` count places for containers without slots, instead of slots */
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

/* The buckets for one kind of request: requests with slots, or requests without. */
struct bucket_set {
    struct sched_bucket *by_key, *first;
};

/* The number of open agents of each size, idle or not. */
struct agent_size {
    int slots;
    size_t n,
        /* n: the agents of this size. whole: those of them that would be idle by the last count (infeasible.c,
         * room.c). able: those that have the cores and the memory of the request that was looked at last (fits.c,
         * room.c) */
        whole, able;
    struct sched_bucket *idle; /* the bucket of idle agents of this size; NULL: none was ever idle */
    struct agent_size *next;   /* the next smaller size */
};

struct undo_entry {
    struct sched_agent *agent;
    int empty_slots, empty_aux; /* the values before the change */
};

/* A change of cores and memory: beside the entry of `undo` with the index `at`. */
struct undo_left {
    size_t at;
    struct sched_agent *agent;
    struct sched_needs left;
};

struct agent_index {
    enum fitting_policy fitting;
    bool allow_heterogeneous_fits;
    struct bucket_set for_slots, for_aux;
    struct sched_agent *by_id;
    struct agent_size *sizes;
    size_t aux_agents; /* the open agents that take containers without slots */
    int64_t capacity;  /* the slots of all agents */
    /* How often anything has changed by which a request might fit after all that may be stopped was gone: what agents
     * have, which of them take new work, and what is held on them for good. So `preemptible` and the blocked agents of
     * a request must not change while the scheduler knows it. */
    uint64_t changes;
    uint64_t room;  /* bit n is set if an agent has n + 1 empty slots; agents with more than 64 count as having 64 */
    int room_n[64]; /* room_n[n]: the number of agents that have n + 1 empty slots */
    struct undo_entry *undo;
    size_t undo_n, undo_cap;
    struct undo_left *undo_left;
    size_t undo_left_n, undo_left_cap;
};

void agent_index_init(struct agent_index *p, const struct sched_opts *opts);
void agent_index_free(struct agent_index *p);

void agent_index_add(struct agent_index *p, struct sched_agent *agent);
void agent_index_remove(struct agent_index *p, struct sched_agent *agent);
void agent_index_set(struct agent_index *p, struct sched_agent *agent, const struct sched_agent *to);

/* Finds the place of a request on what is free now, and returns the number of shares; 0: there is no place. The best
 * single agent is taken. If there is none, whole agents of one size are taken whose slots divide those of the request.
 * If that is not possible either, whole agents of any size are taken where this is allowed. ret must have room for all
 * agents. */
size_t agent_index_fit(struct agent_index *p, const struct sched_request *r, struct sched_share *ret);
/* Returns false if the request could not be placed even if all agents were idle. True is certain for agents of one size
 * only: which whole agents of several sizes add up to the request depends on which of them are idle. */
bool agent_index_could_fit(const struct agent_index *p, const struct sched_request *r);
/* Answers the same question for any agents of these sizes, without regard to blocked agents. */
bool sizes_could_hold(const struct agent_size *largest_first, const struct sched_request *r,
                      bool allow_heterogeneous_fits);

/* For planning: agent_index_undo(mark) undoes all changes since agent_index_mark() returned that mark. `needs` are
 * those of each share. */
size_t agent_index_mark(const struct agent_index *p);
void agent_index_take(struct agent_index *p, const struct sched_share *share, size_t n,
                      const struct sched_needs *needs);
void agent_index_give(struct agent_index *p, const struct sched_share *share, size_t n,
                      const struct sched_needs *needs);
/* Takes the cores and the memory of the shares, but neither slots nor places. */
void agent_index_take_needs(struct agent_index *p, const struct sched_share *share, size_t n,
                            const struct sched_needs *needs);
void agent_index_plan(struct agent_index *p, struct sched_agent *agent, int empty_slots,
                      int empty_aux); /* counts the agent as having so many slots and places free */
void agent_index_plan_left(struct agent_index *p, struct sched_agent *agent, const struct sched_needs *left);
void agent_index_undo(struct agent_index *p, size_t mark);
void agent_index_commit(struct agent_index *p); /* keeps the changes made so far: they cannot be undone any more */

bool sched_is_blocked(const struct sched_request *r, const struct sched_agent *agent);
/* Returns whether the agent is not blocked for the request, and has the cores and the memory left that it needs. */
bool sched_may_take(const struct sched_request *r, const struct sched_agent *agent);
uint64_t
sched_hash(const char *id); /* the hash of an agent's or a request's id: the first 8 bytes of its MD5, little-endian */

#endif
