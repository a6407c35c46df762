#include "core/restore.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "core/experiments/experiment.h"
#include "core/experiments/generic_task.h"
#include "core/experiments/task.h"
#include "core/experiments/trial.h"
#include "core/resources/agents.h"
#include "core/resources/allocation.h"
#include "core/resources/quotas.h"
#include "core/resources/rm.h"
#include "core/state/step.h"

static void restore_agents(struct core *c, const struct core_rows *rows)
{
    for (size_t i = 0; i < rows->agent_n; i++)
        if (!agent_find(c, rows->agent[i].id))
            agent_restore(c, &rows->agent[i]);
}

/* Waits for each agent on the list that was not lost before the restart, whether anything ran on it or not. Such an
 * agent comes back, or is lost when its time is over. An agent that is not on the list is waited for only if something
 * ran on it (restore_containers). Agents of elastic pools are left out, because the provider's list says which of them
 * there are. */
static void await_agents(struct core *c)
{
    for (struct agent *agent = c->agents; agent; agent = agent->hh.next)
        if (agent->presence == AGENT_GONE && agent->row.listed && agent->row.lost_us == 0 && !agent->row.instance)
            agent_await(c, agent);
}

/* Ends a stored allocation whose trial or task is not there any more. */
static void close_stale(struct core *c, const struct allocation_row *row)
{
    struct allocation_row *closed = arena_dup(&c->out->arena, row, sizeof(*row));
    if (sm_type_allows(&allocation_sm, row->state, ALLOCATION_TERMINATED))
        closed->state = ALLOCATION_TERMINATED;
    closed->end_us = c->now_us;
    closed->exit_kind = EXIT_RESTORE_ERROR;
    effect_add(c, CORE_PUT_ALLOCATION)->allocation = closed;
    effect_add(c, CORE_END_SESSIONS)->allocation_id = closed->id;
}

static size_t open_of(const struct core_rows *rows, int32_t trial_id)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->allocation_n; i++)
        n += rows->allocation[i].trial_id == trial_id;
    return n;
}

/* Gives the allocation to its task of its own. Returns false if there is no such task, or if the task has an allocation
 * already. */
static bool restore_for_task(struct core *c, const struct allocation_row *row)
{
    struct task *t = task_find(c, row->task_id);
    if (!t || t->allocation || !pool_find(c, row->pool) || !task_can_go_on(t))
        return false;
    allocation_restore(c, NULL, t, row);
    return true;
}

/* Gives each trial its open allocation if it has exactly one. If it has several, nobody knows which one is right, so
 * all of them end. */
static void restore_allocations(struct core *c, const struct core_rows *rows)
{
    for (size_t i = 0; i < rows->allocation_n; i++) {
        const struct allocation_row *row = &rows->allocation[i];
        if (row->trial_id == 0 && restore_for_task(c, row))
            continue;
        struct trial *t = trial_find(c, row->trial_id);
        bool usable = t && !run_state_is_terminal(t->row.state) && pool_find(c, row->pool);
        if (usable && open_of(rows, row->trial_id) == 1)
            allocation_restore(c, t, NULL, row);
        else
            close_stale(c, row);
    }
}

static struct agent *agent_of(struct core *c, const struct container_row *row)
{
    struct agent *agent = agent_find(c, row->agent_id);
    if (agent)
        return agent;
    struct agent_row missing = {.enabled = true};
    memcpy(missing.id, row->agent_id, sizeof(missing.id));
    agent = agent_restore(c, &missing);
    agent->record.stored = false;
    record_touch(c, &agent->record);
    return agent;
}

static void close_container(struct core *c, const struct container_row *row)
{
    struct container_row *closed = arena_dup(&c->out->arena, row, sizeof(*row));
    if (sm_type_allows(&container_sm, row->state, CONTAINER_TERMINATED))
        closed->state = CONTAINER_TERMINATED;
    closed->exit_kind = EXIT_RESTORE_ERROR;
    effect_add(c, CORE_PUT_CONTAINER)->container = closed;
}

static void restore_containers(struct core *c, const struct core_rows *rows)
{
    for (size_t i = 0; i < rows->container_n; i++) {
        const struct container_row *row = &rows->container[i];
        struct allocation *a = allocation_find(c, row->allocation_id);
        if (!a) {
            if (row->state != CONTAINER_TERMINATED)
                close_container(c, row);
            continue;
        }
        struct container *k = container_restore(c, a, row);
        if (row->state == CONTAINER_TERMINATED)
            continue;
        k->agent = agent_of(c, row);
        LIST_INSERT_HEAD(&k->agent->containers, k, in_agent);
        agent_revised(c, k->agent);
        if (k->agent->presence == AGENT_GONE)
            agent_await(c, k->agent);
    }
}

static void resume_allocations(struct core *c)
{
    struct allocation *a, *next;
    for (a = c->allocations; a; a = next) {
        next = a->hh.next;
        allocation_resume(c, a);
    }
}

static void resume_tasks(struct core *c)
{
    struct task *t, *next;
    for (t = c->tasks; t; t = next) {
        next = t->hh.next;
        if (t->row.kind == TASK_KIND_GENERIC)
            generic_resume(c, t);
        else
            task_resume(c, t);
    }
}

static void resume_experiments(struct core *c)
{
    struct experiment *x, *next;
    for (x = c->experiments; x; x = next) {
        next = x->hh.next;
        experiment_resume(c, x);
    }
}

/* An experiment that cannot be restored, with the reason. */
struct broken {
    struct experiment *experiment;
    struct error error;
};

static size_t restore_experiments(struct core *c, const struct core_rows *rows, struct broken *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->experiment_n; i++)
        if (experiment_restore(c, &rows->experiment[i], &ret[n].experiment, &ret[n].error) < 0)
            n++;
    return n;
}

/* Restores trials. An experiment cannot be restored if its searcher does not know one of its trials; such an experiment
 * is noted once. */
static size_t restore_trials(struct core *c, const struct core_rows *rows, struct broken *broken, size_t broken_n)
{
    size_t n = broken_n;
    for (size_t i = 0; i < rows->trial_n; i++) {
        struct experiment *x = experiment_find(c, rows->trial[i].experiment_id);
        if (!x)
            continue;
        struct trial *t = trial_restore(c, x, &rows->trial[i]);
        bool known_to_be_broken = false;
        for (size_t k = 0; k < n; k++)
            known_to_be_broken = known_to_be_broken || broken[k].experiment == x;
        if (!known_to_be_broken && experiment_restore_trial(x, t, &broken[n].error) < 0)
            broken[n++].experiment = x;
    }
    return n;
}

static void fail_broken(struct core *c, struct broken *broken, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        experiment_fail(c, broken[i].experiment, error_msg(&broken[i].error));
        error_release(&broken[i].error);
    }
}

static void restore_run_times(struct core *c, const struct core_rows *rows)
{
    for (size_t i = 0; i < rows->run_time_n; i++) {
        struct pool *p = pool_find(c, rows->run_time[i].pool);
        if (p && rows->run_time[i].us > 0)
            run_times_add(&p->run_times, rows->run_time[i].us);
    }
}

void restore_all(struct core *c, const struct core_rows *rows)
{
    cleanup_free struct broken *broken = must_calloc(rows->experiment_n + 1, sizeof(*broken));
    c->last_experiment_id = rows->last_experiment_id;
    c->last_trial_id = rows->last_trial_id;
    restore_run_times(c, rows);
    quotas_restore(c, rows);
    restore_agents(c, rows);
    size_t broken_n = restore_experiments(c, rows, broken);
    broken_n = restore_trials(c, rows, broken, broken_n);
    for (size_t i = 0; i < rows->task_n; i++)
        task_restore(c, &rows->task[i]);
    for (size_t i = 0; i < rows->launched_n; i++)
        task_restore_launched(c, &rows->launched[i]);
    restore_allocations(c, rows);
    restore_containers(c, rows);
    await_agents(c);
    fail_broken(c, broken, broken_n);
    resume_allocations(c);
    resume_tasks(c);
    resume_experiments(c);
}
