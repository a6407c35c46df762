#include "core/core.h"

#include <stdlib.h>

#include "common/base/must.h"
#include "core/experiments/experiment.h"
#include "core/experiments/generic_task.h"
#include "core/experiments/task.h"
#include "core/experiments/trial.h"
#include "core/queue/queue_change.h"
#include "core/resources/agents.h"
#include "core/resources/allocation.h"
#include "core/resources/elastic.h"
#include "core/resources/gang_probe.h"
#include "core/resources/instances.h"
#include "core/resources/pools.h"
#include "core/resources/quotas.h"
#include "core/resources/rm.h"
#include "core/resources/slot_use.h"
#include "core/restore.h"
#include "core/state/ids.h"
#include "core/state/objects.h"
#include "core/state/step.h"

struct core *core_new(const struct core_opts *opts)
{
    struct core *c = must_calloc(1, sizeof(*c));
    c->id_state = opts->seed;
    c->agent_reconnect_wait_us = opts->agent_reconnect_wait_us;
    c->restore_wait_us = opts->restore_wait_us;
    c->quarantine = opts->quarantine;
    STAILQ_INIT(&c->puts);
    STAILQ_INIT(&c->facts);
    STAILQ_INIT(&c->searchers_touched);
    ports_init(&c->ports, opts->reserved_port, opts->reserved_port_n);
    pools_init(c, opts, &rm_agents);
    return c;
}

void core_free(struct core *c)
{
    if (!c)
        return;
    struct allocation *a, *next_a;
    HASH_ITER(hh, c->allocations, a, next_a) {
        for (size_t i = 0; i < a->container_n; i++)
            HASH_DEL(c->containers, a->container[i]);
        pool_remove(a->pool, a);
        HASH_DEL(c->allocations, a);
        allocation_free(c, a);
    }
    HASH_CLEAR(by_job, c->task_jobs);
    struct task *t, *next_t;
    HASH_ITER(hh, c->tasks, t, next_t) {
        HASH_DEL(c->tasks, t);
        task_free(c, t);
    }
    struct experiment *x, *next_x;
    HASH_ITER(hh, c->experiments, x, next_x) {
        HASH_DEL(c->experiments, x);
        HASH_DELETE(by_job, c->jobs, x);
        experiment_free(c, x);
    }
    pools_free(c); /* schedulers refer to agents and quotas, so they are freed first */
    quotas_free(c);
    struct agent *agent, *next_agent;
    HASH_ITER(hh, c->agents, agent, next_agent) {
        HASH_DEL(c->agents, agent);
        agent_free(c, agent);
    }
    timers_release(&c->timers);
    free(c);
}

static void tell_allocation_ended(struct core *c, struct allocation *a)
{
    if (a->trial)
        trial_allocation_ended(c, a->trial, &a->row);
    else if (a->task->row.kind == TASK_KIND_GENERIC)
        generic_allocation_ended(c, a->task, &a->row);
    else
        task_allocation_ended(c, a->task);
    allocation_free(c, a);
}

static void tell_fact(struct core *c, const struct fact *fact)
{
    switch (fact->type) {
    case FACT_ALLOCATION_ENDED:
        tell_allocation_ended(c, fact->allocation);
        return;
    case FACT_TRIAL_FAILED:
        experiment_note_failure(fact->trial->experiment, "%s", fact->text);
        return;
    case FACT_TRIAL_INVALID_HP:
        experiment_trial_invalid_hp(c, fact->trial);
        return;
    case FACT_TRIAL_ENDED:
        experiment_trial_ended(c, fact->trial);
        return;
    case FACT_EXPERIMENT_ENDED:
        experiment_free(c, fact->experiment);
        return;
    case FACT_MACHINE_GONE:
        agent_forget(c, fact->agent);
        return;
    }
}

/* Tells all facts that have been noted. Returns false if there were none. */
static bool tell_facts(struct core *c)
{
    struct fact fact;
    bool any = false;
    while (fact_take(c, &fact)) {
        tell_fact(c, &fact);
        any = true;
    }
    return any;
}

static void fire_timer(struct core *c, struct timer *t)
{
    switch (t->kind) {
    case TIMER_AGENT_LOST:
        agent_timer(c, t);
        return;
    case TIMER_PREEMPT_DEADLINE:
    case TIMER_KILL_AGAIN:
    case TIMER_TASK_LIMIT:
    case TIMER_TASK_IDLE:
    case TIMER_MAX_TIME:
        allocation_timer(c, t);
        return;
    case TIMER_TRIAL_INVALID_HP:
    case TIMER_TRIAL_RETRY:
        trial_timer(c, t);
        return;
    case TIMER_POOL_PASS:
        pool_timer(t);
        return;
    case TIMER_POOL_SCALE:
        elastic_timer(t);
        return;
    case TIMER_INSTANCE:
        instance_timer(t);
        return;
    }
}

static void fire_timers(struct core *c)
{
    struct timer *t;
    while ((t = timers_take_due(&c->timers, c->now_us))) {
        fire_timer(c, t);
        tell_facts(c);
    }
}

static int new_id(struct core *c, enum core_event_type type)
{
    char job_id[CORE_UUID_MAX];
    if (type == CORE_NEW_TRIAL_ID) {
        c->out->trial_id = ++c->last_trial_id;
        return 0;
    }
    new_uuid(c, job_id);
    c->out->experiment_id = ++c->last_experiment_id;
    c->out->job_id = arena_strdup(&c->out->arena, job_id);
    return 0;
}

/* There is one case for each event, because the compiler refuses a switch that does not name them all. */
static int dispatch_event(struct core *c, const struct core_event *ev, struct error *err)
{
    switch (ev->type) {
    /* These events are requests of users. */
    case CORE_EXPERIMENT_CREATE:
        return experiment_create(c, ev->create.spec, ev->create.activate, err);
    case CORE_EXPERIMENT_CONTINUE:
        return experiment_continue(c, ev, err);
    case CORE_EXPERIMENT_ACTIVATE:
        return experiment_activate(c, ev->experiment_id, err);
    case CORE_EXPERIMENT_PAUSE:
        return experiment_pause(c, ev->experiment_id, err);
    case CORE_EXPERIMENT_CANCEL:
        return experiment_cancel(c, ev->experiment_id, err);
    case CORE_EXPERIMENT_KILL:
        return experiment_kill(c, ev->experiment_id, err);
    case CORE_EXPERIMENT_RESOURCES:
        return experiment_set_resources(c, ev->resources.experiment_id, ev->resources.patch, err);
    case CORE_TRIAL_KILL:
        return trial_kill(c, ev->trial_id, err);
    case CORE_QUEUE_CHANGE:
        return queue_change(c, ev, err);
    case CORE_TASK_CREATE:
        return task_create(c, ev->task, err);
    case CORE_TASK_KILL:
        return task_kill(c, ev->task_id, err);
    case CORE_GENERIC_CHANGE:
        return generic_change(c, ev, err);
    case CORE_AGENT_ENABLE:
        return agent_enable(c, ev->enable.agent_id, ev->enable.enable, ev->enable.drain, ev->enable.reason, err);
    case CORE_SLOT_ENABLE:
        return slot_enable(c, ev->enable.agent_id, ev->enable.slot, ev->enable.enable, ev->enable.drain, err);
    case CORE_AGENT_REMOVE:
        return agent_remove(c, ev->remove_agent, err);
    case CORE_AGENT_LABEL:
        return agent_label(c, ev->label.agent_id, ev->label.text, err);

    /* These events are about agents and machines. */
    case CORE_AGENT_CONNECTED:
        return agent_connected(c, ev, err);
    case CORE_AGENT_DISCONNECTED:
        agent_disconnected(c, ev->agent.agent_id);
        return 0;
    case CORE_AGENT_DEVICES:
        agent_devices_changed(c, ev);
        return 0;
    case CORE_AGENT_USE:
        slot_use_told(c, ev);
        return 0;
    case CORE_CONTAINER_CHANGED:
        agent_container_changed(c, ev->container.agent_id, &ev->container.report);
        return 0;
    case CORE_INSTANCES_LISTED:
        return elastic_listed(c, ev, err);

    /* These events are about tasks. */
    case CORE_ALLOCATION_READY:
        return allocation_ready(c, ev->allocation.allocation_id, err);
    case CORE_ALLOCATION_WAITING:
        return allocation_waiting(c, ev->allocation.allocation_id, err);
    case CORE_PREEMPTION_ACKED:
        return allocation_preempt_acked(c, ev->allocation.allocation_id, err);
    case CORE_PREEMPTION_PENDING:
        return allocation_preempt_pending(c, ev->allocation.allocation_id, err);
    case CORE_CONTAINER_DAEMON:
        return allocation_daemon(c, ev->allocation.allocation_id, ev->allocation.container_id, err);
    case CORE_ALL_GATHER:
        return allocation_gather(c, ev, err);
    case CORE_GANG_PROBED:
        return gang_probed(c, ev, err);
    case CORE_QUOTA_SET:
        return quota_set(c, ev->quota, err);
    case CORE_QUOTA_FOLLOW:
        quota_follow(c, ev);
        return 0;
    case CORE_TASK_USED:
        task_used(c, ev->task_id);
        return 0;
    case CORE_TRIAL_PROGRESS:
        experiment_trial_progress(c, ev->progress.trial_id, ev->progress.progress);
        return 0;
    case CORE_TRIAL_VALIDATED:
        experiment_validated(c, ev->validated.trial_id, ev->validated.metrics);
        return 0;
    case CORE_TRIAL_OPERATION_COMPLETED:
        return experiment_operation_completed(c, ev->operation.trial_id, ev->operation.length, ev->operation.metric,
                                              err);
    case CORE_TRIAL_EARLY_EXIT:
        return trial_early_exit(c, ev->early_exit.trial_id, ev->early_exit.reason, err);
    case CORE_TRIAL_CHECKPOINTED:
        trial_checkpointed(c, ev->checkpoint.trial_id, ev->checkpoint.uuid, ev->checkpoint.steps_completed);
        return 0;
    case CORE_TRIAL_LOG_MATCHED:
        trial_log_matched(c, ev->log_matched.trial_id, ev->log_matched.policy, ev->log_matched.agent_id,
                          ev->log_matched.action);
        return 0;

    /* These events are about ids and time. */
    case CORE_NEW_EXPERIMENT_ID:
    case CORE_NEW_TRIAL_ID:
        return new_id(c, ev->type);
    case CORE_TIMER:
        fire_timers(c);
        return 0;
    case CORE_EVENT_NR:
        break;
    }
    return error_set(err, ERR_INTERNAL, "the core has no event %d", (int)ev->type);
}

/* Ends a step. Scheduling comes after everything else, so that it sees all that the step has changed. Rows are put
 * after scheduling, so that each is put once, as it is at the end of the step. */
static void finish_step(struct core *c)
{
    tell_facts(c);
    do
        pools_turn(c);
    while (tell_facts(c));
    experiments_save_searchers(c);
    effects_put_touched(c);
    c->out->next_timer_us = timers_next_us(&c->timers);
    c->out = NULL;
}

int core_step(struct core *c, const struct core_event *ev, struct core_effects *ret, struct error *err)
{
    c->now_us = ev->now_us;
    c->out = ret;
    c->by = ev->by;
    int rv = dispatch_event(c, ev, err);
    finish_step(c);
    c->by = (struct core_actor){0};
    return rv;
}

void core_clock_set(struct core *c, int64_t by_us)
{
    timers_shift(&c->timers, by_us);
    elastic_clock_set(c, by_us);
    task_clock_set(c, by_us);
}

int core_restore(struct core *c, const struct core_rows *rows, int64_t now_us, struct core_effects *ret,
                 struct error *err)
{
    if (c->experiments || c->agents)
        return error_set(err, ERR_INTERNAL, "the core was in use before it was restored");
    c->now_us = now_us;
    c->out = ret;
    c->settled_us = now_us + c->restore_wait_us;
    restore_all(c, rows);
    elastic_restored(c);
    finish_step(c);
    return 0;
}
