/* Steps of the core and what follows from them. Rows first, in one write job a step; everything else waits for that
 * job's commit, in the order of the steps. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/pipeline/author.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/wait.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "master/logs/log_sealer.h"
#include "master/master.h"
#include "master/pools/provisioner.h"
#include "master/removal/collector.h"
#include "master/removal/deletions.h"
#include "master/webhooks/webhook_sender.h"
#include "net/loop/loop.h"
#include "store/changes/changes.h"
#include "store/functions.h"

#define CLOCK_JUMP_US 1000000 /* a smaller change of the clock counts as drift */

struct step {
    struct master *m;
    struct core_effects effects;
    struct companion companion;
    struct start **start; /* one for each effect that starts a container, in their order */
    size_t start_n, sent_n;
    int64_t now_us;
    char *author; /* of what the step changes, for the audit log; NULL: no person's request has led to the step */
};

/* Runs what the step stores, in the name of its author. */
static int store_as_author(struct store *db, struct step *s,
                           int (*store)(struct store *, struct step *, struct error *), struct error *err)
{
    if (!s->author)
        return store(db, s, err);
    int rc = store_act_as(db, s->author, err);
    if (rc == 0)
        rc = store(db, s, err);
    return store_act_as(db, NULL, rc < 0 ? NULL : err) < 0 ? -1 : rc;
}

static int companion_of(struct store *db, struct step *s, struct error *err)
{
    return s->companion.store(db, s->companion.ctx, err);
}

static int rows_of(struct store *db, struct step *s, struct error *err)
{
    return persist_effects(db, &s->effects, s->now_us, s->m->info.webhook_base_url, err);
}

static int store_companion(struct store *db, void *job, struct error *err)
{
    return store_as_author(db, job, companion_of, err);
}

static void companion_done(void *job, const struct error *err)
{
    struct step *s = job;
    s->companion.done(s->companion.ctx, err);
}

static int store_rows(struct store *db, void *job, struct error *err)
{
    return store_as_author(db, job, rows_of, err);
}

/* Called when the rows of a step have been stored, or not. If they cannot be stored, the master ends: otherwise it
 * would act on decisions that are not known after a restart. */
static void rows_done(void *job, const struct error *err)
{
    if (!err)
        return;
    log_error("store.rejected", "reason=%s action=exit", log_quote(error_msg(err)));
    abort();
}

static int delete_sessions(struct store *db, void *job, struct error *err)
{
    return store_sessions_delete_of_allocation(db, job, err);
}

static void free_job(void *job, const struct error *err)
{
    if (err)
        log_warning("session.delete_failed", "allocation=%s reason=%s", (char *)job, log_quote(error_msg(err)));
    free(job);
}

static void end_sessions(struct master *m, const char *allocation_id)
{
    identities_drop_sessions_of_allocation(api_identities(m->api), allocation_id);
    struct writer_job job = {delete_sessions, free_job, must_strdup(allocation_id)};
    writer_submit(m->writer, &job, 1);
}

static void wake_allocation(struct master *m, enum core_wake what, const char *allocation_id)
{
    static const char *const kind[] = {[CORE_WAKE_PREEMPTION] = "preemption",
                                       [CORE_WAKE_RENDEZVOUS] = "rendezvous",
                                       [CORE_WAKE_ALL_GATHER] = "gather"};
    char topic[WAIT_TOPIC_MAX];
    wait_topic(topic, kind[what], allocation_id);
    api_wake(m->api, topic);
}

static void wake_number(struct master *m, const char *kind, int32_t id)
{
    char text[16], topic[WAIT_TOPIC_MAX];
    snprintf(text, sizeof(text), "%d", id);
    wait_topic(topic, kind, text);
    api_wake(m->api, topic);
}

static void log_experiment_state(const struct core_effect *e)
{
    const char *by = e->state.by.name;
    log_info("experiment.state", "exp=%d from=%s to=%s%s%s", e->state.experiment_id, run_state_name(e->state.from),
             run_state_name(e->state.to), by ? " by=" : "", by ? log_quote(by) : "");
}

static void carry_out_effect(struct step *s, const struct core_effect *e)
{
    struct master *m = s->m;
    switch (e->type) {
    case CORE_TASK_LOG:
        api_log_stored_by_core(m->api, e->log.task_id, strlen(e->log.text));
        return;
    case CORE_START_CONTAINER:
        start_send(s->start[s->sent_n++]);
        return;
    case CORE_SIGNAL_CONTAINER:
        agent_hub_signal(m->agents, e->signal.agent_id, e->signal.container_id, e->signal.signal);
        return;
    case CORE_ACK_CONTAINER:
        agent_hub_ack(m->agents, e->ack.agent_id, e->ack.container_id, e->ack.state);
        return;
    case CORE_WELCOME_AGENT:
        agent_hub_welcome(m->agents, e->welcome.agent_id, e->welcome.container_id, e->welcome.container_n);
        return;
    case CORE_WAKE:
        wake_allocation(m, e->wake.what, e->wake.allocation_id);
        return;
    case CORE_END_SESSIONS:
        end_sessions(m, e->allocation_id);
        return;
    case CORE_EXPERIMENT_STATE:
        log_experiment_state(e);
        wake_number(m, "experiment", e->state.experiment_id);
        webhook_sender_wake(m->webhooks);
        return;
    case CORE_ORDER_INSTANCES:
        provisioner_order(m->provisioner, e);
        return;
    case CORE_TASK_ENDED:
        collector_wake(m->collector);
        deletions_look_again(m->deletions);
        return;
    case CORE_EXPERIMENT_ENDED:
        wake_number(m, "experiment", e->experiment_id);
        collector_wake(m->collector);
        return;
    default:
        return; /* the rows have been stored already */
    }
}

static void step_free(struct step *s)
{
    core_effects_release(&s->effects);
    free(s->author);
    free(s->start);
    free(s);
}

/* Ends the followers of the logs of tasks that have ended. This is done after all other effects: a task's row comes
 * before the last log lines that the core has written in the same step, and the followers have to get these lines
 * first. */
static void close_logs(struct step *s)
{
    for (size_t i = 0; i < s->effects.n; i++) {
        const struct core_effect *e = &s->effects.item[i];
        if (e->type != CORE_PUT_TASK || e->task->end_us == 0)
            continue;
        api_log_ended(s->m->api, e->task->id);
        sealer_ended(s->m->log_sealer, e->task->id);
    }
}

static void carry_out_all(void *ctx)
{
    struct step *s = ctx;
    for (size_t i = 0; i < s->effects.n; i++)
        carry_out_effect(s, &s->effects.item[i]);
    close_logs(s);
    step_free(s);
}

static bool has_rows(const struct core_effects *e)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->item[i].type <= CORE_TASK_LOG)
            return true;
    return false;
}

/* Prepares the starts of containers. What an agent needs to start a task is written together with the rows of the step.
 * So there is one commit instead of two, and a signal of a later step cannot be sent before the start. */
static void prepare_starts(struct step *s)
{
    s->start = must_calloc(s->effects.n + 1, sizeof(struct start *));
    for (size_t i = 0; i < s->effects.n; i++)
        if (s->effects.item[i].type == CORE_START_CONTAINER)
            s->start[s->start_n++] = start_prepare(s->m, &s->effects.item[i].start);
}

static void arm_timer(struct master *m, int64_t next_us, int64_t now_us)
{
    if (next_us)
        loop_timer_arm(m->core_timer, next_us > now_us ? next_us - now_us : 0);
    else
        loop_timer_disarm(m->core_timer);
}

void master_carry_out(struct master *m, struct core_effects *effects, const struct companion *companion)
{
    struct step *s = must_calloc(1, sizeof(*s));
    *s = (struct step){.m = m, .effects = *effects, .now_us = clock_now_us()};
    *effects = (struct core_effects)CORE_EFFECTS_INIT;
    const char *author = api_author_now(m->api);
    s->author = author ? must_strdup(author) : NULL;
    arm_timer(m, s->effects.next_timer_us, s->now_us);

    struct writer_job job[2];
    size_t n = 0;
    if (companion && companion->stepped)
        companion->stepped(companion->ctx, &s->effects);
    if (companion) {
        s->companion = *companion;
        job[n++] = (struct writer_job){store_companion, companion_done, s};
    }
    if (has_rows(&s->effects))
        job[n++] = (struct writer_job){store_rows, rows_done, s, .must = true};
    if (n)
        writer_submit(m->writer, job, n);
    prepare_starts(s);
    writer_when_committed(m->writer, writer_ticket(m->writer), carry_out_all, s);
}

/* Returns true if the wall clock was set, by hand or by NTP after a start with a wrong clock. The core counts in wall
 * clock time, so its timers are moved: otherwise they would all be due at once, or not be due until the old time comes
 * again. */
static bool clock_was_set(struct master *m)
{
    int64_t offset_us = clock_now_us() - clock_monotonic_us(), by_us = offset_us - m->clock_offset_us;
    bool first = m->clock_offset_us == 0;
    if (!first && by_us < CLOCK_JUMP_US && by_us > -CLOCK_JUMP_US)
        return false;
    m->clock_offset_us = offset_us;
    if (first)
        return false;
    log_warning("clock.set", "by_s=%.3f action=shift_timers", (double)by_us / 1e6);
    core_clock_set(m->core, by_us);
    return true;
}

int master_step(struct master *m, const struct core_event *given, const struct companion *companion, struct error *err)
{
    loop_assert();
    struct core_effects effects = CORE_EFFECTS_INIT;
    struct core_event ev = *given;
    if (clock_was_set(m))
        ev.now_us = clock_now_us(); /* the event's time may be from before the clock was set */
    if (core_step(m->core, &ev, &effects, err) < 0)
        return -1;
    master_carry_out(m, &effects, companion);
    return 0;
}
