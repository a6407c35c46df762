#include "core/resources/rm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "core/sched/policy.h"

struct pool *pool_find(const struct core *c, const char *name)
{
    if (!name || name[0] == '\0')
        return &c->pool[0];
    for (size_t i = 0; i < c->pool_n; i++)
        if (strcmp(c->pool[i].name, name) == 0)
            return &c->pool[i];
    return NULL;
}

void pool_add(struct pool *p, struct allocation *a)
{
    TAILQ_INSERT_TAIL(&p->allocations, a, in_pool);
    TAILQ_INSERT_TAIL(&p->new, a, in_new);
    if (a->trial)
        a->trial->experiment->open_n++;
    p->changed = true;
}

void pool_remove(struct pool *p, struct allocation *a)
{
    if (a->known_to_sched) {
        p->rm->removed(p, a);
    } else {
        TAILQ_REMOVE(&p->new, a, in_new);
        free(a->job);
    }
    a->job = NULL;
    a->known_to_sched = false;
    TAILQ_REMOVE(&p->allocations, a, in_pool);
    if (a->trial)
        a->trial->experiment->open_n--;
    p->changed = true;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

int pool_priority(const struct pool *p, int wanted)
{
    return sched_policy_type(p->opts.sched.policy)->equal_priorities ? SCHED_PRIORITY_DEFAULT : wanted;
}

int pool_check_priority(const struct pool *p, int32_t priority, struct error *err)
{
    if (priority < SCHED_PRIORITY_MIN || priority > SCHED_PRIORITY_MAX)
        return error_set(err, ERR_INVALID,
                         "priority must be between %d and %d (lower goes first), and %d was asked for",
                         SCHED_PRIORITY_MIN, SCHED_PRIORITY_MAX, priority);
    const char *none = sched_policy_type(p->opts.sched.policy)->no_priorities;
    return !none ? 0 : error_set(err, ERR_INVALID, "resource pool %s %s", p->name, none);
}

int pool_check_weight(const struct pool *p, double weight, struct error *err)
{
    if (!(weight > 0) || !isfinite(weight))
        return error_set(err, ERR_INVALID, "weight must be a number above 0, and %g was asked for", weight);
    const char *none = sched_policy_type(p->opts.sched.policy)->no_weights;
    return !none ? 0 : error_set(err, ERR_INVALID, "resource pool %s %s", p->name, none);
}

static struct job *new_job_in(const struct experiment *x, const struct pool *p)
{
    struct job *job = must_calloc(1, sizeof(*job));
    job->sched = (struct sched_job){.job_id = x->row.job_id,
                                    .priority = pool_priority(p, x->spec.priority),
                                    .weight = x->spec.weight,
                                    .max_slots = x->spec.max_slots,
                                    .queue_position = x->row.queue_position,
                                    .submitted_us = x->row.start_us};
    return job;
}

struct job *job_new(struct experiment *x)
{
    struct job *job = new_job_in(x, x->pool);
    job->experiment = x;
    return job;
}

struct job *job_in_pool(struct experiment *x, struct pool *p)
{
    const struct trial *t;
    if (x->job && x->pool == p)
        return x->job;
    LIST_FOREACH(t, &x->trials, in_experiment)
        if (t->allocation && t->allocation->pool == p && t->allocation->known_to_sched)
            return container_of(t->allocation->request.job, struct job, sched);
    return new_job_in(x, p);
}

struct experiment *job_experiment(const struct job *job)
{
    if (job->experiment || job->sched.request_n == 0)
        return job->experiment;
    struct sched_request *any = RB_ROOT((struct sched_job_requests *)&job->sched.requests);
    const struct trial *t = container_of(any, struct allocation, request)->trial;
    return t ? t->experiment : NULL;
}

struct task *job_task(const struct job *job)
{
    if (job->experiment || job->sched.request_n == 0)
        return NULL;
    struct sched_request *any = RB_ROOT((struct sched_job_requests *)&job->sched.requests);
    return container_of(any, struct allocation, request)->task;
}

static struct sched_job job_of_launched(const struct task *t, const struct pool *p)
{
    return (struct sched_job){.job_id = t->row.job_id,
                              .priority = pool_priority(p, t->launched.priority),
                              .weight = t->launched.weight,
                              .max_slots = t->launched.max_slots,
                              .queue_position = t->launched.queue_position,
                              .submitted_us = t->row.start_us};
}

void job_new_for_task(struct allocation *a)
{
    a->job = must_calloc(1, sizeof(*a->job));
    if (task_kind_is_launched(a->task->row.kind))
        a->job->sched = job_of_launched(a->task, a->pool);
    else
        a->job->sched = (struct sched_job){.uncounted = true,
                                           .job_id = a->task->row.job_id,
                                           .priority = SCHED_PRIORITY_DEFAULT,
                                           .weight = 1,
                                           .max_slots = -1,
                                           .queue_position = a->row.request_us,
                                           .submitted_us = a->row.request_us};
}

void job_reweigh_task(struct task *t)
{
    struct allocation *a = t->allocation;
    struct sched_job now = job_of_launched(t, a->pool);
    now.quotas = a->job->sched.quotas;
    a->pool->rm->reweighed(a->pool, a->job, &now);
    a->pool->changed = true;
}

void job_reweigh(struct experiment *x)
{
    struct sched_job now = {.priority = pool_priority(x->pool, x->spec.priority),
                            .weight = x->spec.weight,
                            .max_slots = x->spec.max_slots,
                            .quotas = x->job->sched.quotas,
                            .queue_position = x->row.queue_position};
    x->pool->rm->reweighed(x->pool, x->job, &now);
    x->pool->changed = true;
}

void job_leave(struct experiment *x)
{
    x->job->experiment = NULL;
    if (x->job->sched.request_n == 0)
        free(x->job);
    x->job = NULL;
}
