#include "core/sched/quotas.h"

#include "core/sched/levels.h"

RB_GENERATE_STATIC(sched_borrowers, sched_request, in_borrowers, sched_request_compare)

void sched_ledger_add(struct sched_ledger *l, struct sched_quotas *q)
{
    RB_INIT(&q->borrowers);
    LIST_INSERT_HEAD(&l->quotas, q, in_ledger);
}

void sched_ledger_remove(struct sched_quotas *q)
{
    LIST_REMOVE(q, in_ledger);
}

const struct sched_quota *sched_quotas_exceeded(const struct sched_quotas *q, int slots)
{
    for (size_t i = 0; q && i < q->n; i++)
        if (slots > 0 && (int64_t)q->quota[i]->held + q->quota[i]->planned_held + slots > q->quota[i]->limit)
            return q->quota[i];
    return NULL;
}

const struct sched_quota *sched_quotas_borrowing(const struct sched_quotas *q, int slots)
{
    for (size_t i = 0; q && i < q->n; i++)
        if (slots > 0 && (int64_t)q->quota[i]->owned + q->quota[i]->planned_owned + slots > q->quota[i]->own)
            return q->quota[i];
    return NULL;
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
        bool freed = r->borrows ? by > 0 : by < 0;
        q->quota[i]->freed = q->quota[i]->freed || freed;
        l->freed = l->freed || freed;
        l->gave_back = l->gave_back || by < 0;
    }
}

void quotas_plan(struct sched_quotas *q, int slots, bool borrows, int by)
{
    for (size_t i = 0; q && i < q->n; i++) {
        q->quota[i]->planned_held += by * slots;
        q->quota[i]->planned_owned += borrows ? 0 : by * slots;
    }
}

/* ---- what was borrowed, and need not be any more ----------------------------------------------------------------- */

static bool is_any_freed(const struct sched_quotas *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->quota[i]->freed)
            return true;
    return false;
}

/* Of the walks over the borrowers that have not come to their ends, the one whose next request has the first turn. */
static struct sched_quotas *first_walk(struct sched_ledger *l)
{
    struct sched_quotas *q, *first = NULL;
    LIST_FOREACH(q, &l->quotas, in_ledger) {
        if (q->next && sched_quotas_borrowing(q, 1))
            q->next = NULL; /* nothing is left of its quotas */
        if (q->next && (!first || sched_request_compare(q->next, first->next) < 0))
            first = q;
    }
    return first;
}

struct sched_request *quotas_next_to_own(struct sched_ledger *l, bool begin)
{
    struct sched_quotas *q;
    if (begin && !l->freed)
        return NULL;
    if (begin)
        LIST_FOREACH(q, &l->quotas, in_ledger)
            q->next = is_any_freed(q) ? RB_MIN(sched_borrowers, &q->borrowers) : NULL;
    while ((q = first_walk(l))) {
        struct sched_request *r = q->next;
        q->next = RB_NEXT(sched_borrowers, , r);
        if (!sched_quotas_borrowing(q, r->slots))
            return r;
    }
    return NULL;
}

void quotas_all_looked_at(struct sched_ledger *l)
{
    struct sched_quotas *q;
    if (!l->freed)
        return;
    l->freed = false;
    LIST_FOREACH(q, &l->quotas, in_ledger)
        for (size_t i = 0; i < q->n; i++)
            q->quota[i]->freed = false;
}
