#include "core/sched/agent_index.h"

#include <string.h>

bool sched_is_blocked(const struct sched_request *r, const struct sched_agent *agent)
{
    for (size_t i = 0; i < r->blocked_n; i++)
        if (strcmp(r->blocked_agent[i], agent->id) == 0)
            return true;
    return false;
}

bool sched_may_take(const struct sched_request *r, const struct sched_agent *agent)
{
    return needs_fit(&r->needs, &agent->left) && !sched_is_blocked(r, agent);
}

/* Chooses up to `wanted` agents of one bucket, in the request's order of preference. Returns how many it found. */
static size_t choose_agents(struct sched_bucket *b, const struct sched_request *r, size_t wanted,
                            struct sched_agent **ret)
{
    struct agent_index_entry *entry = bucket_first(b, r->hash);
    size_t n = 0;
    for (size_t i = 0; i < b->n && n < wanted; i++, entry = bucket_next(b, entry))
        if (sched_may_take(r, entry->agent))
            ret[n++] = entry->agent;
    return n;
}

static bool is_nearer(const struct sched_request *r, const struct sched_agent *a, const struct sched_agent *b)
{
    uint64_t x = r->hash - a->hash, y = r->hash - b->hash;
    return x != y ? x < y : strcmp(a->id, b->id) < 0;
}

/* Returns whether any agent has so many empty slots. */
static bool has_room(const struct agent_index *p, int slots)
{
    int bit = slots < 64 ? slots - 1 : 63;
    return p->room >> bit != 0;
}

static struct sched_agent *fit_one(struct agent_index *p, const struct sched_request *r)
{
    struct bucket_set *set = r->slots > 0 ? &p->for_slots : &p->for_aux;
    if (r->slots > 0 && !has_room(p, r->slots))
        return NULL;
    struct sched_agent *best = NULL, *agent;
    double best_score = 0;
    for (struct sched_bucket *b = set->first; b; b = b->next) {
        if (b->n == 0 || (r->slots > 0 && b->key.empty < r->slots) || (best && b->score < best_score))
            continue;
        if (choose_agents(b, r, 1, &agent) == 0)
            continue;
        if (!best || b->score > best_score || is_nearer(r, agent, best)) {
            best = agent;
            best_score = b->score;
        }
    }
    return best;
}

/* Returns the bucket of idle agents of the next size below `slots`; NULL: there are no such agents. All idle agents of
 * one size are in one bucket. */
static struct sched_bucket *idle_below(struct agent_index *p, int slots)
{
    for (struct agent_size *size = p->sizes; size && size->slots > 0; size = size->next)
        if (size->slots < slots && size->idle && size->idle->n > 0)
            return size->idle;
    return NULL;
}

typedef bool agent_test(const struct sched_agent *agent, const void *arg);

/* Counts the request's blocked agents that pass the test. An agent that is named twice counts once. */
static size_t count_blocked(const struct agent_index *p, const struct sched_request *r, agent_test *test,
                            const void *arg)
{
    size_t n = 0;
    for (size_t i = 0; i < r->blocked_n; i++) {
        struct sched_agent *agent = NULL;
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = strcmp(r->blocked_agent[k], r->blocked_agent[i]) == 0;
        HASH_FIND_STR(p->by_id, r->blocked_agent[i], agent);
        n += !again && agent && test(agent, arg);
    }
    return n;
}

static bool is_in_bucket(const struct sched_agent *agent, const void *bucket)
{
    return agent->by_slots.bucket == bucket;
}

static size_t take_whole(struct sched_bucket *b, const struct sched_request *r, size_t wanted, struct sched_share *ret)
{
    struct agent_index_entry *entry = bucket_first(b, r->hash);
    size_t n = 0;
    for (size_t i = 0; i < b->n && n < wanted; i++, entry = bucket_next(b, entry))
        if (sched_may_take(r, entry->agent))
            ret[n++] = (struct sched_share){entry->agent, b->key.all};
    return n;
}

/* Chooses whole agents of one size whose slots add up to exactly those of the request. If there are several such sizes,
 * it takes the largest. */
static size_t fit_one_size(struct agent_index *p, const struct sched_request *r, struct sched_share *ret)
{
    int size = INT32_MAX;
    for (struct sched_bucket *b; (b = idle_below(p, size)); size = b->key.all) {
        size_t wanted = (size_t)(r->slots / b->key.all);
        if (r->slots % b->key.all == 0 && wanted <= b->n - count_blocked(p, r, is_in_bucket, b) &&
            take_whole(b, r, wanted, ret) == wanted)
            return wanted;
    }
    return 0;
}

/* Chooses whole agents of any size: as many of the largest size as fit, then of the next one. The function does not
 * take back a choice, so it may fail where another choice would have succeeded. */
static size_t fit_any_size(struct agent_index *p, const struct sched_request *r, struct sched_share *ret)
{
    int size = INT32_MAX, missing = r->slots;
    size_t n = 0;
    for (struct sched_bucket *b; missing > 0 && (b = idle_below(p, size)); size = b->key.all) {
        size_t got = take_whole(b, r, (size_t)(missing / b->key.all), ret + n);
        n += got;
        missing -= (int)got * b->key.all;
    }
    return missing == 0 ? n : 0;
}

size_t agent_index_fit(struct agent_index *p, const struct sched_request *r, struct sched_share *ret)
{
    struct sched_agent *one = fit_one(p, r);
    if (one) {
        ret[0] = (struct sched_share){one, r->slots};
        return 1;
    }
    if (r->single_agent || r->slots <= 1)
        return 0;
    size_t n = fit_one_size(p, r, ret);
    return n == 0 && p->allow_heterogeneous_fits ? fit_any_size(p, r, ret) : n;
}

static bool has_size(const struct sched_agent *agent, const void *slots)
{
    return agent->open && agent->slots == *(const int *)slots;
}

static bool takes_aux(const struct sched_agent *agent, const void *unused)
{
    (void)unused;
    return agent->open && agent->aux > 0;
}

static bool is_able(const struct sched_request *r, const struct sched_agent *agent)
{
    return agent->open && needs_fit(&r->needs, &agent->has) && !sched_is_blocked(r, agent);
}

/* For a request that needs cores or memory: agents are looked at until those that have what it needs could hold it. */
static bool could_hold_needs(const struct agent_index *p, const struct sched_request *r)
{
    int64_t all = 0;
    for (struct agent_size *size = p->sizes; size; size = size->next)
        size->able = 0;
    for (const struct sched_agent *agent = p->by_id; agent; agent = agent->hh.next) {
        int slots = agent->slots;
        if (slots == 0 || !is_able(r, agent))
            continue;
        if (slots >= r->slots)
            return true;
        all += slots;
        agent->size->able++;
        if (!r->single_agent && r->slots % slots == 0 && agent->size->able >= (size_t)(r->slots / slots))
            return true;
    }
    return !r->single_agent && p->allow_heterogeneous_fits && all >= r->slots;
}

static bool could_hold_without_slots(const struct agent_index *p, const struct sched_request *r)
{
    if (!needs_any(&r->needs))
        return p->aux_agents > count_blocked(p, r, takes_aux, NULL);
    for (const struct sched_agent *agent = p->by_id; agent; agent = agent->hh.next)
        if (agent->aux > 0 && is_able(r, agent))
            return true;
    return false;
}

static size_t agents_that_count(const struct agent_index *in, const struct agent_size *size,
                                const struct sched_request *r)
{
    return in ? size->n - count_blocked(in, r, has_size, &size->slots) : size->n;
}

/* `in` is the index that holds the agents. NULL: of the agents, only their sizes are looked at. */
static bool could_hold(const struct agent_size *sizes, const struct agent_index *in, const struct sched_request *r,
                       bool any_sizes)
{
    int64_t all = 0;
    for (const struct agent_size *size = sizes; size && size->slots > 0; size = size->next) {
        int64_t n = (int64_t)agents_that_count(in, size, r);
        if (n > 0 && size->slots >= r->slots)
            return true;
        if (r->slots % size->slots == 0 && n >= r->slots / size->slots && !r->single_agent)
            return true;
        all += n * size->slots;
    }
    return !r->single_agent && any_sizes && all >= r->slots;
}

bool agent_index_could_fit(const struct agent_index *p, const struct sched_request *r)
{
    if (r->slots == 0)
        return could_hold_without_slots(p, r);
    if (needs_any(&r->needs))
        return could_hold_needs(p, r);
    return could_hold(p->sizes, p, r, p->allow_heterogeneous_fits);
}

bool sizes_could_hold(const struct agent_size *largest_first, const struct sched_request *r,
                      bool allow_heterogeneous_fits)
{
    return could_hold(largest_first, NULL, r, allow_heterogeneous_fits);
}
