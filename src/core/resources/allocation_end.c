/* How an allocation ends: it is preempted, or killed, or its last container has ended. */
#include "core/resources/allocation_internal.h"

#include <signal.h>

#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/config/schema.h"

#include "core/resources/rm.h"
#include "core/state/step.h"

/* ---- ending it early --------------------------------------------------------------------------------------------- */

static int32_t preemption_timeout_s(const struct allocation *a)
{
    return a->trial ? a->trial->experiment->spec.preemption_timeout_s : a->task->launched.preemption_timeout_s;
}

int64_t allocation_preemption_timeout_us(const struct allocation *a)
{
    return (int64_t)preemption_timeout_s(a) * 1000000;
}

static void signal_live(struct core *c, struct allocation *a, int signal)
{
    for (size_t i = 0; i < a->container_n; i++)
        if (container_is_live(a->container[i]))
            a->pool->rm->signal(c, a->container[i], signal);
}

void allocation_kill_containers(struct core *c, struct allocation *a)
{
    a->killed_us = c->now_us;
    a->pool->rm->leaving(a);
    allocation_raise_state(c, a, ALLOCATION_TERMINATING);
    timer_clear(&c->timers, &a->preempt_deadline);
    timer_clear(&c->timers, &a->task_timer);
    timer_clear(&c->timers, &a->max_time);
    timer_set(&c->timers, &a->kill_again, TIMER_KILL_AGAIN, c->now_us + ALLOCATION_KILL_AGAIN_US);
    signal_live(c, a, SIGKILL);
}

void allocation_kill(struct core *c, struct allocation *a, const char *reason)
{
    if (!allocation_is_open(a))
        return;
    if (a->container_n == 0) {
        allocation_end(c, a, EXIT_ABORTED, 0, reason);
        return;
    }
    int64_t since_us = c->now_us - a->killed_us; /* below 0 when the clock was set back */
    if (a->killed_us != 0 && since_us >= 0 && since_us < ALLOCATION_KILL_DEBOUNCE_US)
        return;
    a->row.killed = true;
    record_touch(c, &a->record);
    task_log(c, a, false, "forcibly killing allocation's remaining resources (reason: %s)", reason);
    allocation_kill_containers(c, a);
}

void allocation_terminate(struct core *c, struct allocation *a, const char *reason)
{
    if (!allocation_is_open(a))
        return;
    if (!a->trial && !task_is_pausable(a->task)) { /* such a task could not go on later */
        allocation_kill(c, a, reason);
        return;
    }
    if (!a->row.ready || a->container_n == 0) {
        if (a->task && a->row.preempt_deadline_us == 0)
            a->row.preempt_deadline_us = c->now_us; /* so that its end is known to be an interruption */
        allocation_kill(c, a, reason);
        return;
    }
    if (a->row.preempt_deadline_us != 0 || a->killed_us != 0)
        return;
    a->row.preempt_deadline_us = c->now_us + allocation_preemption_timeout_us(a);
    a->pool->rm->leaving(a);
    record_touch(c, &a->record);
    timer_set(&c->timers, &a->preempt_deadline, TIMER_PREEMPT_DEADLINE, a->row.preempt_deadline_us);
    task_log(c, a, false, "gracefully terminating allocation's remaining resources (reason: %s)", reason);
    wake_long_polls(c, a, CORE_WAKE_PREEMPTION);
}

static void preempt_deadline_passed(struct core *c, struct allocation *a)
{
    char reason[64];
    snprintf(reason, sizeof(reason), "allocation did not preempt in %ds", preemption_timeout_s(a));
    allocation_kill(c, a, reason);
}

/* A generic task that is ended because nobody uses it has not failed: it is canceled, as by a user. */
static void cancel_generic(struct core *c, struct task *t)
{
    if (t->row.kind != TASK_KIND_GENERIC || t->launched.state != GENERIC_ACTIVE)
        return;
    t->launched.state = GENERIC_STOPPING_CANCELED;
    record_touch(c, &t->launched_record);
}

/* Ends a task that was not used for as long as its idle_timeout allows, or looks again when that may be so. */
static void look_whether_idle(struct core *c, struct allocation *a)
{
    const struct task *t = a->task;
    cleanup_strbuf struct strbuf reason = STRBUF_INIT;
    if (t->used_us + t->launched.idle_timeout_us > c->now_us) {
        allocation_watch_idle(c, a);
        return;
    }
    strbuf_adds(&reason, "idle for more than ");
    duration_format(t->launched.idle_timeout_us * 1000, &reason);
    strbuf_adds(&reason, ": service is inactive");
    cancel_generic(c, a->task);
    allocation_kill(c, a, strbuf_str(&reason));
}

/* The first limit counts: a run that is being stopped may go over another one while it saves its state. */
void allocation_stop(struct core *c, struct allocation *a, enum run_limit limit, const char *reason)
{
    if (a->row.over_limit != RUN_LIMIT_NONE)
        return;
    a->row.over_limit = limit;
    record_touch(c, &a->record);
    if (a->task)
        cancel_generic(c, a->task);
    allocation_terminate(c, a, reason);
}

/* The first call warns the task that its max_time will soon be over. The second call stops it. */
static void max_time_is_due(struct core *c, struct allocation *a)
{
    int64_t max_us = allocation_max_time_us(a), notice_us = max_us / 10;
    cleanup_strbuf struct strbuf max = STRBUF_INIT, left = STRBUF_INIT, reason = STRBUF_INIT;
    duration_format(max_us * 1000, &max);
    if (!a->warned_of_max_time) {
        notice_us = notice_us > ALLOCATION_NOTICE_MAX_US ? ALLOCATION_NOTICE_MAX_US : notice_us;
        duration_format(notice_us * 1000, &left);
        task_log(c, a, false, "warning: this run will be stopped in %s, when it has taken %s (resources.max_time)",
                 strbuf_str(&left), strbuf_str(&max));
        a->warned_of_max_time = true;
        timer_set(&c->timers, &a->max_time, TIMER_MAX_TIME, c->now_us + notice_us);
        return;
    }
    strbuf_addf(&reason, "it has run for %s, which is its resources.max_time", strbuf_str(&max));
    allocation_stop(c, a, RUN_LIMIT_MAX_TIME, strbuf_str(&reason));
}

void allocation_timer(struct core *c, struct timer *t)
{
    if (t->kind == TIMER_PREEMPT_DEADLINE)
        preempt_deadline_passed(c, container_of(t, struct allocation, preempt_deadline));
    else if (t->kind == TIMER_TASK_LIMIT)
        allocation_kill(c, container_of(t, struct allocation, task_timer), "the task took longer than an hour");
    else if (t->kind == TIMER_MAX_TIME)
        max_time_is_due(c, container_of(t, struct allocation, max_time));
    else if (t->kind == TIMER_TASK_IDLE)
        look_whether_idle(c, container_of(t, struct allocation, task_timer));
    else
        allocation_kill_containers(c, container_of(t, struct allocation, kill_again));
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Returns the sentence that describes how the allocation ended. Tools and people search the logs of tasks for these
 * sentences, so the sentences must not change. */
static const char *end_text(const struct allocation *a)
{
    if (a->row.exit_kind != EXIT_OK)
        return exit_kind_text(a->row.exit_kind);
    return a->row.preempt_acked ? "allocation preempted" : "resources exited successfully with a zero exit code";
}

static void log_end(struct core *c, const struct allocation *a, const char *text)
{
    enum exit_kind kind = a->row.exit_kind;
    const char *words = text ? text : "";
    const char *colon = words[0] != '\0' ? ": " : "";
    if (kind == EXIT_FAILED)
        task_log(c, a, true, "crashed: resources failed with non-zero exit code: %s: %d%s%s", exit_kind_text(kind),
                 a->row.exit_code, colon, words);
    else if (kind != EXIT_OK && kind != EXIT_KILLED && kind != EXIT_ABORTED)
        task_log(c, a, true, "crashed: %s%s%s", exit_kind_text(kind), colon, words);
    else
        task_log(c, a, false, "%s was terminated: %s", allocation_name(c, a), end_text(a));
}

static void unlink_containers(struct core *c, struct allocation *a)
{
    for (size_t i = 0; i < a->container_n; i++) {
        struct container *k = a->container[i];
        if (container_is_live(k)) {
            k->row.exit_kind = a->row.exit_kind;
            container_set_state(c, k, CONTAINER_TERMINATED);
            a->pool->rm->released(c, k);
        }
        HASH_DEL(c->containers, k);
    }
}

static void unlink_allocation(struct core *c, struct allocation *a)
{
    timer_clear(&c->timers, &a->preempt_deadline);
    timer_clear(&c->timers, &a->task_timer);
    timer_clear(&c->timers, &a->max_time);
    timer_clear(&c->timers, &a->kill_again);
    ports_give_back(&c->ports, a->row.port);
    unlink_containers(c, a);
    pool_remove(a->pool, a);
    HASH_DEL(c->allocations, a);
}

/* Keeps the run time of an allocation, from which the start of waiting jobs is estimated. The run time of an allocation
 * that was preempted does not say how long a run takes, and an allocation without slots keeps no job waiting. */
static void keep_run_time(struct allocation *a)
{
    if (a->row.exit_kind == EXIT_OK && !a->row.preempt_acked && a->row.slots > 0 && a->row.start_us != 0 &&
        a->row.end_us > a->row.start_us)
        run_times_add(&a->pool->run_times, a->row.end_us - a->row.start_us);
}

void allocation_end(struct core *c, struct allocation *a, enum exit_kind kind, int32_t code, const char *text)
{
    a->row.exit_kind = kind;
    a->row.exit_code = code;
    a->row.end_us = c->now_us;
    if (!a->exit_text && text)
        a->exit_text = must_strdup(text);
    keep_run_time(a);
    allocation_raise_state(c, a, ALLOCATION_TERMINATED);
    log_end(c, a, text);
    wake_long_polls(c, a, CORE_WAKE_PREEMPTION);
    wake_long_polls(c, a, CORE_WAKE_RENDEZVOUS);
    wake_long_polls(c, a, CORE_WAKE_ALL_GATHER);
    effect_add(c, CORE_END_SESSIONS)->allocation_id = arena_strdup(&c->out->arena, a->row.id);
    unlink_allocation(c, a);
    fact_add(c, (struct fact){FACT_ALLOCATION_ENDED, .allocation = a});
}
