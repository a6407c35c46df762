/* Reading the core, for the API's live views. Nothing here changes anything. */
#include <stdlib.h>
#include <string.h>

#include "core/experiments/experiment.h"
#include "core/experiments/task.h"
#include "core/experiments/trial.h"
#include "core/resources/agents.h"
#include "core/resources/allocation.h"
#include "core/resources/elastic.h"
#include "core/resources/rm.h"
#include "core/sched/policy.h"
#include "core/state/objects.h"

static enum display_state display_of(const struct allocation *a)
{
    if (!a)
        return DISPLAY_QUEUED;
    switch (a->row.state) {
    case ALLOCATION_PENDING:
    case ALLOCATION_ASSIGNED:
        return DISPLAY_QUEUED;
    case ALLOCATION_PULLING:
        return DISPLAY_PULLING;
    case ALLOCATION_STARTING:
        return DISPLAY_STARTING;
    case ALLOCATION_RUNNING:
    case ALLOCATION_WAITING:
    case ALLOCATION_TERMINATING:
    case ALLOCATION_TERMINATED:
    case ALLOCATION_STATE_NR:
        break;
    }
    return DISPLAY_RUNNING;
}

bool core_experiment(const struct core *c, int32_t id, struct core_experiment_view *ret)
{
    const struct experiment *x = experiment_find(c, id);
    if (!x)
        return false;
    *ret = (struct core_experiment_view){.row = &x->row,
                                         .display = DISPLAY_STORED,
                                         .trial_n = x->trial_n,
                                         .priority = x->spec.priority};
    if (x->row.state != RUN_ACTIVE)
        return true;
    ret->display = DISPLAY_QUEUED;
    const struct trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment) {
        if (display_of(t->allocation) > ret->display)
            ret->display = display_of(t->allocation);
        if (ret->display == DISPLAY_RUNNING)
            break; /* there is nothing above this state */
    }
    return true;
}

bool core_trial(const struct core *c, int32_t id, struct core_trial_view *ret)
{
    const struct trial *t = trial_find(c, id);
    if (!t)
        return false;
    *ret = (struct core_trial_view){.row = &t->row, .allocation_id = t->allocation ? t->allocation->row.id : NULL};
    ret->display = t->row.state == RUN_ACTIVE ? display_of(t->allocation) : DISPLAY_STORED;
    return true;
}

bool core_task(const struct core *c, const char *task_id, struct core_task_view *ret)
{
    const struct task *t = task_find(c, task_id);
    if (!t || !task_kind_is_launched(t->row.kind))
        return false;
    *ret = (struct core_task_view){.row = &t->row,
                                   .launched = &t->launched,
                                   .allocation = t->allocation ? &t->allocation->row : NULL};
    return true;
}

int core_task_count(const struct core *c, enum task_kind kind)
{
    return c->task_n[kind];
}

bool core_trial_operation(const struct core *c, int32_t id, struct core_operation_view *ret)
{
    const struct trial *t = trial_find(c, id);
    if (!t)
        return false;
    struct searcher_operation op = trial_operation(t);
    *ret = (struct core_operation_view){.length = op.length, .completed = op.completed};
    return true;
}

const struct allocation_row *core_allocation(const struct core *c, const char *allocation_id)
{
    const struct allocation *a = allocation_find(c, allocation_id);
    return a ? &a->row : NULL;
}

size_t core_allocations(const struct core *c, struct arena *a, const struct allocation_row *const **ret)
{
    const struct allocation_row **row = arena_array(a, const struct allocation_row *, HASH_COUNT(c->allocations) + 1);
    size_t n = 0;
    for (size_t i = 0; i < c->pool_n; i++) {
        const struct allocation *x;
        TAILQ_FOREACH(x, &c->pool[i].allocations, in_pool)
            row[n++] = &x->row;
    }
    *ret = row;
    return n;
}

const struct container_row *core_container(const struct core *c, const char *container_id)
{
    const struct container *k = container_find(c, container_id);
    return k ? &k->row : NULL;
}

const struct container_row *core_allocation_container(const struct core *c, const char *allocation_id, size_t index)
{
    const struct allocation *a = allocation_find(c, allocation_id);
    return a && index < a->container_n ? &a->container[index]->row : NULL;
}

/* ---- agents ------------------------------------------------------------------------------------------------------ */

static bool is_visible(const struct agent *agent)
{
    return agent->presence != AGENT_GONE || agent->row.lost_us != 0;
}

size_t core_agent_n(const struct core *c)
{
    size_t n = 0;
    for (const struct agent *agent = c->agents; agent; agent = agent->hh.next)
        n += is_visible(agent);
    return n;
}

void core_agent_view(const struct agent *agent, struct core_agent_view *ret)
{
    bool away = agent->presence != AGENT_CONNECTED;
    const struct container *k;
    *ret = (struct core_agent_view){
        .id = agent->row.id,
        .pool = agent->row.pool,
        .version = agent->version ? agent->version : "",
        .isolation_gap = agent->isolation_gap,
        .hostname = agent->hostname ? agent->hostname : "",
        .connected_us = agent->connected_us,
        .lost_us = agent->row.lost_us,
        .enabled = agent->row.enabled && !away,
        .draining = agent->row.draining || away,
        .slot_n = agent->slot_n,
        .disabled_reason = agent->row.disabled_reason,
        .label = agent->row.label,
        .slots_used = agent_slots_used(agent),
        .aux_used = agent_aux_used(agent),
        .has = agent->has,
        .held = agent_needs_held(agent),
        .revision = agent->revision,
    };
    LIST_FOREACH(k, &agent->containers, in_agent)
        ret->container_n++;
}

uint64_t core_agent_revision(const struct agent *agent)
{
    return agent->revision;
}

const char *core_agent_id(const struct agent *agent)
{
    return agent->row.id;
}

bool core_agent_next(const struct core *c, const struct agent **at, struct core_agent_view *ret)
{
    const struct agent *agent = !*at ? c->agents : (*at)->hh.next;
    while (agent && !is_visible(agent))
        agent = agent->hh.next;
    if (!agent)
        return false;
    if (ret)
        core_agent_view(agent, ret);
    *at = agent;
    return true;
}

static const struct agent *find_visible(const struct core *c, const char *agent_id)
{
    const struct agent *agent = agent_find(c, agent_id);
    return agent && is_visible(agent) ? agent : NULL;
}

bool core_agent_by_id(const struct core *c, const char *agent_id, struct core_agent_view *ret)
{
    const struct agent *agent = find_visible(c, agent_id);
    if (!agent)
        return false;
    core_agent_view(agent, ret);
    return true;
}

static bool is_draining(const struct agent *agent, int32_t device_id)
{
    for (int i = 0; i < agent->row.disabled_slot_n; i++)
        if (agent->row.disabled_slot[i] == device_id)
            return agent->row.slot_draining[i];
    return agent->row.draining;
}

static void fill_slot(const struct agent *agent, const struct slot *s, struct core_slot_view *ret)
{
    bool away = agent->presence != AGENT_CONNECTED;
    *ret = (struct core_slot_view){.device = &s->device,
                                   .enabled = slot_usable(agent, s) && !away,
                                   .draining = is_draining(agent, s->device.id) || away};
    const char *reason = slot_reason(agent, s->device.id);
    ret->reason = *reason || !s->device.lost ? reason : "its device does not answer";
    if (s->container) {
        ret->container_id = s->container->row.id;
        ret->allocation_id = s->container->row.allocation_id;
        ret->task_id = s->container->allocation->row.task_id;
        ret->container = &s->container->row;
    }
}

bool core_slot(const struct core *c, const char *agent_id, size_t index, struct core_slot_view *ret)
{
    const struct agent *agent = find_visible(c, agent_id);
    if (!agent || index >= agent->slot_n)
        return false;
    fill_slot(agent, &agent->slot[index], ret);
    return true;
}

size_t core_slots(const struct core *c, const char *agent_id, struct core_slot_view ret[CORE_DEVICES_MAX])
{
    const struct agent *agent = find_visible(c, agent_id);
    size_t n = 0;
    for (; agent && n < agent->slot_n; n++)
        fill_slot(agent, &agent->slot[n], &ret[n]);
    return n;
}

const struct container_row *core_agent_container(const struct core *c, const char *agent_id, size_t index)
{
    const struct agent *agent = find_visible(c, agent_id);
    const struct container *k;
    if (!agent)
        return NULL;
    LIST_FOREACH(k, &agent->containers, in_agent)
        if (index-- == 0)
            return &k->row;
    return NULL;
}

/* ---- pools and their queues -------------------------------------------------------------------------------------- */

size_t core_pool_n(const struct core *c)
{
    return c->pool_n;
}

bool core_pool(const struct core *c, size_t index, struct core_pool_view *ret)
{
    if (index >= c->pool_n)
        return false;
    const struct pool *p = &c->pool[index];
    *ret = (struct core_pool_view){.name = p->name};
    for (const struct agent *agent = c->agents; agent; agent = agent->hh.next) {
        if (agent->pool != p || !is_visible(agent))
            continue;
        ret->agent_n++;
        ret->slots += (int)agent->slot_n;
        ret->slots_used += agent_slots_used(agent);
        ret->aux_capacity += p->opts.max_aux_containers_per_agent;
        ret->aux_used += agent_aux_used(agent);
    }
    elastic_view(c, p, ret);
    return true;
}

static struct core_job_view job_in_sched(const struct sched_job *in_sched)
{
    return (struct core_job_view){.job_id = in_sched->job_id,
                                  .priority = in_sched->priority,
                                  .weight = in_sched->weight,
                                  .queue_position = in_sched->queue_position,
                                  .submitted_us = in_sched->submitted_us};
}

static void add_allocation(const struct allocation *al, struct core_job_view *job)
{
    bool placed = al->row.state != ALLOCATION_PENDING;
    job->requested_slots += al->row.slots;
    job->allocated_slots += placed ? al->row.slots : 0;
    job->scheduled = job->scheduled || placed;
}

/* Describes what an experiment asks for and what it has in one pool. */
static struct core_job_view job_of(const struct experiment *x, const struct pool *p, const struct sched_job *in_sched)
{
    struct core_job_view job = job_in_sched(in_sched);
    job.owner.experiment_id = x->row.id;
    job.leaving = x->pool != p;
    const struct trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment)
        if (t->allocation && t->allocation->pool == p)
            add_allocation(t->allocation, &job);
    return job;
}

/* Does the same for a launched task. */
static struct core_job_view job_of_task(const struct task *t, const struct sched_job *in_sched)
{
    struct core_job_view job = job_in_sched(in_sched);
    job.owner.task_id = t->row.id;
    add_allocation(t->allocation, &job);
    return job;
}

/* Returns an allocation of the experiment in its pool. If there is none, it returns one in a pool that the experiment
 * has left. NULL: the experiment has no allocation. */
static const struct allocation *in_line(const struct experiment *x)
{
    const struct allocation *elsewhere = NULL;
    const struct trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment) {
        if (!t->allocation)
            continue;
        if (t->allocation->pool == x->pool)
            return t->allocation;
        elsewhere = t->allocation;
    }
    return elsewhere;
}

static bool pool_has_queue(const struct pool *p)
{
    return sched_policy_type(p->opts.sched.policy)->has_queue;
}

bool core_job(const struct core *c, int32_t experiment_id, struct core_job_view *ret)
{
    const struct experiment *x = experiment_find(c, experiment_id);
    const struct allocation *al = !x || x->open_n == 0 ? NULL : in_line(x);
    if (!al)
        return false;
    *ret = job_of(x, al->pool, al->request.job);
    ret->jobs_ahead = pool_has_queue(al->pool) ? (int32_t)sched_jobs_ahead(al->request.job) : -1;
    return true;
}

/* The order of jobs in a pool whose jobs have no queue: first the jobs that run, then the others; in either group the
 * older job comes first. */
static int by_submission(const void *pa, const void *pb)
{
    const struct core_job_view *a = pa, *b = pb;
    if (a->scheduled != b->scheduled)
        return a->scheduled ? -1 : 1;
    if (a->submitted_us != b->submitted_us)
        return a->submitted_us < b->submitted_us ? -1 : 1;
    if (a->owner.experiment_id != b->owner.experiment_id)
        return a->owner.experiment_id < b->owner.experiment_id ? -1 : 1;
    return strcmp(a->job_id, b->job_id);
}

size_t core_queue(const struct core *c, const char *pool, struct arena *a, struct core_job_view **ret)
{
    const struct pool *p = pool_find(c, pool);
    size_t n = 0;
    if (!p)
        return 0;
    struct core_job_view *job = *ret = arena_array(a, struct core_job_view, sched_job_n(p->sched) + 1);
    for (const struct sched_job *in_sched = sched_first_job(p->sched); in_sched; in_sched = sched_next_job(in_sched)) {
        const struct job *one = container_of(in_sched, struct job, sched);
        const struct experiment *x = job_experiment(one);
        const struct task *t = x ? NULL : job_task(one);
        if (x)
            job[n++] = job_of(x, p, in_sched);
        else if (t && task_kind_is_launched(t->row.kind))
            job[n++] = job_of_task(t, in_sched);
    }
    if (!pool_has_queue(p))
        qsort(job, n, sizeof(*job), by_submission);
    for (size_t i = 0; i < n; i++)
        job[i].jobs_ahead = pool_has_queue(p) ? (int32_t)i : -1;
    return n;
}

/* ---- what long polls wait for ------------------------------------------------------------------------------------ */

enum core_answer core_preemption(const struct core *c, const char *allocation_id)
{
    const struct allocation *a = allocation_find(c, allocation_id);
    if (!a)
        return CORE_ANSWER_GONE;
    return a->row.preempt_deadline_us != 0 ? CORE_ANSWER_YES : CORE_ANSWER_WAIT;
}

enum core_answer core_rendezvous(const struct core *c, const char *allocation_id, struct arena *a,
                                 struct core_peer **ret, size_t *ret_n)
{
    const struct allocation *al = allocation_find(c, allocation_id);
    if (!al)
        return CORE_ANSWER_GONE;
    for (size_t i = 0; i < al->container_n; i++)
        if (al->container[i]->row.state < CONTAINER_STARTING)
            return CORE_ANSWER_WAIT;
    if (al->container_n == 0)
        return CORE_ANSWER_WAIT;
    struct core_peer *peer = arena_array(a, struct core_peer, al->container_n);
    for (size_t i = 0; i < al->container_n; i++) {
        const struct container_row *row = &al->container[i]->row;
        peer[i] = (struct core_peer){.container_id = row->id,
                                     .address = row->address,
                                     .rank = row->rank,
                                     .slots = row->device_n};
    }
    *ret = peer;
    *ret_n = al->container_n;
    return CORE_ANSWER_YES;
}

enum core_answer core_all_gather(const struct core *c, const char *allocation_id, const char *request_uuid,
                                 struct arena *a, const char *const **ret, size_t *ret_n)
{
    const struct allocation *al = allocation_find(c, allocation_id);
    if (!al)
        return CORE_ANSWER_GONE;
    const struct gather_round *round = gather_result(&al->gather, request_uuid);
    if (!round)
        return CORE_ANSWER_WAIT;
    const char **data = arena_array(a, const char *, round->n);
    for (size_t i = 0; i < round->n; i++)
        data[i] = arena_strdup(a, round->piece[i].data);
    *ret = data;
    *ret_n = round->n;
    return CORE_ANSWER_YES;
}
