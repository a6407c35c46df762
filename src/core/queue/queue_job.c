#include "core/queue/queue_job.h"

#include <string.h>

#include "core/experiments/experiment.h"
#include "core/experiments/task.h"
#include "core/queue/pool_change.h"
#include "core/resources/rm.h"
#include "core/state/step.h"

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static struct queue_job job_by_beginning(const struct core *c, const char *id, int *ret_n)
{
    struct queue_job found = {0};
    size_t length = strlen(id);
    *ret_n = 0;
    for (struct experiment *x = c->experiments; x; x = x->hh.next) {
        if (strncmp(x->row.job_id, id, length) != 0)
            continue;
        found = (struct queue_job){.experiment = x};
        ++*ret_n;
    }
    for (struct task *t = c->task_jobs; t; t = t->by_job.next) {
        if (strncmp(t->row.job_id, id, length) != 0)
            continue;
        found = (struct queue_job){.task = t};
        ++*ret_n;
    }
    return found;
}

int queue_job_find(const struct core *c, const char *id, struct queue_job *ret, struct error *err)
{
    int n = 0;
    struct experiment *x;
    HASH_FIND(by_job, c->jobs, id, strlen(id), x);
    *ret = (struct queue_job){.experiment = x, .task = x ? NULL : task_find_by_job(c, id)};
    if (ret->experiment || ret->task)
        return 0;
    if (id[0] == '\0')
        return error_set(err, ERR_INVALID, "a change of the queue names no job");
    *ret = job_by_beginning(c, id, &n);
    if (n > 1)
        return error_set(err, ERR_INVALID, "job id \"%s\" is the beginning of %d jobs' ids; give more of it", id, n);
    if (n == 0)
        return error_set(err, ERR_NOT_FOUND, "job %s not found: there is none of that id, or it has ended", id);
    return 0;
}

int core_job_find(const struct core *c, const char *job_id, struct core_job_owner *ret, struct error *err)
{
    struct queue_job found;
    if (queue_job_find(c, job_id, &found, err) < 0)
        return -1;
    *ret = (struct core_job_owner){.experiment_id = found.experiment ? found.experiment->row.id : 0,
                                   .task_id = found.task ? found.task->row.id : NULL};
    return 0;
}

bool queue_job_of_sched(const struct sched_job *in_sched, struct queue_job *ret)
{
    const struct job *job = container_of(in_sched, struct job, sched);
    struct task *t = job_task(job);
    *ret = (struct queue_job){.experiment = job->experiment};
    if (t && task_kind_is_launched(t->row.kind))
        ret->task = t;
    return ret->experiment || ret->task;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

const char *queue_job_id(struct queue_job j)
{
    return j.task ? j.task->row.job_id : j.experiment->row.job_id;
}

const struct pool *queue_job_pool(struct queue_job j)
{
    return j.task ? j.task->allocation->pool : j.experiment->pool;
}

struct sched_job *queue_job_sched(struct queue_job j)
{
    return j.task ? &j.task->allocation->job->sched : &j.experiment->job->sched;
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

/* Has the values of an experiment's job written into its configuration. */
static void keep_resources(struct core *c, const struct experiment *x)
{
    struct core_effect *e = effect_add(c, CORE_PUT_RESOURCES);
    e->resources.experiment_id = x->row.id;
    e->resources.priority = x->spec.priority;
    e->resources.weight = x->spec.weight;
    e->resources.pool = arena_strdup(&c->out->arena, x->pool->name);
}

static void task_changed(struct core *c, struct task *t)
{
    record_touch(c, &t->launched_record);
    job_reweigh_task(t);
}

static void experiment_changed(struct core *c, struct experiment *x)
{
    job_reweigh(x);
    keep_resources(c, x);
}

void queue_job_set_priority(struct core *c, struct queue_job j, int32_t priority)
{
    if (j.task) {
        j.task->launched.priority = priority;
        task_changed(c, j.task);
    } else {
        j.experiment->spec.priority = priority;
        experiment_changed(c, j.experiment);
    }
}

void queue_job_set_weight(struct core *c, struct queue_job j, double weight)
{
    if (j.task) {
        j.task->launched.weight = weight;
        task_changed(c, j.task);
    } else {
        j.experiment->spec.weight = weight;
        experiment_changed(c, j.experiment);
    }
}

void queue_job_set_pool(struct core *c, struct queue_job j, struct pool *to)
{
    experiment_change_pool(c, j.experiment, to);
    experiment_changed(c, j.experiment);
}

void queue_job_set_place(struct core *c, struct queue_job j, int64_t queue_position, int32_t priority)
{
    bool new_priority = priority != queue_job_sched(j)->priority;
    if (j.task) {
        j.task->launched.queue_position = queue_position;
        j.task->launched.priority = new_priority ? priority : j.task->launched.priority;
        task_changed(c, j.task);
        return;
    }
    struct experiment *x = j.experiment;
    x->row.queue_position = queue_position;
    record_touch(c, &x->record);
    if (new_priority) {
        x->spec.priority = priority;
        keep_resources(c, x);
    }
    job_reweigh(x);
}
