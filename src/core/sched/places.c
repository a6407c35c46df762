#include "core/sched/places.h"

#include <md5.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

uint64_t places_hash(const char *id)
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

/* Downwards, so that RB_NFIND gives the nearest at or below a hash. */
static int by_hash(const struct sched_place *a, const struct sched_place *b)
{
    if (a->agent->hash != b->agent->hash)
        return a->agent->hash > b->agent->hash ? -1 : 1;
    return strcmp(a->agent->id, b->agent->id);
}

RB_GENERATE_STATIC(sched_places_by_hash, sched_place, node, by_hash)

/* ---- buckets ----------------------------------------------------------------------------------------------------- */

static double score(enum fitting_policy policy, int all, int empty)
{
    if (all == 0)
        return 0;
    return policy == FITTING_BEST ? 1.0 / (1 + empty) : (double)empty / all;
}

double sched_score(enum fitting_policy policy, const struct sched_agent *agent, int slots_needed)
{
    bool by_slots = agent->slots > agent->empty_slots || slots_needed > 0;
    return by_slots ? score(policy, agent->slots, agent->empty_slots) : score(policy, agent->aux, agent->empty_aux);
}

static struct sched_bucket *bucket_of(struct places *p, struct bucket_set *set, const struct bucket_key *key)
{
    struct sched_bucket *b = NULL;
    HASH_FIND(hh, set->by_key, key, sizeof *key, b);
    if (b != NULL)
        return b;
    b = must_calloc(1, sizeof *b);
    b->key = *key;
    b->score = score(p->fitting, key->all, key->empty);
    RB_INIT(&b->places);
    HASH_ADD(hh, set->by_key, key, sizeof b->key, b);
    b->next = set->first;
    set->first = b;
    return b;
}

struct sched_place *bucket_first(struct sched_bucket *b, uint64_t hash)
{
    struct sched_agent at = {.id = "", .hash = hash};
    struct sched_place key = {.agent = &at};
    struct sched_place *found = RB_NFIND(sched_places_by_hash, &b->places, &key);
    return found != NULL ? found : RB_MIN(sched_places_by_hash, &b->places);
}

struct sched_place *bucket_next(struct sched_bucket *b, struct sched_place *place)
{
    struct sched_place *next = RB_NEXT(sched_places_by_hash, &b->places, place);
    return next != NULL ? next : RB_MIN(sched_places_by_hash, &b->places);
}

static void leave_bucket(struct sched_place *place)
{
    if (place->bucket == NULL)
        return;
    RB_REMOVE(sched_places_by_hash, &place->bucket->places, place);
    place->bucket->n--;
    place->bucket = NULL;
}

/* How many agents have so many empty slots; more than 64 count as 64. */
static void count_room(struct places *p, const struct sched_place *place, int by)
{
    if (place->bucket == NULL)
        return;
    int empty = place->bucket->key.empty < 64 ? place->bucket->key.empty : 64;
    p->room_n[empty - 1] += by;
    if (p->room_n[empty - 1] > 0)
        p->room |= UINT64_C(1) << (empty - 1);
    else
        p->room &= ~(UINT64_C(1) << (empty - 1));
}

static void enter_bucket(struct places *p, struct bucket_set *set, struct sched_place *place,
                         const struct bucket_key *key)
{
    if (place->bucket != NULL && memcmp(&place->bucket->key, key, sizeof *key) == 0)
        return;
    leave_bucket(place);
    place->bucket = bucket_of(p, set, key);
    if (set == &p->for_slots && key->all == key->empty)
        place->agent->size->idle = place->bucket;
    place->bucket->n++;
    RB_INSERT(sched_places_by_hash, &place->bucket->places, place);
}

/* Puts the agent into the buckets that belong to what it has free. */
static void sort_in(struct places *p, struct sched_agent *agent)
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
    while (set->first != NULL) {
        struct sched_bucket *b = set->first;
        set->first = b->next;
        free(b);
    }
}

/* ---- agents ------------------------------------------------------------------------------------------------------ */

static struct agent_size *size_of(struct places *p, int slots)
{
    struct agent_size **at = &p->sizes;
    while (*at != NULL && (*at)->slots > slots)
        at = &(*at)->next;
    if (*at == NULL || (*at)->slots != slots) {
        struct agent_size *size = must_calloc(1, sizeof *size);
        *size = (struct agent_size){.slots = slots, .next = *at};
        *at = size;
    }
    return *at;
}

static void count(struct places *p, struct sched_agent *agent, int by)
{
    p->capacity += by * agent->slots;
    if (!agent->open)
        return;
    if (by > 0)
        agent->size = size_of(p, agent->slots);
    agent->size->n += (size_t)by;
    p->aux_agents += (size_t)(agent->aux > 0 ? by : 0);
}

void places_init(struct places *p, const struct sched_opts *opts)
{
    *p = (struct places){.fitting = opts->fitting, .allow_heterogeneous_fits = opts->allow_heterogeneous_fits};
}

void places_free(struct places *p)
{
    HASH_CLEAR(hh, p->by_id);
    free_buckets(&p->for_slots);
    free_buckets(&p->for_aux);
    while (p->sizes != NULL) {
        struct agent_size *size = p->sizes;
        p->sizes = size->next;
        free(size);
    }
    free(p->trail);
}

void places_add(struct places *p, struct sched_agent *agent)
{
    agent->hash = places_hash(agent->id);
    agent->by_slots = agent->by_aux = (struct sched_place){.agent = agent};
    count(p, agent, 1);
    HASH_ADD_KEYPTR(hh, p->by_id, agent->id, strlen(agent->id), agent);
    sort_in(p, agent);
}

void places_remove(struct places *p, struct sched_agent *agent)
{
    count_room(p, &agent->by_slots, -1);
    leave_bucket(&agent->by_slots);
    leave_bucket(&agent->by_aux);
    count(p, agent, -1);
    HASH_DEL(p->by_id, agent);
}

void places_set(struct places *p, struct sched_agent *agent, const struct sched_agent *to)
{
    count(p, agent, -1);
    agent->open = to->open;
    agent->slots = to->slots;
    agent->empty_slots = to->empty_slots;
    agent->aux = to->aux;
    agent->empty_aux = to->empty_aux;
    count(p, agent, 1);
    sort_in(p, agent);
}

/* ---- planning ---------------------------------------------------------------------------------------------------- */

static void note(struct places *p, struct sched_agent *agent)
{
    if (p->trail_n == p->trail_cap) {
        p->trail_cap = p->trail_cap == 0 ? 256 : 2 * p->trail_cap;
        p->trail = must_reallocarray(p->trail, p->trail_cap, sizeof *p->trail);
    }
    p->trail[p->trail_n++] = (struct trail_entry){agent, agent->empty_slots, agent->empty_aux};
}

size_t places_mark(const struct places *p)
{
    return p->trail_n;
}

void places_take(struct places *p, const struct sched_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_agent *agent = share[i].agent;
        note(p, agent);
        if (share[i].slots > 0)
            agent->empty_slots -= share[i].slots;
        else
            agent->empty_aux--;
        sort_in(p, agent);
    }
}

/* An agent may offer less than it once did: some of its slots are disabled, or all. */
void places_give(struct places *p, const struct sched_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_agent *agent = share[i].agent;
        if (!agent->open)
            continue;
        note(p, agent);
        int empty = share[i].slots > 0 ? agent->empty_slots + share[i].slots : agent->empty_aux + 1;
        if (share[i].slots > 0)
            agent->empty_slots = empty < agent->slots ? empty : agent->slots;
        else
            agent->empty_aux = empty < agent->aux ? empty : agent->aux;
        sort_in(p, agent);
    }
}

void places_plan(struct places *p, struct sched_agent *agent, int empty_slots, int empty_aux)
{
    note(p, agent);
    agent->empty_slots = empty_slots;
    agent->empty_aux = empty_aux;
    sort_in(p, agent);
}

void places_undo(struct places *p, size_t mark)
{
    while (p->trail_n > mark) {
        const struct trail_entry *e = &p->trail[--p->trail_n];
        e->agent->empty_slots = e->empty_slots;
        e->agent->empty_aux = e->empty_aux;
        sort_in(p, e->agent);
    }
}

void places_commit(struct places *p)
{
    p->trail_n = 0;
}
