#include "core/sched/agent_index.h"

#include <md5.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

uint64_t sched_hash(const char *id)
{
    MD5_CTX ctx;
    uint8_t digest[MD5_DIGEST_LENGTH];
    MD5Init(&ctx);
    MD5Update(&ctx, (const uint8_t *)id, strlen(id));
    MD5Final(digest, &ctx);
    uint64_t h = 0;
    for (int i = 7; i >= 0; i--)
        h = h << 8 | digest[i];
    return h;
}

/* The order of hashes is descending, so that RB_NFIND finds the nearest hash at or below a given one. */
static int by_hash(const struct agent_index_entry *a, const struct agent_index_entry *b)
{
    if (a->agent->hash != b->agent->hash)
        return a->agent->hash > b->agent->hash ? -1 : 1;
    return strcmp(a->agent->id, b->agent->id);
}

RB_GENERATE_STATIC(agent_index_entries, agent_index_entry, node, by_hash)

/* ---- buckets ----------------------------------------------------------------------------------------------------- */

static double fitting_score(enum fitting_policy policy, int all, int empty)
{
    if (all == 0)
        return 0;
    return policy == FITTING_BEST ? 1.0 / (1 + empty) : (double)empty / all;
}

double sched_score(enum fitting_policy policy, const struct sched_agent *agent, int slots_needed)
{
    bool by_slots = agent->slots > agent->empty_slots || slots_needed > 0;
    return by_slots ? fitting_score(policy, agent->slots, agent->empty_slots)
                    : fitting_score(policy, agent->aux, agent->empty_aux);
}

static struct sched_bucket *bucket_of(struct agent_index *p, struct bucket_set *set, const struct bucket_key *key)
{
    struct sched_bucket *b = NULL;
    HASH_FIND(hh, set->by_key, key, sizeof(*key), b);
    if (b)
        return b;
    b = must_calloc(1, sizeof(*b));
    b->key = *key;
    b->score = fitting_score(p->fitting, key->all, key->empty);
    RB_INIT(&b->entries);
    HASH_ADD(hh, set->by_key, key, sizeof(b->key), b);
    b->next = set->first;
    set->first = b;
    return b;
}

struct agent_index_entry *bucket_first(struct sched_bucket *b, uint64_t hash)
{
    struct sched_agent at = {.id = "", .hash = hash};
    struct agent_index_entry key = {.agent = &at};
    struct agent_index_entry *found = RB_NFIND(agent_index_entries, &b->entries, &key);
    return found ? found : RB_MIN(agent_index_entries, &b->entries);
}

struct agent_index_entry *bucket_next(struct sched_bucket *b, struct agent_index_entry *entry)
{
    struct agent_index_entry *next = RB_NEXT(agent_index_entries, &b->entries, entry);
    return next ? next : RB_MIN(agent_index_entries, &b->entries);
}

static void leave_bucket(struct agent_index_entry *entry)
{
    if (!entry->bucket)
        return;
    RB_REMOVE(agent_index_entries, &entry->bucket->entries, entry);
    entry->bucket->n--;
    entry->bucket = NULL;
}

/* Counts how many agents have each number of empty slots; agents with more than 64 count as having 64. */
static void count_room(struct agent_index *p, const struct agent_index_entry *entry, int by)
{
    if (!entry->bucket)
        return;
    int empty = entry->bucket->key.empty < 64 ? entry->bucket->key.empty : 64;
    p->room_n[empty - 1] += by;
    if (p->room_n[empty - 1] > 0)
        p->room |= UINT64_C(1) << (empty - 1);
    else
        p->room &= ~(UINT64_C(1) << (empty - 1));
}

static void enter_bucket(struct agent_index *p, struct bucket_set *set, struct agent_index_entry *entry,
                         const struct bucket_key *key)
{
    if (entry->bucket && memcmp(&entry->bucket->key, key, sizeof(*key)) == 0)
        return;
    leave_bucket(entry);
    entry->bucket = bucket_of(p, set, key);
    if (set == &p->for_slots && key->all == key->empty)
        entry->agent->size->idle = entry->bucket;
    entry->bucket->n++;
    RB_INSERT(agent_index_entries, &entry->bucket->entries, entry);
}

/* Puts the agent into the buckets for the slots and places that it has free. */
static void sort_in(struct agent_index *p, struct sched_agent *agent)
{
    bool busy = agent->slots > agent->empty_slots;
    count_room(p, &agent->by_slots, -1);
    if (agent->open && agent->empty_slots > 0)
        enter_bucket(p, &p->for_slots, &agent->by_slots, &(struct bucket_key){agent->slots, agent->empty_slots, 0});
    else
        leave_bucket(&agent->by_slots);
    count_room(p, &agent->by_slots, 1);
    if (!agent->open || agent->empty_aux <= 0)
        leave_bucket(&agent->by_aux);
    else if (busy)
        enter_bucket(p, &p->for_aux, &agent->by_aux, &(struct bucket_key){agent->slots, agent->empty_slots, 0});
    else
        enter_bucket(p, &p->for_aux, &agent->by_aux, &(struct bucket_key){agent->aux, agent->empty_aux, 1});
}

static void free_buckets(struct bucket_set *set)
{
    HASH_CLEAR(hh, set->by_key);
    while (set->first) {
        struct sched_bucket *b = set->first;
        set->first = b->next;
        free(b);
    }
}

/* ---- agents ------------------------------------------------------------------------------------------------------ */

static struct agent_size *size_of(struct agent_index *p, int slots)
{
    struct agent_size **at = &p->sizes;
    while (*at && (*at)->slots > slots)
        at = &(*at)->next;
    if (!*at || (*at)->slots != slots) {
        struct agent_size *size = must_calloc(1, sizeof(*size));
        *size = (struct agent_size){.slots = slots, .next = *at};
        *at = size;
    }
    return *at;
}

static void count_agent(struct agent_index *p, struct sched_agent *agent, int by)
{
    p->capacity += by * agent->slots;
    if (!agent->open)
        return;
    if (by > 0)
        agent->size = size_of(p, agent->slots);
    agent->size->n += (size_t)by;
    p->aux_agents += (size_t)(agent->aux > 0 ? by : 0);
}

void agent_index_init(struct agent_index *p, const struct sched_opts *opts)
{
    *p = (struct agent_index){.fitting = opts->fitting,
                              .allow_heterogeneous_fits = opts->allow_heterogeneous_fits,
                              .changes = 1};
}

void agent_index_free(struct agent_index *p)
{
    HASH_CLEAR(hh, p->by_id);
    free_buckets(&p->for_slots);
    free_buckets(&p->for_aux);
    while (p->sizes) {
        struct agent_size *size = p->sizes;
        p->sizes = size->next;
        free(size);
    }
    free(p->undo);
    free(p->undo_left);
}

void agent_index_add(struct agent_index *p, struct sched_agent *agent)
{
    agent->hash = sched_hash(agent->id);
    agent->by_slots = agent->by_aux = (struct agent_index_entry){.agent = agent};
    p->changes++;
    count_agent(p, agent, 1);
    HASH_ADD_KEYPTR(hh, p->by_id, agent->id, strlen(agent->id), agent);
    sort_in(p, agent);
}

void agent_index_remove(struct agent_index *p, struct sched_agent *agent)
{
    count_room(p, &agent->by_slots, -1);
    leave_bucket(&agent->by_slots);
    leave_bucket(&agent->by_aux);
    p->changes++;
    count_agent(p, agent, -1);
    HASH_DEL(p->by_id, agent);
}

/* Returns whether the agent has the same as before, whatever of it is free. */
static bool has_the_same(const struct sched_agent *a, const struct sched_agent *b)
{
    return a->open == b->open && a->slots == b->slots && a->aux == b->aux && a->has.millicores == b->has.millicores &&
           a->has.memory_bytes == b->has.memory_bytes;
}

void agent_index_set(struct agent_index *p, struct sched_agent *agent, const struct sched_agent *to)
{
    p->changes += !has_the_same(agent, to);
    count_agent(p, agent, -1);
    agent->open = to->open;
    agent->slots = to->slots;
    agent->empty_slots = to->empty_slots;
    agent->aux = to->aux;
    agent->empty_aux = to->empty_aux;
    agent->has = to->has;
    agent->left = to->left;
    count_agent(p, agent, 1);
    sort_in(p, agent);
}

/* ---- planning ---------------------------------------------------------------------------------------------------- */

static void note_for_undo(struct agent_index *p, struct sched_agent *agent)
{
    if (p->undo_n == p->undo_cap) {
        p->undo_cap = p->undo_cap == 0 ? 256 : 2 * p->undo_cap;
        p->undo = must_reallocarray(p->undo, p->undo_cap, sizeof(*p->undo));
    }
    p->undo[p->undo_n++] = (struct undo_entry){agent, agent->empty_slots, agent->empty_aux};
}

static void note_left_for_undo(struct agent_index *p, struct sched_agent *agent)
{
    if (p->undo_left_n == p->undo_left_cap) {
        p->undo_left_cap = p->undo_left_cap == 0 ? 64 : 2 * p->undo_left_cap;
        p->undo_left = must_reallocarray(p->undo_left, p->undo_left_cap, sizeof(*p->undo_left));
    }
    p->undo_left[p->undo_left_n++] = (struct undo_left){p->undo_n, agent, agent->left};
    note_for_undo(p, agent);
}

size_t agent_index_mark(const struct agent_index *p)
{
    return p->undo_n;
}

void agent_index_take_needs(struct agent_index *p, const struct sched_share *share, size_t n,
                            const struct sched_needs *needs)
{
    for (size_t i = 0; i < n && needs_any(needs); i++) {
        note_left_for_undo(p, share[i].agent);
        needs_add(&share[i].agent->left, needs, -1);
    }
}

void agent_index_take(struct agent_index *p, const struct sched_share *share, size_t n, const struct sched_needs *needs)
{
    agent_index_take_needs(p, share, n, needs);
    for (size_t i = 0; i < n; i++) {
        struct sched_agent *agent = share[i].agent;
        note_for_undo(p, agent);
        if (share[i].slots > 0)
            agent->empty_slots -= share[i].slots;
        else
            agent->empty_aux--;
        sort_in(p, agent);
    }
}

static void give_needs(struct agent_index *p, const struct sched_share *share, size_t n,
                       const struct sched_needs *needs)
{
    for (size_t i = 0; i < n && needs_any(needs); i++) {
        struct sched_agent *agent = share[i].agent;
        if (!agent->open)
            continue;
        note_left_for_undo(p, agent);
        needs_add_upto(&agent->left, needs, &agent->has);
    }
}

/* Gives back what the shares hold. An agent may have fewer slots than when the share was taken, because slots may have
 * been disabled since. */
void agent_index_give(struct agent_index *p, const struct sched_share *share, size_t n, const struct sched_needs *needs)
{
    give_needs(p, share, n, needs);
    for (size_t i = 0; i < n; i++) {
        struct sched_agent *agent = share[i].agent;
        if (!agent->open)
            continue;
        note_for_undo(p, agent);
        int empty = share[i].slots > 0 ? agent->empty_slots + share[i].slots : agent->empty_aux + 1;
        if (share[i].slots > 0)
            agent->empty_slots = empty < agent->slots ? empty : agent->slots;
        else
            agent->empty_aux = empty < agent->aux ? empty : agent->aux;
        sort_in(p, agent);
    }
}

void agent_index_plan(struct agent_index *p, struct sched_agent *agent, int empty_slots, int empty_aux)
{
    note_for_undo(p, agent);
    agent->empty_slots = empty_slots;
    agent->empty_aux = empty_aux;
    sort_in(p, agent);
}

void agent_index_plan_left(struct agent_index *p, struct sched_agent *agent, const struct sched_needs *left)
{
    note_left_for_undo(p, agent);
    agent->left = *left;
}

void agent_index_undo(struct agent_index *p, size_t mark)
{
    while (p->undo_left_n > 0 && p->undo_left[p->undo_left_n - 1].at >= mark) {
        const struct undo_left *e = &p->undo_left[--p->undo_left_n];
        e->agent->left = e->left;
    }
    while (p->undo_n > mark) {
        const struct undo_entry *e = &p->undo[--p->undo_n];
        e->agent->empty_slots = e->empty_slots;
        e->agent->empty_aux = e->empty_aux;
        sort_in(p, e->agent);
    }
}

void agent_index_commit(struct agent_index *p)
{
    p->undo_n = p->undo_left_n = 0;
}
