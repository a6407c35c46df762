#include <md5.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched/sched.h"

struct candidate {
    size_t index;
    const struct sched_agent *agent;
    double score;
    uint64_t distance;
};

static uint64_t hash_of(const char *id)
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

double sched_score(enum fitting_policy policy, const struct sched_agent *agent, int slots_needed)
{
    bool by_slots = agent->slots > agent->empty_slots || slots_needed > 0;
    int all = by_slots ? agent->slots : agent->aux;
    int empty = by_slots ? agent->empty_slots : agent->empty_aux;
    if (all == 0)
        return 0;
    return policy == FITTING_BEST ? 1.0 / (1 + empty) : (double)empty / all;
}

static int by_preference(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return strcmp(a->agent->id, b->agent->id);
}

/* Largest agents first, preferred ones first among equals. */
static int by_size(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->agent->empty_slots != b->agent->empty_slots)
        return a->agent->empty_slots > b->agent->empty_slots ? -1 : 1;
    return by_preference(pa, pb);
}

static bool permitted(const struct sched_request *r, const struct sched_agent *agent)
{
    for (size_t i = 0; i < r->blocked_n; i++)
        if (strcmp(r->blocked_agent[i], agent->id) == 0)
            return false;
    return true;
}

static bool fits_alone(const struct sched_request *r, const struct sched_agent *agent)
{
    return agent->empty_slots >= r->slots && (r->slots > 0 || agent->empty_aux > 0);
}

static bool fits_dedicated(const struct sched_request *r, const struct sched_agent *agent)
{
    return agent->empty_slots == agent->slots && agent->empty_slots > 0;
}

typedef bool constraint_fn(const struct sched_request *r, const struct sched_agent *agent);

static size_t find_candidates(const struct sched_snapshot *s, const struct sched_agent *agent,
                              const struct sched_request *r, constraint_fn *constraint, struct candidate *ret)
{
    uint64_t wanted = hash_of(r->allocation_id);
    size_t n = 0;
    for (size_t i = 0; i < s->agent_n; i++) {
        if (!permitted(r, &agent[i]) || !constraint(r, &agent[i]))
            continue;
        ret[n++] = (struct candidate){.index = i,
                                      .agent = &agent[i],
                                      .score = sched_score(s->fitting, &agent[i], r->slots),
                                      .distance = wanted - hash_of(agent[i].id)};
    }
    return n;
}

/* Some agents of one size that add up to the request exactly. */
static size_t fit_one_size(const struct candidate *c, size_t n, int needed, struct sched_share *ret)
{
    for (size_t first = 0, end; first < n; first = end) {
        int size = c[first].agent->empty_slots;
        for (end = first; end < n && c[end].agent->empty_slots == size; end++)
            ;
        size_t taken = (size_t)(needed / size);
        if (needed % size != 0 || taken > end - first)
            continue;
        for (size_t i = 0; i < taken; i++)
            ret[i] = (struct sched_share){c[first + i].index, size};
        return taken;
    }
    return 0;
}

/* Large agents first, as many whole ones as go in; no second thoughts. */
static size_t fit_any_size(const struct candidate *c, size_t n, int needed, struct sched_share *ret)
{
    size_t taken = 0;
    for (size_t i = 0; i < n && needed > 0; i++) {
        int size = c[i].agent->empty_slots;
        if (size > needed)
            continue;
        ret[taken++] = (struct sched_share){c[i].index, size};
        needed -= size;
    }
    return needed == 0 ? taken : 0;
}

size_t sched_fit(const struct sched_snapshot *s, const struct sched_agent *agent, const struct sched_request *r,
                 struct arena *a, struct sched_share **ret)
{
    struct candidate *c = arena_array(a, struct candidate, s->agent_n + 1);
    *ret = arena_array(a, struct sched_share, s->agent_n + 1);
    size_t n = find_candidates(s, agent, r, fits_alone, c);
    if (n > 0) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (by_preference(&c[i], &c[best]) < 0)
                best = i;
        (*ret)[0] = (struct sched_share){c[best].index, r->slots};
        return 1;
    }
    if (r->single_agent || r->slots <= 1)
        return 0;
    n = find_candidates(s, agent, r, fits_dedicated, c);
    qsort(c, n, sizeof *c, by_size);
    size_t taken = fit_one_size(c, n, r->slots, *ret);
    return taken == 0 && s->allow_heterogeneous_fits ? fit_any_size(c, n, r->slots, *ret) : taken;
}
