/* Tasks: what they do with their time, and what they say of it. The chief (rank 0) trains and talks to the master; the
 * others end when it does. */
#include <stdlib.h>
#include <string.h>

#include "soak.h"

struct worker *worker_find(const struct soak *s, const char *id)
{
    struct worker *k = NULL;
    HASH_FIND_STR(s->tasks, id, k);
    return k;
}

void worker_drop(struct soak *s, struct worker *k)
{
    tick_clear(s, &k->tick);
    LIST_REMOVE(k, in_agent);
    HASH_DEL(s->tasks, k);
    free(k);
}

struct core_container_report worker_report(const struct worker *k)
{
    return (struct core_container_report){.container_id = k->id,
                                          .state = k->state,
                                          .address = "10.0.0.1",
                                          .exit_kind = k->exit_kind,
                                          .exit_code = k->exit_code};
}

/* Tells the core of the worker's state. This may free the worker, because an exit that is acknowledged is forgotten. */
static void tell_core(struct soak *s, struct worker *k)
{
    struct agent *a = k->agent;
    if (!a->connected || a->hangs_until_us != 0) {
        k->untold = true;
        return;
    }
    struct core_event ev = {.type = CORE_CONTAINER_CHANGED,
                            .container = {.agent_id = a->id, .report = worker_report(k)}};
    k->untold = false;
    soak_step(s, &ev);
}

static void go_to(struct soak *s, struct worker *k, enum phase phase, int64_t us)
{
    k->phase = phase;
    tick_in(s, &k->tick, us);
}

static void end_worker(struct soak *s, struct worker *k, enum exit_kind kind, int code)
{
    const struct stored_allocation *a = store_allocation(s, k->allocation_id);
    const struct stored_container *other;
    k->state = CONTAINER_TERMINATED;
    k->phase = ENDED;
    k->exit_kind = kind;
    k->exit_code = code;
    tick_clear(s, &k->tick);
    if (k->rank == 0 && a)
        LIST_FOREACH(other, &a->containers, in_allocation) {
            struct worker *peer = worker_find(s, other->row.id);
            if (!peer || peer == k || peer->state == CONTAINER_TERMINATED)
                continue;
            peer->exit_code = code;
            go_to(s, peer, EXIT, about(s, SECOND));
        }
    tell_core(s, k);
}

/* Makes a request to the master. If there is no answer, the task makes it again a little later. If it is refused
 * because the allocation has ended, the task gives up. */
static bool ask_core(struct soak *s, struct worker *k, const struct core_event *ev)
{
    char id[CORE_UUID_MAX];
    memcpy(id, k->id, sizeof(id));
    if (!s->core) {
        tick_in(s, &k->tick, about(s, 2 * SECOND));
        return false;
    }
    if (!core_allocation(s->core, k->allocation_id)) {
        k->exit_code = 80;
        go_to(s, k, EXIT, 10 * MS);
        return false;
    }
    if (soak_step(s, ev))
        return worker_find(s, id) == k;
    if (worker_find(s, id) == k)
        tick_in(s, &k->tick, about(s, 2 * SECOND));
    return false;
}

/* ---- what they do ------------------------------------------------------------------------------------------------ */

static void launch_worker(struct soak *s, struct worker *k)
{
    if (once_in(s, k->behaviour.launch_fails_in)) {
        end_worker(s, k, EXIT_AGENT_ERROR, 0);
        return;
    }
    if (k->state < CONTAINER_PULLING && once_in(s, 4)) {
        k->state = once_in(s, 2) ? CONTAINER_PULLING : CONTAINER_STARTING;
        go_to(s, k, LAUNCH, about(s, SECOND));
    } else {
        k->state = CONTAINER_RUNNING;
        k->phase = WORK;
        if (k->rank == 0)
            tick_in(s, &k->tick, about(s, k->behaviour.step_us));
    }
    tell_core(s, k);
}

static bool save_checkpoint(struct soak *s, struct worker *k)
{
    char uuid[CORE_UUID_MAX];
    snprintf(uuid, sizeof(uuid), "trial-%d-step-%d", k->trial_id, k->steps);
    struct core_event ev = {.type = CORE_TRIAL_CHECKPOINTED,
                            .checkpoint = {.trial_id = k->trial_id, .uuid = uuid, .steps_completed = k->steps}};
    if (!ask_core(s, k, &ev))
        return false;
    struct stored_trial *t = store_trial(s, k->trial_id);
    if (t && t->promised < k->steps && t->open && strcmp(t->open->row.id, k->allocation_id) == 0)
        t->promised = k->steps;
    return true;
}

/* Makes things happen that are rare, so that log policies and daemons are tested. */
static bool odd_things(struct soak *s, struct worker *k)
{
    struct core_event invalid = {.type = CORE_TRIAL_EARLY_EXIT,
                                 .early_exit = {.trial_id = k->trial_id, .reason = EARLY_EXIT_INVALID_HP}};
    struct core_event matched = {.type = CORE_TRIAL_LOG_MATCHED,
                                 .log_matched = {.trial_id = k->trial_id,
                                                 .policy = "ECC",
                                                 .agent_id = k->agent->id,
                                                 .action = once_in(s, 2) ? LOG_POLICY_EXCLUDE_NODE
                                                                         : LOG_POLICY_CANCEL_RETRIES}};
    struct core_event pending = {.type = CORE_PREEMPTION_PENDING, .allocation = {.allocation_id = k->allocation_id}};
    if (k->behaviour.invalid_hp) {
        if (ask_core(s, k, &invalid))
            tick_clear(s, &k->tick); /* the task does not exit */
        return true;
    }
    if (once_in(s, 300))
        return !ask_core(s, k, &matched);
    return once_in(s, 500) && !ask_core(s, k, &pending);
}

static void work_on(struct soak *s, struct worker *k)
{
    if (k->trial_id == 0) { /* a task of its own has one thing to do, and has done it or not */
        k->exit_code = once_in(s, 10);
        go_to(s, k, EXIT, 10 * MS);
        return;
    }
    if (odd_things(s, k))
        return;
    if (once_in(s, k->behaviour.fails_in)) {
        end_worker(s, k, EXIT_FAILED, 1);
        return;
    }
    k->steps++;
    if (!save_checkpoint(s, k))
        return;
    bool done = !k->behaviour.searched && k->steps >= k->behaviour.steps;
    go_to(s, k,
          done                    ? EXIT
          : k->behaviour.searched ? REPORT
                                  : WORK,
          done                    ? 10 * MS
          : k->behaviour.searched ? 0
                                  : about(s, k->behaviour.step_us));
}

static double loss_of(const struct worker *k)
{
    return 7 * k->trial_id % 11 + 1.0 / k->steps;
}

static void report_metrics(struct soak *s, struct worker *k)
{
    char metrics[64];
    snprintf(metrics, sizeof(metrics), "{\"loss\": %.17g, \"batches\": %d}", loss_of(k), k->steps);
    struct core_event progress = {.type = CORE_TRIAL_PROGRESS,
                                  .progress = {.trial_id = k->trial_id,
                                               .progress = (double)k->steps / k->behaviour.steps}};
    struct core_event ev = {.type = CORE_TRIAL_VALIDATED, .validated = {.trial_id = k->trial_id, .metrics = metrics}};
    if (ask_core(s, k, &progress) && ask_core(s, k, &ev))
        go_to(s, k, OPERATION, 0);
}

static void complete_operation(struct soak *s, struct worker *k)
{
    struct core_operation_view op;
    if (!s->core || !core_trial_operation(s->core, k->trial_id, &op)) {
        struct core_event nothing = {.type = CORE_ALLOCATION_READY, .allocation = {.allocation_id = k->allocation_id}};
        ask_core(s, k, &nothing);
        return;
    }
    struct core_event done = {.type = CORE_TRIAL_OPERATION_COMPLETED,
                              .operation = {.trial_id = k->trial_id, .length = op.length, .metric = loss_of(k)}};
    if (op.length == 0 ? k->steps >= k->behaviour.steps : op.completed)
        go_to(s, k, EXIT, 10 * MS);
    else if (op.length == 0 || k->steps < op.length)
        go_to(s, k, WORK, about(s, k->behaviour.step_us));
    else if (ask_core(s, k, &done))
        go_to(s, k, OPERATION, 0);
}

static void preempt_worker(struct soak *s, struct worker *k)
{
    struct core_event acked = {.type = CORE_PREEMPTION_ACKED, .allocation = {.allocation_id = k->allocation_id}};
    if (save_checkpoint(s, k) && ask_core(s, k, &acked))
        go_to(s, k, EXIT, 10 * MS);
}

static void fire_tick(struct soak *s, struct tick *t)
{
    struct worker *k = (struct worker *)((char *)t - offsetof(struct worker, tick));
    switch (k->phase) {
    case LAUNCH:
        launch_worker(s, k);
        return;
    case WORK:
        work_on(s, k);
        return;
    case REPORT:
        report_metrics(s, k);
        return;
    case OPERATION:
        complete_operation(s, k);
        return;
    case PREEMPT:
        preempt_worker(s, k);
        return;
    case EXIT:
        end_worker(s, k, k->exit_code == 0 ? EXIT_OK : EXIT_FAILED, k->exit_code);
        return;
    case ENDED:
        return;
    }
}

/* ---- what is done to them ---------------------------------------------------------------------------------------- */

/* Checks on the machine itself that no two tasks use the same slot, whatever the rows say. */
static void check_slots(struct soak *s, const struct agent *a, const struct core_start *e)
{
    const struct worker *k;
    LIST_FOREACH(k, &a->tasks, in_agent)
        for (int i = 0; k->state != CONTAINER_TERMINATED && i < k->device_n; i++)
            for (size_t n = 0; n < e->device_n; n++)
                CHECK(s, k->device[i] != e->device_id[n], "%s: container %s starts on slot %d, where %s runs", a->id,
                      e->container_id, e->device_id[n], k->id);
}

/* Checks by the rows that what asks for cores and memory on the agent asks for no more than it has. */
static void check_needs(struct soak *s, const struct agent *a)
{
    struct sched_needs held = {0};
    const struct stored_container *k;
    LIST_FOREACH(k, &a->held, in_agent)
        needs_add(&held, &(struct sched_needs){k->allocation->row.millicores, k->allocation->row.memory_bytes}, 1);
    s->needy_starts += needs_any(&held);
    CHECK(s, needs_fit(&held, &a->has), "%s: tasks ask for %lld millicores and memory %lld, it has %lld and %lld",
          a->id, (long long)held.millicores, (long long)held.memory_bytes, (long long)a->has.millicores,
          (long long)a->has.memory_bytes);
}

void worker_start(struct soak *s, struct agent *a, const struct core_start *e)
{
    if (worker_find(s, e->container_id))
        return; /* the start was ordered before */
    check_slots(s, a, e);
    check_needs(s, a);
    struct worker *k = must(calloc(1, sizeof(*k)));
    k->agent = a;
    k->experiment_id = e->experiment_id;
    k->trial_id = e->trial_id;
    k->run_id = e->run_id;
    k->rank = e->rank;
    k->steps = e->steps_completed;
    k->device_n = (int)e->device_n;
    memcpy(k->device, e->device_id, e->device_n * sizeof(k->device[0]));
    snprintf(k->id, sizeof(k->id), "%s", e->container_id);
    snprintf(k->allocation_id, sizeof(k->allocation_id), "%s", e->allocation_id);
    k->behaviour = e->trial_id != 0 ? store_experiment(s, e->experiment_id)->behaviour
                                    : (struct behaviour){.step_us = 30 * SECOND, .steps = 1};
    k->tick.fire = fire_tick;
    k->heard = a->hangs_until_us == 0;
    LIST_INSERT_HEAD(&a->tasks, k, in_agent);
    HASH_ADD_STR(s->tasks, id, k);
    if (k->heard)
        go_to(s, k, LAUNCH, about(s, SECOND));
}

void worker_kill(struct soak *s, struct worker *k)
{
    if (k->state == CONTAINER_TERMINATED)
        return;
    if (k->agent->hangs_until_us != 0) {
        k->kill_waits = true;
        return;
    }
    k->exit_code = 137;
    go_to(s, k, EXIT, about(s, 100 * MS));
}

void worker_awake(struct soak *s, struct worker *k)
{
    if (!k->heard) {
        k->heard = true;
        go_to(s, k, LAUNCH, about(s, SECOND));
    }
    if (k->kill_waits) {
        k->kill_waits = false;
        worker_kill(s, k);
    }
    if (k->untold)
        tell_core(s, k);
}

void worker_preempt(struct soak *s, struct worker *k)
{
    if (k->behaviour.deaf || k->state != CONTAINER_RUNNING || k->phase == EXIT || k->phase == PREEMPT ||
        k->phase == ENDED)
        return;
    if (core_preemption(s->core, k->allocation_id) == CORE_ANSWER_YES)
        go_to(s, k, PREEMPT, about(s, 5 * SECOND));
}
