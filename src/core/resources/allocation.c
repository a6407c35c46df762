#include "common/base/must.h"
#include "core/resources/allocation_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/resources/agents.h"
#include "core/resources/machines.h"
#include "core/resources/rm.h"
#include "core/resources/slot_use.h"
#include "core/state/ids.h"
#include "core/state/step.h"

/* The most agents and containers that are looked at to find the ports of one allocation. */
enum { LOOK_AT_MACHINES_MAX = 512 };

static struct allocation *find_open(const struct core *c, const char *id, struct error *err)
{
    struct allocation *a = !id ? NULL : allocation_find(c, id);
    if (!a)
        error_set(err, ERR_NOT_FOUND, "allocation '%s' not found", !id ? "" : id);
    return a;
}

/* ---- asking for one ---------------------------------------------------------------------------------------------- */

static struct allocation *new_allocation(struct core *c, struct trial *trial, struct task *task,
                                         const struct allocation_row *row, bool stored)
{
    struct allocation *a = must_calloc(1, sizeof(*a));
    a->row = *row;
    record_init(&a->record, RECORD_ALLOCATION, &a->row, stored);
    a->trial = trial;
    a->task = task;
    a->pool = pool_find(c, row->pool);
    if (trial) {
        trial->allocation = a;
    } else {
        task->allocation = a;
        job_new_for_task(a);
    }
    HASH_ADD_STR(c->allocations, row.id, a);
    pool_add(a->pool, a);
    return a;
}

static void log_scheduling(struct core *c, const struct allocation *a)
{
    task_log(c, a, false, "Scheduling %s (id: %s)", allocation_name(c, a), a->row.id);
}

struct allocation *allocation_request(struct core *c, struct trial *t)
{
    struct allocation_row row = {.trial_id = t->row.id,
                                 .run_id = ++t->row.run_id,
                                 .state = ALLOCATION_PENDING,
                                 .slots = t->experiment->spec.slots_per_trial,
                                 .millicores = t->experiment->spec.needs.millicores,
                                 .memory_bytes = t->experiment->spec.needs.memory_bytes,
                                 .request_us = c->now_us};
    snprintf(row.id, sizeof(row.id), "%s.%d", t->row.task_id, t->row.run_id - t->row.runs_before_task);
    SET_TEXT(row.task_id, t->row.task_id);
    SET_TEXT(row.pool, t->experiment->pool->name);
    record_touch(c, &t->record);

    struct allocation *a = new_allocation(c, t, NULL, &row, false);
    record_touch(c, &a->record);
    log_scheduling(c, a);
    return a;
}

/* Counts the allocations of a task of its own. */
static int32_t next_run(struct core *c, struct task *t)
{
    if (!task_kind_is_launched(t->row.kind))
        return 1;
    record_touch(c, &t->launched_record);
    return ++t->launched.run_id;
}

void allocation_request_for_task(struct core *c, struct task *t, struct pool *pool)
{
    struct allocation_row row = {.run_id = next_run(c, t),
                                 .state = ALLOCATION_PENDING,
                                 .slots = t->launched.slots,
                                 .millicores = t->launched.millicores,
                                 .memory_bytes = t->launched.memory_bytes,
                                 .request_us = c->now_us};
    snprintf(row.id, sizeof(row.id), "%s.%d", t->row.id, row.run_id);
    SET_TEXT(row.task_id, t->row.id);
    SET_TEXT(row.pool, pool->name);
    struct allocation *a = new_allocation(c, NULL, t, &row, false);
    record_touch(c, &a->record);
    log_scheduling(c, a);
}

/* ---- when it is placed ------------------------------------------------------------------------------------------- */

static struct container *new_container(struct core *c, struct allocation *a, const struct container_row *row,
                                       bool stored)
{
    struct container *k = must_calloc(1, sizeof(*k));
    a->container = must_realloc(a->container, (a->container_n + 1) * sizeof(struct container *));
    k->row = *row;
    record_init(&k->record, RECORD_CONTAINER, &k->row, stored);
    k->allocation = a;
    k->idle_us = -1;
    a->container[a->container_n++] = k;
    HASH_ADD_STR(c->containers, row.id, k);
    return k;
}

struct container *allocation_add_container(struct core *c, struct allocation *a, struct agent *agent)
{
    struct container_row row = {.rank = (int32_t)a->container_n, .state = CONTAINER_ASSIGNED};
    new_uuid(c, row.id);
    SET_TEXT(row.allocation_id, a->row.id);
    SET_TEXT(row.agent_id, agent->row.id);
    struct container *k = new_container(c, a, &row, false);
    k->agent = agent;
    LIST_INSERT_HEAD(&agent->containers, k, in_agent);
    agent_revised(c, agent);
    record_touch(c, &k->record);
    return k;
}

/* Limits the time that a collection may take. Such a task may hang, for example on a storage that does not answer. It
 * is killed when its time is over. */
static void limit_task(struct core *c, struct allocation *a, int64_t since_us)
{
    int64_t due_us = (since_us < c->now_us ? since_us : c->now_us) +
                     ALLOCATION_TASK_LIMIT_US; /* the clock may have been set back, so since_us may lie ahead */
    if (a->task && a->task->row.kind == TASK_KIND_COLLECTION)
        timer_set(&c->timers, &a->task_timer, TIMER_TASK_LIMIT, due_us);
}

/* Draws the port that the service of a launched task listens at. The ports of its machine are looked at only if those
 * of the cluster are used up. */
static void take_port_of_service(struct core *c, struct allocation *a)
{
    struct port_set here;
    enum task_kind kind = a->task->row.kind;
    if (!ports_has_service(kind))
        return;
    uint32_t random = new_random(c);
    a->row.port[0] = ports_draw(&c->ports, kind, random, &c->ports.used);
    if (a->row.port[0] != 0)
        return;
    machines_ports(c, a, SIZE_MAX, &here);
    a->row.port[0] = ports_draw(&c->ports, kind, random, &here);
}

static void take_ports(struct core *c, struct allocation *a)
{
    struct port_set here;
    if (ports_take(&c->ports, PORTS_EPHEMERAL, a->row.port))
        return;
    if (!machines_ports(c, a, LOOK_AT_MACHINES_MAX, &here)) {
        if (ports_take(&c->ports, PORTS_END, a->row.port))
            return;
        machines_ports(c, a, SIZE_MAX, &here);
    }
    ports_take_here(&c->ports, &here, a->row.port);
}

void allocation_assigned(struct core *c, struct allocation *a)
{
    limit_task(c, a, c->now_us);
    if (a->trial)
        take_ports(c, a);
    else
        take_port_of_service(c, a);
    allocation_raise_state(c, a, ALLOCATION_ASSIGNED);
    task_log(c, a, false, "%s was assigned to an agent", allocation_name(c, a));
    slot_use_begin(c, a);
    for (size_t i = 0; i < a->container_n; i++)
        allocation_start_container(c, a->container[i]);
}

static void fill_start_from_trial(struct core *c, const struct allocation *a, struct core_start *ret)
{
    struct arena *arena = &c->out->arena;
    const struct trial *t = a->trial;
    const struct core_experiment_spec *spec = &t->experiment->spec;
    bool own = t->row.latest_checkpoint[0] != '\0';
    const char *checkpoint = own ? t->row.latest_checkpoint : t->row.warm_start_checkpoint;
    ret->experiment_id = t->row.experiment_id;
    ret->trial_id = t->row.id;
    ret->description = arena_printf(arena, "exp-%d-trial-%d-attempt-%d", t->row.experiment_id, t->row.id,
                                    a->row.run_id);
    ret->owner_id = spec->owner_id;
    ret->trial_seed = t->row.seed;
    ret->hparams = arena_strdup(arena, t->row.hparams);
    ret->steps_completed = own ? t->row.steps_completed : 0;
    ret->latest_checkpoint = checkpoint[0] != '\0' ? arena_strdup(arena, checkpoint) : NULL;
    ret->preemption_timeout_s = spec->preemption_timeout_s;
}

static void fill_start_from_task(struct core *c, const struct task *t, struct core_start *ret)
{
    bool launched = task_kind_is_launched(t->row.kind);
    ret->kind = t->row.kind;
    ret->experiment_id = t->row.experiment_id;
    ret->owner_id = t->row.owner_id;
    ret->description = launched ? arena_printf(&c->out->arena, "%s-%s", task_kind_word(t->row.kind), t->row.id)
                                : arena_printf(&c->out->arena, "gc-%d", t->row.experiment_id);
    ret->hparams = "{}";
    ret->preemption_timeout_s = t->launched.preemption_timeout_s;
}

void allocation_start_container(struct core *c, struct container *k)
{
    struct arena *arena = &c->out->arena;
    const struct allocation *a = k->allocation;
    struct core_effect *e = effect_add(c, CORE_START_CONTAINER);
    if (a->trial)
        fill_start_from_trial(c, a, &e->start);
    else
        fill_start_from_task(c, a->task, &e->start);
    e->start.agent_id = arena_strdup(arena, k->row.agent_id);
    e->start.container_id = arena_strdup(arena, k->row.id);
    e->start.allocation_id = arena_strdup(arena, a->row.id);
    e->start.task_id = arena_strdup(arena, a->row.task_id);
    e->start.pool = arena_strdup(arena, a->pool->name);
    e->start.run_id = a->row.run_id;
    e->start.rank = k->row.rank;
    e->start.container_n = (int32_t)a->container_n;
    e->start.device_id = arena_dup(arena, k->row.device_id, (size_t)k->row.device_n * sizeof(k->row.device_id[0]));
    e->start.device_n = (size_t)k->row.device_n;
    e->start.slots = a->row.slots;
    e->start.tell_use_every_us = slot_use_every_us(a);
    memcpy(e->start.port, a->row.port, sizeof(e->start.port));
}

/* ---- what the task says ------------------------------------------------------------------------------------------ */

int allocation_ready(struct core *c, const char *id, struct error *err)
{
    struct allocation *a = find_open(c, id, err);
    if (!a)
        return -1;
    allocation_set_ready(c, a);
    return 0;
}

int allocation_waiting(struct core *c, const char *id, struct error *err)
{
    struct allocation *a = find_open(c, id, err);
    if (!a)
        return -1;
    allocation_raise_state(c, a, ALLOCATION_WAITING);
    return 0;
}

int allocation_preempt_acked(struct core *c, const char *id, struct error *err)
{
    struct allocation *a = find_open(c, id, err);
    if (!a)
        return -1;
    if (a->row.preempt_deadline_us == 0)
        return 0; /* older libraries also acknowledge when they have no more work */
    a->row.preempt_acked = true;
    record_touch(c, &a->record);
    return 0;
}

/* Handles a task's report that its machine will go away. The task is preempted, as if the scheduler had asked for
 * it. */
int allocation_preempt_pending(struct core *c, const char *id, struct error *err)
{
    struct allocation *a = find_open(c, id, err);
    if (!a)
        return -1;
    a->row.preempt_pending = true;
    record_touch(c, &a->record);
    allocation_terminate(c, a, "the task reported a pending preemption");
    return 0;
}

static bool all_daemons(const struct allocation *a)
{
    for (size_t i = 0; i < a->container_n; i++)
        if (!a->container[i]->row.daemon)
            return false;
    return true;
}

int allocation_daemon(struct core *c, const char *id, const char *container_id, struct error *err)
{
    struct allocation *a = find_open(c, id, err);
    if (!a)
        return -1;
    struct container *k = !container_id ? NULL : container_find(c, container_id);
    if (!k || k->allocation != a)
        return error_set(err, ERR_NOT_FOUND, "resources '%s' not found in allocation '%s'",
                         container_id ? container_id : "", id);
    if (a->container_n == 1)
        return 0; /* an allocation's only container is its chief, which is not a daemon */
    k->row.daemon = true;
    record_touch(c, &k->record);
    if (all_daemons(a))
        allocation_kill(c, a, "all resources are daemons, nobody works");
    else if (allocation_workers_done(a))
        allocation_kill_containers(c, a);
    return 0;
}

int allocation_gather(struct core *c, const struct core_event *ev, struct error *err)
{
    struct allocation *a = find_open(c, ev->gather.allocation_id, err);
    if (!a)
        return -1;
    const char *data = ev->gather.data ? ev->gather.data : "null";
    if (gather_join(&a->gather, ev->gather.request_uuid, ev->gather.num_peers, data, err) < 0)
        return -1;
    if (gather_complete(&a->gather))
        wake_long_polls(c, a, CORE_WAKE_ALL_GATHER);
    return 0;
}

/* ---- restart ----------------------------------------------------------------------------------------------------- */

struct allocation *allocation_restore(struct core *c, struct trial *trial, struct task *task,
                                      const struct allocation_row *row)
{
    ports_restore(&c->ports, row->port);
    return new_allocation(c, trial, task, row, true);
}

struct container *container_restore(struct core *c, struct allocation *a, const struct container_row *row)
{
    a->probed = true; /* or its task could report a failed probe once more after each restart of the master */
    return new_container(c, a, row, true);
}

static int by_rank(const void *a, const void *b)
{
    const struct container *x = *(struct container *const *)a, *y = *(struct container *const *)b;
    return x->row.rank < y->row.rank ? -1 : x->row.rank > y->row.rank;
}

/* Restores the deadline of a preemption. The clock may have been set back since the deadline was set, so the deadline
 * is never further away than the timeout. */
static void restore_preempt_deadline(struct core *c, struct allocation *a)
{
    int64_t latest_us = c->now_us + allocation_preemption_timeout_us(a);
    if (a->row.preempt_deadline_us > latest_us)
        a->row.preempt_deadline_us = latest_us;
    timer_set(&c->timers, &a->preempt_deadline, TIMER_PREEMPT_DEADLINE, a->row.preempt_deadline_us);
}

void allocation_resume(struct core *c, struct allocation *a)
{
    bool placed = a->row.state != ALLOCATION_PENDING;
    if (placed && (a->container_n == 0 || allocation_all_ended(a))) {
        allocation_end(c, a, EXIT_RESTORE_ERROR, 0, "its containers were not found in the store");
        return;
    }
    if (!placed)
        return;
    qsort(a->container, a->container_n, sizeof(struct container *), by_rank);
    if (!a->row.killed && a->row.preempt_deadline_us == 0)
        allocation_watch_max_time(c, a);
    if (a->row.killed || a->row.exit_kind != EXIT_NONE || allocation_workers_done(a))
        allocation_kill_containers(c, a); /* the signal is sent to each agent when it connects */
    else if (a->row.preempt_deadline_us != 0)
        restore_preempt_deadline(c, a);
    else
        limit_task(c, a, a->row.start_us != 0 ? a->row.start_us : c->now_us);
    if (a->row.ready)
        allocation_watch_idle(c, a);
}

void allocation_free(struct core *c, struct allocation *a)
{
    for (size_t i = 0; i < a->container_n; i++) {
        record_release(c, &a->container[i]->record);
        free(a->container[i]);
    }
    free(a->container);
    record_release(c, &a->record);
    arena_release(&a->blocked);
    gather_release(&a->gather);
    free(a->exit_text);
    timer_clear(&c->timers, &a->preempt_deadline);
    timer_clear(&c->timers, &a->kill_again);
    timer_clear(&c->timers, &a->task_timer);
    timer_clear(&c->timers, &a->max_time);
    free(a);
}
