#include "plain_sched.h"

#include <md5.h>
#include <stdlib.h>
#include <string.h>

/* ---- fits -------------------------------------------------------------------------------------------------------- */

struct candidate {
    size_t index;
    const struct plain_agent *agent;
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

static double score_of(enum fitting_policy policy, const struct plain_agent *agent, int needed)
{
    bool by_slots = agent->slots > agent->empty_slots || needed > 0;
    int all = by_slots ? agent->slots : agent->aux, empty = by_slots ? agent->empty_slots : agent->empty_aux;
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

static int by_size(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->agent->empty_slots != b->agent->empty_slots)
        return a->agent->empty_slots > b->agent->empty_slots ? -1 : 1;
    return by_preference(pa, pb);
}

static bool is_permitted(const struct plain_request *r, const struct plain_agent *agent)
{
    for (size_t i = 0; i < r->blocked_n; i++)
        if (strcmp(r->blocked_agent[i], agent->id) == 0)
            return false;
    return agent->open;
}

/* Who needs nothing fits anywhere, also where less than nothing is left. */
static bool has_left(const struct plain_request *r, const struct sched_needs *left)
{
    return (r->needs.millicores == 0 || left->millicores >= r->needs.millicores) &&
           (r->needs.memory_bytes == 0 || left->memory_bytes >= r->needs.memory_bytes);
}

static bool fits_alone(const struct plain_request *r, const struct plain_agent *agent)
{
    return agent->empty_slots >= r->slots && (r->slots > 0 || agent->empty_aux > 0) && has_left(r, &agent->left);
}

static bool fits_dedicated(const struct plain_request *r, const struct plain_agent *agent)
{
    return agent->empty_slots == agent->slots && agent->empty_slots > 0 && has_left(r, &agent->left);
}

static size_t find_candidates(const struct plain_snapshot *s, const struct plain_agent *agent,
                              const struct plain_request *r,
                              bool (*constraint)(const struct plain_request *, const struct plain_agent *),
                              struct candidate *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s->agent_n; i++)
        if (is_permitted(r, &agent[i]) && constraint(r, &agent[i]))
            ret[n++] = (struct candidate){i, &agent[i], score_of(s->opts.fitting, &agent[i], r->slots),
                                          hash_of(r->allocation_id) - hash_of(agent[i].id)};
    return n;
}

static size_t fit_one_size(const struct candidate *c, size_t n, const struct plain_request *r, struct plain_share *ret)
{
    int needed = r->slots;
    for (size_t first = 0, end; first < n; first = end) {
        int size = c[first].agent->empty_slots;
        for (end = first; end < n && c[end].agent->empty_slots == size; end++)
            ;
        size_t taken = (size_t)(needed / size);
        if (needed % size != 0 || taken > end - first)
            continue;
        for (size_t i = 0; i < taken; i++)
            ret[i] = (struct plain_share){c[first + i].index, size, r->needs};
        return taken;
    }
    return 0;
}

static size_t fit_any_size(const struct candidate *c, size_t n, const struct plain_request *r, struct plain_share *ret)
{
    int needed = r->slots;
    size_t taken = 0;
    for (size_t i = 0; i < n && needed > 0; i++) {
        int size = c[i].agent->empty_slots;
        if (size > needed)
            continue;
        ret[taken++] = (struct plain_share){c[i].index, size, r->needs};
        needed -= size;
    }
    return needed == 0 ? taken : 0;
}

size_t plain_fit(const struct plain_snapshot *s, const struct plain_agent *agent, const struct plain_request *r,
                 struct arena *a, struct plain_share **ret)
{
    struct candidate *c = arena_array(a, struct candidate, s->agent_n + 1);
    *ret = arena_array(a, struct plain_share, s->agent_n + 1);
    size_t n = find_candidates(s, agent, r, fits_alone, c);
    if (n > 0) {
        qsort(c, n, sizeof(*c), by_preference);
        (*ret)[0] = (struct plain_share){c[0].index, r->slots, r->needs};
        return 1;
    }
    if (r->single_agent || r->slots <= 1)
        return 0;
    n = find_candidates(s, agent, r, fits_dedicated, c);
    qsort(c, n, sizeof(*c), by_size);
    size_t taken = fit_one_size(c, n, r, *ret);
    return taken == 0 && s->opts.allow_heterogeneous_fits ? fit_any_size(c, n, r, *ret) : taken;
}

static void take_needs(struct plain_agent *agent, const struct plain_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        agent[share[i].agent].left.millicores -= share[i].needs.millicores;
        agent[share[i].agent].left.memory_bytes -= share[i].needs.memory_bytes;
    }
}

static void take_share(struct plain_agent *agent, const struct plain_share *share, size_t n)
{
    take_needs(agent, share, n);
    for (size_t i = 0; i < n; i++)
        *(share[i].slots > 0 ? &agent[share[i].agent].empty_slots
                             : &agent[share[i].agent].empty_aux) -= share[i].slots > 0 ? share[i].slots : 1;
}

static int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

static void give_back_share(struct plain_agent *agent, const struct plain_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct plain_agent *to = &agent[share[i].agent];
        if (!to->open)
            continue;
        if (share[i].slots > 0)
            to->empty_slots = to->empty_slots + share[i].slots < to->slots ? to->empty_slots + share[i].slots
                                                                           : to->slots;
        else
            to->empty_aux = to->empty_aux + 1 < to->aux ? to->empty_aux + 1 : to->aux;
        to->left.millicores = at_most(to->left.millicores + share[i].needs.millicores, to->has.millicores);
        to->left.memory_bytes = at_most(to->left.memory_bytes + share[i].needs.memory_bytes, to->has.memory_bytes);
    }
}

/* ---- by priority ------------------------------------------------------------------------------------------------- */

#define COMPARE(x, y) \
    do { \
        if ((x) != (y)) \
            return (x) < (y) ? -1 : 1; \
    } while (0)

static int by_age(const struct plain_request *a, const struct plain_request *b)
{
    COMPARE(a->submitted_us, b->submitted_us);
    COMPARE(a->request_us, b->request_us);
    return strcmp(a->allocation_id, b->allocation_id);
}

static int by_turn(const void *pa, const void *pb)
{
    const struct plain_request *a = *(const struct plain_request *const *)pa,
                               *b = *(const struct plain_request *const *)pb;
    COMPARE(a->priority, b->priority);
    COMPARE(a->queue_position, b->queue_position);
    return by_age(a, b);
}

/* ---- quotas ------------------------------------------------------------------------------------------------------ */

/* What is used of each quota, and which requests borrow. */
struct books {
    const struct plain_snapshot *s;
    int *held, *owned; /* by index of the quota */
    bool *borrows;     /* by index of the request */
};

static void add_to_books(struct books *b, const struct plain_request *r, bool borrows)
{
    for (size_t i = 0; r->slots > 0 && i < r->quota_n; i++) {
        b->held[r->quota[i]] += r->slots;
        b->owned[r->quota[i]] += borrows ? 0 : r->slots;
    }
}

static bool is_over_limit(const struct books *b, const struct plain_request *r)
{
    for (size_t i = 0; r->slots > 0 && i < r->quota_n; i++)
        if (b->held[r->quota[i]] + r->slots > b->s->quota[r->quota[i]].limit)
            return true;
    return false;
}

static bool has_to_borrow(const struct books *b, const struct plain_request *r)
{
    for (size_t i = 0; r->slots > 0 && i < r->quota_n; i++)
        if (b->owned[r->quota[i]] + r->slots > b->s->quota[r->quota[i]].own)
            return true;
    return false;
}

/* Step 1: what runs and borrows becomes its quotas' own as far as they reach, in turn. */
static struct books open_books(const struct plain_snapshot *s, struct arena *a)
{
    struct books b = {s, arena_array(a, int, s->quota_n + 1), arena_array(a, int, s->quota_n + 1),
                      arena_array(a, bool, s->request_n + 1)};
    const struct plain_request **order = arena_array(a, const struct plain_request *, s->request_n + 1);
    for (size_t i = 0; i < s->request_n; i++) {
        order[i] = &s->request[i];
        b.borrows[i] = s->request[i].borrows;
        if (s->request[i].state != SCHED_PENDING)
            add_to_books(&b, &s->request[i], b.borrows[i]);
    }
    qsort(order, s->request_n, sizeof(*order), by_turn);
    for (size_t i = 0; i < s->request_n; i++) {
        const struct plain_request *r = order[i];
        if (r->state != SCHED_ALLOCATED || !b.borrows[r - s->request] || has_to_borrow(&b, r))
            continue;
        b.borrows[r - s->request] = false;
        for (size_t k = 0; k < r->quota_n; k++)
            b.owned[r->quota[k]] += r->slots;
    }
    return b;
}

/* Places of requests with slots, which leave less of cores and memory to requests without: the requests were placed, or
 * their places are kept until they are free. */
struct places {
    struct plain_placement *item;
    size_t n;
};

struct plan {
    const struct plain_snapshot *s;
    struct places *with_slots;
    struct books books;
    bool *deferred; /* by index of the request: served again among those that borrow */
    struct arena *a;
    struct plain_decision *ret;
    struct plain_agent *agent; /* as they would be */
    const struct plain_request **order;
    bool *released; /* by index of the request */
    bool zero_slot, backfilling, releasing, leaving_given;
    int kept_n[2]; /* in what leaves: of gangs (1), and of smaller requests (0) */
};

static size_t index_of(const struct plan *p, const struct plain_request *r)
{
    return (size_t)(r - p->s->request);
}

static void allocate_request(struct plan *p, const struct plain_request *r, struct plain_share *share, size_t n)
{
    p->ret->allocate[p->ret->allocate_n++] = (struct plain_placement){index_of(p, r), share, n};
}

static void note_place(struct plan *p, const struct plain_request *r, struct plain_share *share, size_t n)
{
    if (!p->zero_slot)
        p->with_slots->item[p->with_slots->n++] = (struct plain_placement){index_of(p, r), share, n};
}

/* A rank is a priority, or SCHED_PRIORITY_MAX and a priority for what borrows. */
static bool has_turn(const struct plan *p, const struct plain_request *r, int rank)
{
    bool borrows = r->state == SCHED_PENDING ? p->deferred[index_of(p, r)] : p->books.borrows[index_of(p, r)];
    return r->priority + (borrows ? SCHED_PRIORITY_MAX : 0) == rank && (r->slots == 0) == p->zero_slot;
}

/* Requests are alike if they fit on the same agents and keep to the same quotas. A gang that may take agents of several
 * sizes is like itself only. */
static bool are_alike(const struct plan *p, const struct plain_request *a, const struct plain_request *b)
{
    if (a->slots != b->slots || a->single_agent != b->single_agent || a->quotas != b->quotas ||
        memcmp(&a->needs, &b->needs, sizeof(a->needs)) != 0)
        return false;
    if (p->s->opts.allow_heterogeneous_fits && a->slots > 1 && !a->single_agent)
        return a == b;
    return (a->blocked_n > 0 ? a->blocked_agent : NULL) == (b->blocked_n > 0 ? b->blocked_agent : NULL);
}

static bool has_like_failed(const struct plan *p, const struct plain_request *r, const struct plain_request **failed,
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (are_alike(p, failed[i], r))
            return true;
    return false;
}

static bool is_allowed(const struct plan *p, const struct plain_request *r, int rank)
{
    return !is_over_limit(&p->books, r) && (rank > SCHED_PRIORITY_MAX || !has_to_borrow(&p->books, r));
}

static void give_leaving(struct plan *p, struct plain_agent *agent)
{
    for (size_t i = 0; i < p->s->request_n; i++)
        if (p->s->request[i].state == SCHED_RELEASING)
            give_back_share(agent, p->s->request[i].share, p->s->request[i].share_n);
}

/* A gang keeps what will be its own, so that others of its priority do not take it piece by piece. */
static size_t fit_into_what_leaves(struct plan *p, const struct plain_request *r, struct plain_share **share)
{
    size_t leaving = 0;
    for (size_t i = 0; i < p->s->request_n; i++)
        leaving += p->s->request[i].state == SCHED_RELEASING && (p->s->request[i].slots > 0) == (r->slots > 0);
    bool in_pieces = r->slots > 1 || r->needs.millicores > 0 || r->needs.memory_bytes > 0;
    if (!p->s->opts.preemption || p->releasing || !in_pieces || leaving == 0 || leaving > SCHED_LEAVING_MAX ||
        p->kept_n[r->slots > 1] >= SCHED_KEPT_MAX)
        return 0;
    struct plain_agent *agent = arena_dup(p->a, p->agent, p->s->agent_n * sizeof(*agent));
    give_leaving(p, agent);
    size_t n = plain_fit(p->s, agent, r, p->a, share);
    p->kept_n[r->slots > 1] += n > 0;
    return n;
}

/* Steps 1 to 3 at one rank. Returns the number that failed, which stand in ret. */
static size_t try_in_order(struct plan *p, int rank, const struct plain_request **ret)
{
    struct plain_share *share;
    size_t failed = 0;
    for (size_t i = 0; i < p->s->request_n; i++) {
        const struct plain_request *r = p->order[i];
        if (!has_turn(p, r, rank) || r->state != SCHED_PENDING)
            continue;
        if (has_like_failed(p, r, ret, failed)) {
            ret[failed++] = r;
            continue;
        }
        if (!is_allowed(p, r, rank)) {
            p->deferred[index_of(p, r)] = !is_over_limit(&p->books, r);
            continue;
        }
        size_t n = plain_fit(p->s, p->agent, r, p->a, &share);
        bool now = n > 0;
        if (!now)
            n = fit_into_what_leaves(p, r, &share);
        if (n == 0) {
            ret[failed++] = r;
            continue;
        }
        take_share(p->agent, share, n);
        add_to_books(&p->books, r, rank > SCHED_PRIORITY_MAX);
        bool placed = now && !p->releasing && (!p->backfilling || (p->s->opts.preemption && r->preemptible));
        if (placed)
            allocate_request(p, r, share, n);
        if (placed || !now)
            note_place(p, r, share, n);
    }
    return failed;
}

/* Fits on `agent` after more and more has been stopped. The victims stand in ret. */
static size_t stop_for(struct plan *p, struct plain_agent *agent, const struct plain_request *r, int of_rank,
                       struct plain_share **share, size_t *ret, size_t *ret_n)
{
    for (int rank = 2 * SCHED_PRIORITY_MAX; rank >= of_rank; rank--)
        for (size_t i = p->s->request_n; i-- > 0;) {
            const struct plain_request *victim = p->order[i];
            if (!has_turn(p, victim, rank) || victim->state != SCHED_ALLOCATED || !victim->preemptible)
                continue;
            if (rank == of_rank && victim->queue_position <= r->queue_position)
                return 0;
            if (p->released[index_of(p, victim)])
                continue;
            give_back_share(agent, victim->share, victim->share_n);
            ret[(*ret_n)++] = index_of(p, victim);
            size_t n = plain_fit(p->s, agent, r, p->a, share);
            if (n > 0)
                return n;
        }
    return 0;
}

/* Step 4 for one request. What is leaving anyway comes before what would have to be stopped. */
static void preempt_for(struct plan *p, const struct plain_request *r, int rank)
{
    struct plain_share *share;
    size_t *victim = arena_array(p->a, size_t, p->s->request_n + 1), victim_n = 0;
    struct plain_agent *agent = arena_dup(p->a, p->agent, p->s->agent_n * sizeof(*agent));
    if (!is_allowed(p, r, rank))
        return; /* what was planned since has used up its quotas */
    size_t n = plain_fit(p->s, agent, r, p->a, &share);
    if (n > 0) {
        take_share(p->agent, share, n);
        add_to_books(&p->books, r, rank > SCHED_PRIORITY_MAX);
        return;
    }
    if (!p->leaving_given) {
        give_leaving(p, agent);
        n = plain_fit(p->s, agent, r, p->a, &share);
    }
    if (n == 0)
        n = stop_for(p, agent, r, rank, &share, victim, &victim_n);
    if (n == 0)
        return;
    take_share(agent, share, n);
    note_place(p, r, share, n);
    p->agent = agent;
    add_to_books(&p->books, r, rank > SCHED_PRIORITY_MAX);
    p->leaving_given = p->releasing = true;
    for (size_t i = 0; i < victim_n; i++) {
        p->released[victim[i]] = true;
        p->ret->release[p->ret->release_n++] = victim[i];
    }
}

static void serve_requests(const struct plain_snapshot *s, bool zero_slot, struct places *with_slots, struct arena *a,
                           struct plain_decision *ret)
{
    struct plan p = {.s = s,
                     .with_slots = with_slots,
                     .a = a,
                     .ret = ret,
                     .zero_slot = zero_slot,
                     .books = open_books(s, a),
                     .deferred = arena_array(a, bool, s->request_n + 1),
                     .agent = arena_dup(a, s->agent, s->agent_n * sizeof(*s->agent)),
                     .order = arena_array(a, const struct plain_request *, s->request_n + 1),
                     .released = arena_array(a, bool, s->request_n + 1)};
    const struct plain_request **failed = arena_array(a, const struct plain_request *, s->request_n + 1);
    for (size_t i = 0; i < s->request_n; i++)
        p.order[i] = &s->request[i];
    qsort(p.order, s->request_n, sizeof(*p.order), by_turn);
    for (size_t i = 0; i < with_slots->n; i++) /* none yet, while those with slots are served */
        take_needs(p.agent, with_slots->item[i].share, with_slots->item[i].share_n);
    for (int rank = SCHED_PRIORITY_MIN; rank <= 2 * SCHED_PRIORITY_MAX; rank++) {
        size_t n = try_in_order(&p, rank, failed);
        p.backfilling = p.backfilling || n > 0;
        for (size_t i = 0; s->opts.preemption && i < n; i++)
            preempt_for(&p, failed[i], rank);
    }
}

/* ---- by fair share (docs/decisions/0005) ------------------------------------------------------------------------- */

#define ALMOST 1e-6
#define LITTLE 1e-9
#define MOST_WEIGHT 1e6

struct job {
    const char *job_id;
    const size_t *quota; /* indexes in the snapshot */
    size_t quota_n;
    int64_t submitted_us;
    double weight, share[2]; /* share: what each of the two rounds gives */
    int max_slots, demand, active, held_for_good, smallest, largest, unit, whole, offered;
    int before; /* the part of `offered` that an earlier round has given */
    int own;    /* the part of `offered` that is not lent */
    bool fits_now, fixed, takes_part, grows, stops, lacks_place, lacks_own;
    int kept; /* what it would want without those that do not fit now */
    int most; /* what it may be offered until the end of the round */
};

struct shares {
    const struct plain_snapshot *s;
    struct books books;
    struct arena *a;
    struct plain_decision *ret;
    struct plain_agent *begun; /* as they are, less the needs of what was placed without slots */
    struct plain_agent *agent; /* as they would be */
    const struct plain_request **order;
    bool *fits_now, *counts, *released, *lent; /* by index of the request */
    struct job *job, *first;                   /* first: as in the first plan */
    struct job *less; /* who borrows less, as in the plan in which a place for it was lacking */
    size_t job_n, first_n, less_n;
    int capacity, largest, kept_n;
    bool releasing;
    bool borrowing; /* gangs are served to which slots are lent */
    /* the round, and what is left in it: of the pool, and of the quotas */
    bool lends;
    int left, *quota_left;
};

static int by_submission(const void *pa, const void *pb)
{
    return by_age(*(const struct plain_request *const *)pa, *(const struct plain_request *const *)pb);
}

static size_t number_of(const struct shares *f, const struct plain_request *r)
{
    return (size_t)(r - f->s->request);
}

/* ---- who counts */

/* Which whole agents of several sizes add up depends on which are idle: there, room is only made on one agent. */
static bool needs_one_agent(const struct shares *f, const struct plain_request *r)
{
    return r->single_agent || f->s->opts.allow_heterogeneous_fits;
}

/* If everything that can be preempted were gone. */
static bool could_fit(struct shares *f, const struct plain_request *r)
{
    struct plain_agent *agent = arena_dup(f->a, f->s->agent, f->s->agent_n * sizeof(*agent));
    struct plain_share *share;
    struct plain_request wanted = *r;
    wanted.single_agent = needs_one_agent(f, r);
    for (size_t i = 0; i < f->s->agent_n; i++) {
        agent[i].empty_slots = agent[i].slots;
        agent[i].left = agent[i].has;
    }
    for (size_t i = 0; i < f->s->request_n; i++) {
        const struct plain_request *other = &f->s->request[i];
        for (size_t k = 0; !other->preemptible && k < other->share_n; k++)
            agent[other->share[k].agent].empty_slots -= other->share[k].slots;
        if (!other->preemptible || other->slots == 0)
            take_needs(agent, other->share, other->share_n);
    }
    return plain_fit(f->s, agent, &wanted, f->a, &share) > 0;
}

/* Of one slot: any that is released will do, unless it needs cores or memory, too. */
static bool has_agent(struct shares *f, const struct plain_request *r)
{
    if (r->needs.millicores > 0 || r->needs.memory_bytes > 0)
        return could_fit(f, r);
    for (size_t i = 0; i < f->s->agent_n; i++)
        if (is_permitted(r, &f->s->agent[i]) && f->s->agent[i].slots > 0)
            return true;
    return false;
}

/* Whether the limits would allow it if others gave their slots back. */
static bool may_be_allowed(const struct shares *f, const struct plain_request *r)
{
    for (size_t i = 0; i < r->quota_n; i++) {
        int limit = f->s->quota[r->quota[i]].limit;
        if (r->slots > limit || f->books.held[r->quota[i]] > limit)
            return false;
    }
    return true;
}

static void find_who_counts(struct shares *f)
{
    struct plain_share *share;
    for (size_t i = 0; i < f->s->request_n; i++) {
        const struct plain_request *r = &f->s->request[i];
        bool can_count = r->slots > 0 && r->slots <= f->capacity;
        if (r->state == SCHED_PENDING && !may_be_allowed(f, r))
            continue;
        bool has_place = r->state == SCHED_PENDING && plain_fit(f->s, f->begun, r, f->a, &share) > 0;
        f->fits_now[i] = has_place && !is_over_limit(&f->books, r);
        if (r->state == SCHED_PENDING)
            f->counts[i] = can_count && (has_place || (r->slots == 1 ? has_agent(f, r) : could_fit(f, r)));
        else
            f->counts[i] = can_count && (r->state == SCHED_ALLOCATED || r->preemptible);
    }
}

static void count_no_more(struct shares *f, const struct job *job)
{
    for (size_t i = 0; i < f->s->request_n; i++)
        if (f->s->request[i].state == SCHED_PENDING && strcmp(f->s->request[i].job_id, job->job_id) == 0 &&
            !f->fits_now[i])
            f->counts[i] = false;
}

/* ---- what is fair */

/* In thousandths, rounded. */
static double weight_of(const struct plain_request *r)
{
    double weight = (double)(int64_t)((r->weight > MOST_WEIGHT ? MOST_WEIGHT : r->weight) * 1000 + 0.5);
    return weight < 1 ? 1 : weight;
}

static struct job *job_of(struct shares *f, const struct plain_request *r)
{
    for (size_t i = 0; i < f->job_n; i++)
        if (strcmp(f->job[i].job_id, r->job_id) == 0)
            return &f->job[i];
    f->job[f->job_n] = (struct job){.job_id = r->job_id,
                                    .submitted_us = r->submitted_us,
                                    .max_slots = r->max_slots,
                                    .quota = r->quota,
                                    .quota_n = r->quota_n,
                                    .weight = weight_of(r)};
    return &f->job[f->job_n++];
}

/* By what they want beyond what an earlier round has offered them. */
static int by_need(const void *pa, const void *pb)
{
    const struct job *a = pa, *b = pb;
    COMPARE((float)((a->most - a->before) / a->weight), (float)((b->most - b->before) / b->weight));
    COMPARE(a->submitted_us, b->submitted_us);
    return strcmp(a->job_id, b->job_id);
}

/* What a round of the first plan gave the job. */
static double share_before(const struct shares *f, const char *job_id, bool lends)
{
    for (size_t i = 0; i < f->first_n; i++)
        if (strcmp(f->first[i].job_id, job_id) == 0)
            return f->first[i].share[lends];
    return 0;
}

static const struct job *who_borrows_less(const struct shares *f, const struct job *job)
{
    for (size_t i = 0; i < f->less_n; i++)
        if (strcmp(f->less[i].job_id, job->job_id) == 0)
            return &f->less[i];
    return NULL;
}

static void find_groups(struct shares *f)
{
    f->job_n = 0;
    for (size_t i = 0; i < f->s->request_n; i++) {
        const struct plain_request *r = f->order[i];
        if (!f->counts[number_of(f, r)])
            continue;
        struct job *job = job_of(f, r);
        job->demand += r->slots;
        job->kept += r->state == SCHED_PENDING && !f->fits_now[number_of(f, r)] ? 0 : r->slots;
        job->active += r->state == SCHED_ALLOCATED ? r->slots : 0;
        job->held_for_good += r->state == SCHED_ALLOCATED && !r->preemptible ? r->slots : 0;
        job->smallest = job->smallest == 0 || r->slots < job->smallest ? r->slots : job->smallest;
        job->largest = r->slots > job->largest ? r->slots : job->largest;
        job->fits_now = job->fits_now || f->fits_now[number_of(f, r)];
    }
    for (size_t i = 0; i < f->job_n; i++) {
        struct job *job = &f->job[i];
        job->unit = job->smallest == job->largest ? job->smallest : 1;
        if (job->max_slots >= 0 && job->demand > job->max_slots)
            job->demand = job->max_slots / job->unit * job->unit;
        job->most = job->demand;
        if (job->demand > 0 && job->largest > f->largest)
            f->largest = job->largest;
    }
    qsort(f->job, f->job_n, sizeof(*f->job), by_need);
}

/* The slots of a quota that the jobs may have together: as its own, or up to its limit. What requests hold that do not
 * count is not theirs to have. Nothing is stopped because of a limit. */
static int slots_of_quota(const struct shares *f, size_t quota, bool up_to_limit)
{
    int own = f->s->quota[quota].own, limit = f->s->quota[quota].limit, active = 0;
    for (size_t i = 0; i < f->s->request_n; i++) {
        const struct plain_request *r = &f->s->request[i];
        for (size_t k = 0; r->state != SCHED_PENDING && k < r->quota_n; k++) {
            if (r->quota[k] != quota)
                continue;
            active += f->counts[i] && r->state == SCHED_ALLOCATED ? r->slots : 0;
            limit -= f->counts[i] ? 0 : r->slots;
            own -= f->counts[i] || f->books.borrows[i] ? 0 : r->slots;
        }
    }
    limit = limit > active ? limit : active;
    return up_to_limit ? limit : own < limit ? own : limit;
}

static bool keeps_to(const struct job *job, size_t quota)
{
    for (size_t i = 0; i < job->quota_n; i++)
        if (job->quota[i] == quota)
            return true;
    return false;
}

/* What a quota, or the pool (-1), still has for shares to grow. weight: of all that grow there. */
static double slots_left(const struct shares *f, int quota, double *weight)
{
    double left = quota < 0 ? f->left : f->quota_left[quota];
    *weight = 0;
    for (size_t i = 0; i < f->job_n; i++) {
        const struct job *job = &f->job[i];
        if (quota >= 0 && !keeps_to(job, (size_t)quota))
            continue;
        *weight += job->grows ? job->weight : 0;
        left -= job->fixed && !f->lends ? job->held_for_good : job->share[f->lends];
    }
    return left;
}

/* The same for a weight of 1. */
static double growth_left(const struct shares *f, int quota)
{
    double weight, left = slots_left(f, quota, &weight);
    if (weight == 0)
        return 1e300;
    return left > 0 ? left / weight : 0;
}

static bool is_used_up(const struct shares *f, int quota)
{
    double weight;
    return slots_left(f, quota, &weight) < LITTLE;
}

/* All shares grow until something is used up, or somebody has what he wants; those whom it concerns stop there; and so
 * on. */
static void grow_shares(struct shares *f)
{
    for (size_t i = 0; i < f->job_n; i++) {
        struct job *job = &f->job[i];
        job->grows = job->takes_part && (f->lends || !job->fixed);
        job->share[f->lends] = 0;
    }
    for (bool grow = true; grow;) {
        double most = 1e300;
        grow = false;
        for (int quota = -1; quota < (int)f->s->quota_n; quota++)
            most = growth_left(f, quota) < most ? growth_left(f, quota) : most;
        for (size_t i = 0; i < f->job_n; i++) {
            const struct job *job = &f->job[i];
            double wanted = (job->most - job->before - job->share[f->lends]) / job->weight;
            if (job->grows && wanted < most)
                most = wanted;
        }
        for (size_t i = 0; i < f->job_n; i++)
            f->job[i].share[f->lends] += f->job[i].grows ? f->job[i].weight * most : 0;
        for (size_t i = 0; i < f->job_n; i++) {
            struct job *job = &f->job[i];
            bool stops = job->share[f->lends] > job->most - job->before - LITTLE || is_used_up(f, -1);
            for (size_t k = 0; k < job->quota_n; k++)
                stops = stops || is_used_up(f, (int)job->quota[k]);
            job->stops = job->grows && stops;
            grow = grow || (job->grows && !stops);
        }
        for (size_t i = 0; i < f->job_n; i++)
            f->job[i].grows = f->job[i].grows && !f->job[i].stops;
    }
}

/* False: somebody has more for good than that, which is to be taken into account. */
static bool fill_shares(struct shares *f)
{
    bool all_well = true;
    grow_shares(f);
    for (size_t i = 0; i < f->job_n; i++) {
        struct job *job = &f->job[i];
        if (job->fixed || job->held_for_good <= job->share[0])
            continue;
        job->fixed = true;
        all_well = false;
    }
    for (size_t i = 0; i < f->job_n; i++)
        if (f->job[i].fixed)
            f->job[i].share[0] = f->job[i].held_for_good;
    return all_well;
}

/* Whether the round has so many slots more for the job. */
static bool is_left_for(const struct shares *f, const struct job *job, int slots)
{
    for (size_t i = 0; i < job->quota_n; i++)
        if (slots > f->quota_left[job->quota[i]])
            return false;
    return slots <= f->left;
}

static void offer_more(struct shares *f, struct job *job, int slots)
{
    job->offered += slots;
    f->left -= slots;
    for (size_t i = 0; i < job->quota_n; i++)
        f->quota_left[job->quota[i]] -= slots;
}

/* One more for those who lack a part of one, or, beyond their shares, of what nobody else can use. */
static void round_up(struct shares *f, bool those_that_run, bool beyond)
{
    for (size_t i = 0; i < f->job_n; i++) {
        struct job *job = &f->job[i];
        double fair = job->before + job->share[f->lends];
        bool again = !f->lends || job->takes_part;
        while (again && is_left_for(f, job, job->unit) && job->offered + job->unit <= job->most) {
            bool runs = job->active > job->offered || (!beyond && job->offered == 0 && job->fits_now);
            bool may = beyond ? job->offered + job->unit - fair + ALMOST < f->largest : job->offered + ALMOST < fair;
            if (!may || (those_that_run && !runs))
                break;
            offer_more(f, job, job->unit);
            again = beyond;
        }
    }
}

/* Who lacked a place for what he would be lent is lent only what he has, and what fits now. */
static int most_for(const struct shares *f, const struct job *job)
{
    const struct job *less = f->lends ? who_borrows_less(f, job) : NULL;
    int most = !less ? job->demand : job->kept > less->own ? job->kept : less->own;
    return most < job->demand ? most : job->demand;
}

/* One round: of what is the quotas' own, and all that jobs without quotas want; or of what is left then, to those who
 * want more than is their quotas' own. What those without a place leave does not change what is fair. */
static void make_offers_of_round(struct shares *f, bool lends, bool again)
{
    f->lends = lends;
    for (size_t i = 0; i < f->job_n; i++) {
        struct job *job = &f->job[i];
        job->before = lends ? job->offered : 0;
        job->most = most_for(f, job);
        job->takes_part = !lends || (job->quota_n > 0 && job->most > job->before);
    }
    for (size_t i = 0; i < f->s->quota_n; i++) {
        f->quota_left[i] = slots_of_quota(f, i, lends);
        for (size_t k = 0; k < f->job_n; k++)
            f->quota_left[i] -= keeps_to(&f->job[k], i) ? f->job[k].before : 0;
    }
    qsort(f->job, f->job_n, sizeof(*f->job), by_need);
    if (!again && lends)
        grow_shares(f);
    while (!again && !lends && !fill_shares(f))
        ;
    for (size_t i = 0; again && i < f->job_n; i++) {
        struct job *job = &f->job[i];
        double share = share_before(f, job->job_id, lends), wanted = job->most - job->before;
        job->share[lends] = share < wanted ? share : wanted;
    }
    for (size_t i = 0; i < f->job_n; i++) {
        struct job *job = &f->job[i];
        int whole = (int)((job->share[lends] + ALMOST) / job->unit) * job->unit;
        if (lends && !job->takes_part)
            continue;
        while (lends && whole > 0 && !is_left_for(f, job, whole))
            whole -= job->unit;
        job->whole += whole;
        offer_more(f, job, lends || whole > job->held_for_good ? whole : job->held_for_good);
    }
    round_up(f, true, false);
    round_up(f, false, false);
    round_up(f, true, true);
    round_up(f, false, true);
}

static void make_offers(struct shares *f, bool again)
{
    f->left = f->capacity;
    f->quota_left = arena_array(f->a, int, f->s->quota_n + 1);
    make_offers_of_round(f, false, again);
    for (size_t i = 0; i < f->job_n; i++) {
        f->job[i].own = f->job[i].offered;
        if (f->job[i].quota_n > 0)
            f->job[i].whole = f->job[i].offered;
    }
    make_offers_of_round(f, true, again);
    for (size_t i = 0; i < f->job_n; i++) {
        f->job[i].before = 0;
        f->job[i].most = f->job[i].demand;
    }
    qsort(f->job, f->job_n, sizeof(*f->job), by_need); /* in this order they are served */
    if (again)
        return;
    f->first = arena_dup(f->a, f->job, (f->job_n + 1) * sizeof(*f->job));
    f->first_n = f->job_n;
}

/* ---- room for gangs */

static bool may_be_stopped(const struct shares *f, const struct plain_request *victim, const struct plain_request *r)
{
    bool lent = f->lent[number_of(f, victim)], smaller = victim->slots < r->slots;
    return victim->slots > 0 && victim->state == SCHED_ALLOCATED && victim->preemptible &&
           !f->released[number_of(f, victim)] && (f->borrowing ? lent && smaller : lent || smaller);
}

static int room_on(const struct shares *f, const struct plain_request *r, size_t agent)
{
    int room = f->agent[agent].empty_slots;
    for (size_t i = 0; i < f->s->request_n; i++)
        for (size_t k = 0; may_be_stopped(f, &f->s->request[i], r) && k < f->s->request[i].share_n; k++)
            room += f->s->request[i].share[k].agent == agent ? f->s->request[i].share[k].slots : 0;
    return room < f->agent[agent].slots ? room : f->agent[agent].slots;
}

/* Whether it would have the cores and the memory if everything were gone that may be stopped. */
static bool has_room_of_needs(const struct shares *f, const struct plain_request *r, size_t agent)
{
    struct plain_agent *after = arena_dup(f->a, f->agent, f->s->agent_n * sizeof(*after));
    for (size_t i = 0; i < f->s->request_n; i++)
        if (may_be_stopped(f, &f->s->request[i], r))
            take_needs(after, f->s->request[i].share, f->s->request[i].share_n);
    struct sched_needs stopped = {f->agent[agent].left.millicores - after[agent].left.millicores,
                                  f->agent[agent].left.memory_bytes - after[agent].left.memory_bytes};
    struct sched_needs left = {at_most(f->agent[agent].left.millicores + stopped.millicores,
                                       f->agent[agent].has.millicores),
                               at_most(f->agent[agent].left.memory_bytes + stopped.memory_bytes,
                                       f->agent[agent].has.memory_bytes)};
    return has_left(r, &left);
}

static int by_ease(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->agent->empty_slots != b->agent->empty_slots)
        return a->agent->empty_slots > b->agent->empty_slots ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return strcmp(a->agent->id, b->agent->id);
}

static size_t find_agents_for(struct shares *f, const struct plain_request *r, int size, struct candidate *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < f->s->agent_n; i++) {
        const struct plain_agent *agent = &f->agent[i];
        if (is_permitted(r, agent) && (size == 0 || agent->slots == size) &&
            room_on(f, r, i) >= (size == 0 ? r->slots : size) && has_room_of_needs(f, r, i))
            ret[n++] = (struct candidate){i, agent, 0, hash_of(r->allocation_id) - hash_of(agent->id)};
    }
    qsort(ret, n, sizeof(*ret), by_ease);
    return n;
}

/* The one agent, or those of one size, the largest that does, where the least has to be stopped. */
static size_t choose_agents(struct shares *f, const struct plain_request *r, struct plain_share *ret)
{
    struct candidate *c = arena_array(f->a, struct candidate, f->s->agent_n + 1);
    if (find_agents_for(f, r, 0, c) > 0) {
        ret[0] = (struct plain_share){c[0].index, r->slots, r->needs};
        return 1;
    }
    for (int size = r->slots; size > 0 && !needs_one_agent(f, r); size--) {
        size_t wanted = (size_t)(r->slots / size);
        if (r->slots % size != 0 || find_agents_for(f, r, size, c) < wanted)
            continue;
        for (size_t i = 0; i < wanted; i++)
            ret[i] = (struct plain_share){c[i].index, size, r->needs};
        return wanted;
    }
    return 0;
}

static void release_request(struct shares *f, const struct plain_request *r)
{
    f->released[number_of(f, r)] = true;
    f->ret->release[f->ret->release_n++] = number_of(f, r);
}

static void give_back_what_leaves(struct shares *f, struct plain_agent *agent)
{
    for (size_t i = 0; i < f->s->request_n; i++)
        if ((f->s->request[i].state == SCHED_RELEASING && f->s->request[i].slots > 0) || f->released[i])
            give_back_share(agent, f->s->request[i].share, f->s->request[i].share_n);
}

static bool lacks_room(const struct shares *f, const struct plain_share *share, size_t n,
                       const struct plain_request *victim)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < victim->share_n; k++) {
            const struct plain_agent *agent = &f->agent[share[i].agent];
            bool cores = share[i].needs.millicores > 0 && share[i].needs.millicores > agent->left.millicores,
                 memory = share[i].needs.memory_bytes > 0 && share[i].needs.memory_bytes > agent->left.memory_bytes;
            if (victim->share[k].agent != share[i].agent)
                continue;
            if (agent->empty_slots < share[i].slots || (cores && victim->needs.millicores > 0) ||
                (memory && victim->needs.memory_bytes > 0))
                return true;
        }
    return false;
}

static size_t room_for(struct shares *f, const struct plain_request *r, struct plain_share *ret)
{
    struct plain_agent *before = f->agent;
    f->agent = arena_dup(f->a, f->agent, f->s->agent_n * sizeof(*f->agent));
    if (!f->releasing)
        give_back_what_leaves(f, f->agent);
    size_t n = choose_agents(f, r, ret);
    if (n == 0) {
        f->agent = before;
        return 0;
    }
    for (int lent = 1; lent >= 0; lent--)
        for (size_t i = f->s->request_n; i-- > 0;) {
            const struct plain_request *victim = f->order[i];
            if (f->lent[number_of(f, victim)] != (lent == 1) || !may_be_stopped(f, victim, r) ||
                !lacks_room(f, ret, n, victim))
                continue;
            release_request(f, victim);
            give_back_share(f->agent, victim->share, victim->share_n);
        }
    f->releasing = true;
    return n;
}

/* ---- carrying out */

static bool place_request(struct shares *f, const struct plain_request *r)
{
    struct plain_share *share;
    size_t n = f->releasing ? 0 : plain_fit(f->s, f->agent, r, f->a, &share);
    if (n == 0)
        return false;
    take_share(f->agent, share, n);
    add_to_books(&f->books, r, has_to_borrow(&f->books, r));
    f->ret->allocate[f->ret->allocate_n++] = (struct plain_placement){number_of(f, r), share, n};
    return true;
}

static void grant_request(struct shares *f, const struct plain_request *r)
{
    f->ret->unplaced[f->ret->unplaced_n++] = number_of(f, r);
}

/* False: there is no place for it and there will be none. */
static bool serve_gang(struct shares *f, const struct plain_request *r, bool may_make_room)
{
    struct plain_share *share;
    size_t n, leaving = f->ret->release_n;
    bool over_limit = is_over_limit(&f->books, r);
    if (!over_limit && place_request(f, r))
        return true;
    if (r->slots == 1) {
        if (!over_limit)
            grant_request(f, r);
        return true;
    }
    for (size_t i = 0; i < f->s->request_n; i++)
        leaving += f->s->request[i].state == SCHED_RELEASING && f->s->request[i].slots > 0;
    if (f->kept_n >= SCHED_KEPT_MAX || leaving > SCHED_LEAVING_MAX)
        return true;
    struct plain_agent *agent = arena_dup(f->a, f->agent, f->s->agent_n * sizeof(*agent));
    if (!f->releasing)
        give_back_what_leaves(f, agent);
    n = plain_fit(f->s, agent, r, f->a, &share);
    if (n == 0 && may_make_room)
        n = room_for(f, r, share);
    if (n > 0) {
        take_share(f->agent, share, n);
        add_to_books(&f->books, r, has_to_borrow(&f->books, r));
        f->kept_n++;
    } else if (f->fits_now[number_of(f, r)]) {
        grant_request(f, r);
    } else {
        return false;
    }
    return true;
}

static bool belongs_to_job(const struct shares *f, const struct job *job, const struct plain_request *r)
{
    return strcmp(r->job_id, job->job_id) == 0 && f->counts[number_of(f, r)];
}

static void release_too_much(struct shares *f, const struct job *job)
{
    int active = job->active;
    for (size_t i = 0; i < f->s->request_n; i++)
        active -= f->released[i] && strcmp(f->s->request[i].job_id, job->job_id) == 0 ? f->s->request[i].slots : 0;
    for (size_t i = 0; i < f->s->request_n && active > job->offered; i++) {
        const struct plain_request *r = f->order[i];
        if (!belongs_to_job(f, job, r) || r->state != SCHED_ALLOCATED || !r->preemptible ||
            f->released[number_of(f, r)])
            continue;
        release_request(f, r);
        active -= r->slots;
    }
}

/* False: for some there will be no place. */
static bool place_missing(struct shares *f, const struct job *job, bool gangs)
{
    bool ok = true;
    int rest = job->offered - job->active;
    for (size_t i = 0; i < f->s->request_n && rest > 0; i++) {
        const struct plain_request *r = f->order[i];
        if (!belongs_to_job(f, job, r) || r->state != SCHED_PENDING || r->slots > rest)
            continue;
        rest -= r->slots;
        if (gangs && (job->offered - rest > job->own) != f->borrowing)
            continue;
        if (gangs)
            ok = serve_gang(f, r, job->offered - rest <= job->whole) && ok;
        else if (!is_over_limit(&f->books, r) && !place_request(f, r))
            grant_request(f, r);
    }
    return ok;
}

/* What a job has beyond what is its own, of that the oldest requests, is lent to it, or more than it is offered. */
static void find_lent(struct shares *f)
{
    memset(f->lent, 0, f->s->request_n * sizeof(*f->lent));
    for (size_t i = 0; i < f->job_n; i++) {
        int active = f->job[i].active;
        for (size_t k = 0; k < f->s->request_n && active > f->job[i].own; k++) {
            const struct plain_request *r = f->order[k];
            if (!belongs_to_job(f, &f->job[i], r) || r->state != SCHED_ALLOCATED || !r->preemptible)
                continue;
            f->lent[number_of(f, r)] = true;
            active -= r->slots;
        }
    }
}

/* What is not lent comes first, then what is; of each the largest first, for they stop smaller ones. False: those for
 * which there is no place count no more. */
static bool serve_gangs(struct shares *f)
{
    bool ok = true;
    find_lent(f);
    for (size_t i = 0; i < f->job_n; i++)
        if (f->job[i].largest > 1)
            release_too_much(f, &f->job[i]);
    for (int borrowing = 0; borrowing <= 1; borrowing++)
        for (int size = f->largest; size > 1; size--)
            for (size_t i = 0; i < f->job_n; i++) {
                f->borrowing = borrowing == 1;
                if (f->job[i].largest != size || place_missing(f, &f->job[i], true))
                    continue;
                f->job[i].lacks_place = true;
                f->job[i].lacks_own = f->job[i].lacks_own || !f->borrowing;
            }
    for (size_t i = 0; i < f->job_n; i++) {
        const struct job *job = &f->job[i];
        if (!job->lacks_place)
            continue;
        ok = false;
        if (!job->lacks_own && !who_borrows_less(f, job))
            f->less[f->less_n++] = *job;
        else
            count_no_more(f, job);
    }
    return ok;
}

static void serve_single(struct shares *f)
{
    for (size_t i = 0; i < f->job_n; i++) {
        if (f->job[i].largest > 1)
            continue;
        release_too_much(f, &f->job[i]);
        place_missing(f, &f->job[i], false);
    }
}

static void start_again(struct shares *f, size_t placed_before)
{
    f->agent = arena_dup(f->a, f->begun, f->s->agent_n * sizeof(*f->agent));
    f->books = open_books(f->s, f->a);
    memset(f->released, 0, f->s->request_n * sizeof(*f->released));
    f->releasing = false;
    f->kept_n = 0;
    f->ret->allocate_n = placed_before;
    f->ret->release_n = f->ret->unplaced_n = 0;
}

static void share_fairly(const struct plain_snapshot *s, struct arena *a, struct plain_decision *ret)
{
    struct shares f = {.s = s,
                       .a = a,
                       .ret = ret,
                       .books = open_books(s, a),
                       .job = arena_array(a, struct job, s->request_n + 1),
                       .less = arena_array(a, struct job, s->request_n + 1),
                       .order = arena_array(a, const struct plain_request *, s->request_n + 1),
                       .fits_now = arena_array(a, bool, s->request_n + 1),
                       .counts = arena_array(a, bool, s->request_n + 1),
                       .released = arena_array(a, bool, s->request_n + 1),
                       .lent = arena_array(a, bool, s->request_n + 1),
                       .agent = arena_dup(a, s->agent, s->agent_n * sizeof(*s->agent))};
    for (size_t i = 0; i < s->request_n; i++)
        f.order[i] = &s->request[i];
    qsort(f.order, s->request_n, sizeof(*f.order), by_submission);
    for (size_t i = 0; i < s->request_n; i++)
        if (f.order[i]->slots == 0 && f.order[i]->state == SCHED_PENDING)
            place_request(&f, f.order[i]);
    for (size_t i = 0; i < s->agent_n; i++)
        f.capacity += s->agent[i].slots;
    f.begun = arena_dup(a, s->agent, s->agent_n * sizeof(*s->agent));
    for (size_t i = 0; i < ret->allocate_n; i++)
        take_needs(f.begun, ret->allocate[i].share, ret->allocate[i].share_n);
    find_who_counts(&f);
    size_t placed = ret->allocate_n;
    for (int plans = 1; plans <= SCHED_PLANS_MAX; plans++) {
        start_again(&f, placed);
        find_groups(&f);
        make_offers(&f, plans > 1);
        if (serve_gangs(&f))
            break;
    }
    serve_single(&f);
}

void plain_pass(const struct plain_snapshot *s, struct arena *a, struct plain_decision *ret)
{
    *ret = (struct plain_decision){.allocate = arena_array(a, struct plain_placement, s->request_n + 1),
                                   .unplaced = arena_array(a, size_t, s->request_n + 1),
                                   .release = arena_array(a, size_t, s->request_n + 1)};
    if (s->opts.policy == SCHED_BY_FAIR_SHARE) {
        share_fairly(s, a, ret);
        return;
    }
    struct places with_slots = {arena_array(a, struct plain_placement, s->request_n + 1), 0};
    serve_requests(s, false, &with_slots, a, ret);
    serve_requests(s, true, &with_slots, a, ret);
}
