#include "core/sched/quotas.h"

#include "core/sched/levels.h"

RB_GENERATE_STATIC(sched_borrowers, sched_request, in_borrowers, sched_request_compare)

/* Of equally many slots, a key without a shape comes before all shapes. */
static int by_slots(const struct sched_watch *a, const struct sched_watch *b)
{
    uintptr_t x = (uintptr_t)a->shape, y = (uintptr_t)b->shape;
    if (a->slots != b->slots)
        return a->slots < b->slots ? -1 : 1;
    return x < y ? -1 : x > y;
}

RB_GENERATE_STATIC(sched_watches, sched_watch, node, by_slots)

void sched_quotas_add(struct sched_quotas *q)
{
    RB_INIT(&q->borrowers);
    for (size_t i = 0; i < q->n; i++) {
        q->member[i].of = q;
        LIST_INSERT_HEAD(&q->quota[i]->members, &q->member[i], in_quota);
    }
}

void sched_quotas_remove(struct sched_quotas *q)
{
    for (size_t i = 0; i < q->n; i++) {
        LIST_REMOVE(&q->member[i], in_quota);
        if (!LIST_EMPTY(&q->quota[i]->members) || !q->quota[i]->has_changed)
            continue;
        LIST_REMOVE(q->quota[i], in_changed);
        q->quota[i]->has_changed = false;
    }
}

const struct sched_quota *sched_quotas_exceeded(const struct sched_quotas *q, int slots)
{
    for (size_t i = 0; q && i < q->n; i++)
        if (slots > 0 && (int64_t)q->quota[i]->held + q->quota[i]->planned_held + slots > q->quota[i]->limit)
            return q->quota[i];
    return NULL;
}

bool sched_quotas_may_allow(const struct sched_quotas *q, int slots)
{
    for (size_t i = 0; q && i < q->n; i++)
        if (slots > q->quota[i]->limit || q->quota[i]->held > q->quota[i]->limit)
            return false;
    return true;
}

const struct sched_quota *sched_quotas_borrowing(const struct sched_quotas *q, int slots)
{
    for (size_t i = 0; q && i < q->n; i++)
        if (slots > 0 && (int64_t)q->quota[i]->owned + q->quota[i]->planned_owned + slots > q->quota[i]->own)
            return q->quota[i];
    return NULL;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static void note_change(struct sched_ledger *l, struct sched_quota *quota)
{
    if (!quota->has_changed)
        LIST_INSERT_HEAD(&l->changed, quota, in_changed);
    quota->has_changed = true;
}

void quotas_note_change(struct sched_ledger *l, const struct sched_quotas *q)
{
    for (size_t i = 0; q && i < q->n; i++)
        note_change(l, q->quota[i]);
}

void quotas_count(struct sched_ledger *l, struct sched_request *r, int by)
{
    struct sched_quotas *q = r->job->quotas;
    if (!q || r->slots == 0 || r->state == SCHED_PENDING)
        return;
    if (r->borrows && r->state == SCHED_ALLOCATED && by > 0)
        RB_INSERT(sched_borrowers, &q->borrowers, r);
    else if (r->borrows && r->state == SCHED_ALLOCATED)
        RB_REMOVE(sched_borrowers, &q->borrowers, r);
    for (size_t i = 0; i < q->n; i++) {
        q->quota[i]->held += by * r->slots;
        q->quota[i]->owned += r->borrows ? 0 : by * r->slots;
        /* what borrows may become its own when something else gives its own slots back, and when it is new here */
        q->quota[i]->freed = q->quota[i]->freed || (r->borrows ? by > 0 : by < 0);
    }
    quotas_note_change(l, q);
    l->gave_back = l->gave_back || by < 0;
}

void quotas_make_own(struct sched_ledger *l, struct sched_request *r)
{
    struct sched_quotas *q = r->job->quotas;
    RB_REMOVE(sched_borrowers, &q->borrowers, r);
    r->borrows = false;
    for (size_t i = 0; i < q->n; i++)
        q->quota[i]->owned += r->slots;
    quotas_note_change(l, q);
}

static void count_planned(struct sched_quotas *q, int slots, bool borrows)
{
    for (size_t i = 0; i < q->n; i++) {
        q->quota[i]->planned_held += slots;
        q->quota[i]->planned_owned += borrows ? 0 : slots;
    }
}

/* ---- what is allowed to those that wait -------------------------------------------------------------------------- */

static int64_t own_left(const struct sched_quota *quota)
{
    return (int64_t)quota->own - quota->owned - quota->planned_owned;
}

static int64_t limit_left(const struct sched_quota *quota)
{
    return (int64_t)quota->limit - quota->held - quota->planned_held;
}

void quotas_watch(struct sched_quotas *q, struct sched_shape *shape)
{
    for (size_t i = 0; q && i < q->n; i++) {
        struct sched_quota *quota = q->quota[i];
        if (RB_EMPTY(&quota->waiting)) {
            quota->own_left = own_left(quota);
            quota->limit_left = limit_left(quota);
        }
        shape->watch[i] = (struct sched_watch){.shape = shape, .slots = shape->key.fit.slots};
        RB_INSERT(sched_watches, &quota->waiting, &shape->watch[i]);
    }
}

void quotas_unwatch(struct sched_quotas *q, struct sched_shape *shape)
{
    for (size_t i = 0; q && i < q->n; i++)
        RB_REMOVE(sched_watches, &q->quota[i]->waiting, &shape->watch[i]);
}

/* Sets how many slots are left. That concerns shapes of sizes between what was left before and what is left now. */
static void set_left(const struct sched_ledger *l, struct sched_quota *quota, int64_t *left, int64_t to)
{
    int64_t least = *left < to ? *left : to, most = *left < to ? to : *left;
    struct sched_watch key = {.slots = least < 0 ? 0 : (int)least + 1};
    *left = to;
    if (least == most || most <= 0 || RB_EMPTY(&quota->waiting))
        return;
    for (struct sched_watch *w = RB_NFIND(sched_watches, &quota->waiting, &key); w && w->slots <= most;
         w = RB_NEXT(sched_watches, &quota->waiting, w))
        shape_settle(w->shape, &l->now);
}

static void settle(const struct sched_ledger *l, struct sched_quota *quota)
{
    set_left(l, quota, &quota->own_left, own_left(quota));
    set_left(l, quota, &quota->limit_left, limit_left(quota));
}

void quotas_settle(struct sched_ledger *l)
{
    struct sched_quota *quota;
    while ((quota = LIST_FIRST(&l->changed))) {
        LIST_REMOVE(quota, in_changed);
        quota->has_changed = quota->freed = false;
        settle(l, quota);
    }
}

void quotas_plan(struct sched_ledger *l, struct sched_quotas *q, int slots, bool borrows, bool at_once)
{
    count_planned(q, slots, borrows);
    for (size_t i = 0; at_once && i < q->n; i++)
        settle(l, q->quota[i]);
}

void quotas_forget(struct sched_ledger *l, struct sched_quotas *q, int slots, bool borrows)
{
    count_planned(q, -slots, borrows);
    quotas_note_change(l, q);
}

/* ---- what was borrowed, and need not be any more ----------------------------------------------------------------- */

static void begin_walk(struct sched_ledger *l, struct sched_quotas *q)
{
    if (q->next || RB_EMPTY(&q->borrowers) || sched_quotas_borrowing(q, 1))
        return;
    q->next = RB_MIN(sched_borrowers, &q->borrowers);
    LIST_INSERT_HEAD(&l->walk, q, in_walk);
}

static void continue_walk(struct sched_quotas *q, struct sched_request *next)
{
    q->next = next;
    if (!next)
        LIST_REMOVE(q, in_walk);
}

/* Of the walks over the borrowers that have not come to their ends, the one whose next request has the first turn. */
static struct sched_quotas *first_walk(struct sched_ledger *l)
{
    struct sched_quotas *q, *next, *first = NULL;
    for (q = LIST_FIRST(&l->walk); q; q = next) {
        next = LIST_NEXT(q, in_walk);
        if (sched_quotas_borrowing(q, 1))
            continue_walk(q, NULL); /* nothing is left of its quotas */
        else if (!first || sched_request_compare(q->next, first->next) < 0)
            first = q;
    }
    return first;
}

struct sched_request *quotas_next_to_own(struct sched_ledger *l, bool begin)
{
    struct sched_quota *quota;
    struct sched_quotas *q;
    struct sched_member *m;
    if (begin)
        LIST_FOREACH(quota, &l->changed, in_changed)
            if (quota->freed && quota->owned < quota->own)
                LIST_FOREACH(m, &quota->members, in_quota)
                    begin_walk(l, m->of);
    while ((q = first_walk(l))) {
        struct sched_request *r = q->next;
        continue_walk(q, RB_NEXT(sched_borrowers, , r));
        if (!sched_quotas_borrowing(q, r->slots))
            return r;
    }
    return NULL;
}
