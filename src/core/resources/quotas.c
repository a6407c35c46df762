#include "core/resources/quotas.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "core/resources/rm.h"
#include "core/state/ids.h"

/* ---- which quotas there are -------------------------------------------------------------------------------------- */

static struct quota *find_quota(const struct core *c, int32_t workspace_id, int32_t user_id)
{
    struct quota *q;
    LIST_FOREACH(q, &c->quotas, in_core)
        if (q->workspace_id == workspace_id && q->user_id == user_id)
            return q;
    return NULL;
}

static void put_quota(struct core *c, const struct core_quota_change *change)
{
    struct quota *q = find_quota(c, change->workspace_id, change->user_id);
    if (!q) {
        q = must_calloc(1, sizeof(*q));
        q->workspace_id = change->workspace_id;
        q->user_id = change->user_id;
        q->sched.what = q->what;
        LIST_INSERT_HEAD(&c->quotas, q, in_core);
    }
    SET_TEXT(q->what, change->what);
    q->sched.own = change->own;
    q->sched.limit = change->limit;
}

/* ---- which of them a job has ------------------------------------------------------------------------------------- */

struct sched_quotas *quotas_of(struct core *c, int32_t workspace_id, int32_t user_id)
{
    struct quota_set *set = NULL, found = {.key = {workspace_id, user_id}};
    const int32_t wanted[][2] = {{workspace_id, 0}, {0, user_id}, {workspace_id, user_id}};
    if (LIST_EMPTY(&c->quotas))
        return NULL;
    HASH_FIND(hh, c->quota_sets, &found.key, sizeof(found.key), set);
    if (set)
        return set->sched.n > 0 ? &set->sched : NULL;
    set = must_calloc(1, sizeof(*set));
    set->key = found.key;
    for (size_t i = 0; i < SCHED_QUOTAS_MAX; i++) {
        struct quota *q = wanted[i][0] || wanted[i][1] ? find_quota(c, wanted[i][0], wanted[i][1]) : NULL;
        if (q && !(i == 2 && (!workspace_id || !user_id)))
            set->sched.quota[set->sched.n++] = &q->sched;
    }
    sched_quotas_add(&set->sched);
    HASH_ADD(hh, c->quota_sets, key, sizeof(set->key), set);
    return set->sched.n > 0 ? &set->sched : NULL;
}

static struct sched_quotas *quotas_of_job(struct core *c, const struct job *job)
{
    const struct experiment *x = job_experiment(job);
    const struct task *t = job_task(job);
    if (x)
        return quotas_of(c, x->spec.workspace_id, x->row.owner_id);
    return t && task_kind_is_launched(t->row.kind) ? quotas_of(c, t->launched.workspace_id, t->row.owner_id) : NULL;
}

static void tell_job(struct core *c, struct pool *p, struct job *job)
{
    struct sched_job to = job->sched;
    to.quotas = quotas_of_job(c, job);
    if (!to.quotas && !job->sched.quotas)
        return;
    p->rm->reweighed(p, job, &to);
    p->changed = true;
}

/* Gives each job of a pool that its scheduler knows its quotas. The jobs are collected first, since they leave and
 * enter the order while they are changed. */
static void tell_jobs(struct core *c, struct pool *p)
{
    size_t n = 0;
    cleanup_free const struct sched_job **job = must_reallocarray(NULL, sched_job_n(p->sched) + 1, sizeof(*job));
    for (const struct sched_job *j = sched_first_job(p->sched); j; j = sched_next_job(j))
        job[n++] = j;
    for (size_t i = 0; i < n; i++)
        tell_job(c, p, container_of(job[i], struct job, sched));
    p->changed = true;
}

static void free_sets(struct quota_set *sets)
{
    struct quota_set *set, *next;
    HASH_ITER(hh, sets, set, next) {
        HASH_DEL(sets, set);
        sched_quotas_remove(&set->sched);
        free(set);
    }
}

/* Finds for all jobs anew to which quotas they keep, and which of their requests borrow. */
static void tell_all_jobs(struct core *c)
{
    struct quota_set *before = c->quota_sets;
    c->quota_sets = NULL;
    for (size_t i = 0; i < c->pool_n; i++)
        tell_jobs(c, &c->pool[i]);
    free_sets(before);
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

int quota_set(struct core *c, const struct core_quota_change *change, struct error *err)
{
    struct quota *q = find_quota(c, change->workspace_id, change->user_id);
    if (change->remove && !q)
        return error_set(err, ERR_NOT_FOUND, "%s has no quota", change->what);
    if (!change->remove && (change->own < 0 || change->limit < change->own))
        return error_set(
            err, ERR_INVALID,
            "a quota of %d slots with a limit of %d was asked for %s; both are numbers from 0, and the limit "
            "is at least the quota",
            change->own, change->limit, change->what);
    if (!change->remove)
        put_quota(c, change);
    else
        LIST_REMOVE(q, in_core);
    tell_all_jobs(c);
    if (change->remove)
        free(q);
    return 0;
}

void quota_follow(struct core *c, const struct core_event *ev)
{
    for (size_t i = 0; i < ev->follow.named_n; i++) {
        const struct core_quota_change *named = &ev->follow.named[i];
        struct quota *q = find_quota(c, named->workspace_id, named->user_id);
        if (q)
            SET_TEXT(q->what, named->what);
    }
    for (size_t i = 0; i < ev->follow.placed_n; i++) {
        struct experiment *x = NULL;
        HASH_FIND(hh, c->experiments, &ev->follow.placed[i].experiment_id, sizeof(x->row.id), x);
        if (!x || x->spec.workspace_id == ev->follow.placed[i].workspace_id)
            continue;
        x->spec.workspace_id = ev->follow.placed[i].workspace_id;
        if (x->job)
            tell_job(c, x->pool, x->job);
    }
}

void quotas_restore(struct core *c, const struct core_rows *rows)
{
    for (size_t i = 0; i < rows->quota_n; i++)
        put_quota(c, &rows->quota[i]);
}

void quotas_free(struct core *c)
{
    struct quota *q;
    free_sets(c->quota_sets);
    while ((q = LIST_FIRST(&c->quotas))) {
        LIST_REMOVE(q, in_core);
        free(q);
    }
}

void quotas_wake_pools(struct core *c)
{
    for (size_t i = 0; c->ledger.gave_back && i < c->pool_n; i++)
        c->pool[i].changed = true;
    c->ledger.gave_back = false;
}

const char *core_quota_what(const char *workspace_name, const char *username, struct arena *a)
{
    if (workspace_name && username)
        return arena_printf(a, "user %s in workspace %s", username, workspace_name);
    return workspace_name ? arena_printf(a, "workspace %s", workspace_name) : arena_printf(a, "user %s", username);
}

const struct core_quota_view *core_quotas(const struct core *c, struct arena *a, size_t *ret_n)
{
    const struct quota *q;
    size_t n = 0;
    LIST_FOREACH(q, &c->quotas, in_core)
        n++;
    struct core_quota_view *view = arena_array(a, struct core_quota_view, n + 1);
    *ret_n = n;
    LIST_FOREACH(q, &c->quotas, in_core)
        view[--n] = (struct core_quota_view){.workspace_id = q->workspace_id,
                                             .user_id = q->user_id,
                                             .what = arena_strdup(a, q->what),
                                             .own = q->sched.own,
                                             .limit = q->sched.limit,
                                             .held = q->sched.held,
                                             .borrowed = q->sched.held - q->sched.owned};
    return view;
}
