#include "core/resources/agents.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "core/resources/allocation.h"
#include "core/resources/elastic.h"
#include "core/resources/machines.h"
#include "core/resources/quarantine.h"
#include "core/resources/rm.h"
#include "core/resources/slot_use.h"
#include "core/state/ids.h"
#include "core/state/step.h"

static int by_id(const struct agent *a, const struct agent *b)
{
    return strcmp(a->row.id, b->row.id);
}

static struct agent *new_agent(struct core *c, const struct agent_row *row, bool stored)
{
    struct agent *agent = must_calloc(1, sizeof(*agent));
    agent->row = *row;
    agent->pool = pool_find(c, row->pool);
    if (!agent->pool)
        /* the agent's pool is not configured any more; when the agent connects it says which pool it is in */
        agent->pool = pool_find(c, NULL);
    record_init(&agent->record, RECORD_AGENT, &agent->row, stored);
    agent_revised(c, agent);
    LIST_INIT(&agent->containers);
    machine_join(c, agent, "");
    HASH_ADD_KEYPTR_INORDER(hh, c->agents, agent->row.id, (unsigned)strlen(agent->row.id), agent, by_id);
    return agent;
}

static void free_slots(struct agent *agent)
{
    for (size_t i = 0; i < agent->slot_n; i++) {
        free((char *)agent->slot[i].device.brand);
        free((char *)agent->slot[i].device.uuid);
    }
    free(agent->slot);
    agent->slot = NULL;
    agent->slot_n = 0;
}

void agent_free(struct core *c, struct agent *agent)
{
    timer_clear(&c->timers, &agent->lost);
    record_release(c, &agent->record);
    machine_leave(c, agent);
    free_slots(agent);
    free(agent->version);
    free(agent->hostname);
    free(agent->isolation_gap);
    free(agent);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static char *copy_text(const char *text)
{
    char *copy = must_strdup(text ? text : "");
    return copy;
}

static int by_device(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    return x->device.id < y->device.id ? -1 : x->device.id > y->device.id;
}

static void set_devices(struct agent *agent, const struct core_device *device, size_t n)
{
    free_slots(agent);
    agent->slot = must_calloc(n + 1, sizeof(*agent->slot));
    agent->slot_n = n;
    for (size_t i = 0; i < n; i++) {
        agent->slot[i].device = device[i];
        agent->slot[i].device.brand = copy_text(device[i].brand);
        agent->slot[i].device.uuid = copy_text(device[i].uuid);
    }
    qsort(agent->slot, n, sizeof(*agent->slot), by_device);
}

/* Gives the container the slots that it had. Returns false if the agent does not have one of the container's devices
 * any more. */
static bool bind_slots(struct agent *agent, struct container *k)
{
    for (int32_t i = 0; i < k->row.device_n; i++) {
        struct slot *s = agent_slot(agent, k->row.device_id[i]);
        if (!s)
            return false;
        s->container = k;
    }
    return true;
}

/* ---- coming ------------------------------------------------------------------------------------------------------ */

static int refuse_unknown_pool(const struct core *c, const struct core_event *ev, struct error *err)
{
    struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; i < c->pool_n; i++)
        strbuf_addf(&names, "%s%s", i > 0 ? ", " : "", c->pool[i].name);
    error_set(err, ERR_NOT_FOUND, "agent \"%s\": resource pool \"%s\" does not exist (pools: %s)", ev->agent.agent_id,
              ev->agent.pool, strbuf_str(&names));
    strbuf_release(&names);
    return -1;
}

static int check_hello(const struct core *c, const struct core_event *ev, struct error *err)
{
    const char *id = ev->agent.agent_id;
    const struct agent *known = agent_find(c, id);
    if (id[0] == '\0' || strlen(id) >= CORE_AGENT_ID_MAX)
        return error_set(err, ERR_INVALID, "agent id \"%.200s\": must have 1 to %d characters", id,
                         CORE_AGENT_ID_MAX - 1);
    if (!pool_find(c, ev->agent.pool))
        return refuse_unknown_pool(c, ev, err);
    if (known && known->presence == AGENT_CONNECTED)
        return error_set(err, ERR_CONFLICT, "agent \"%s\": websocket already connected", id);
    if (!known && HASH_COUNT(c->agents) >= AGENTS_MAX)
        return error_set(err, ERR_TOO_LARGE, "agent \"%s\": %d agents are known already", id, AGENTS_MAX);
    if (ev->agent.device_n > CORE_DEVICES_MAX)
        return error_set(err, ERR_INVALID, "agent \"%s\": has %zu devices, allowed are %d", id, ev->agent.device_n,
                         CORE_DEVICES_MAX);
    for (size_t i = 0; i < ev->agent.device_n; i++)
        for (size_t k = 0; k < i; k++)
            if (ev->agent.device[i].id == ev->agent.device[k].id)
                return error_set(err, ERR_INVALID, "agent \"%s\": two devices have the id %d", id,
                                 ev->agent.device[i].id);
    return 0;
}

static struct agent *known_or_new(struct core *c, const struct core_event *ev)
{
    struct pool *pool = pool_find(c, ev->agent.pool);
    struct agent *agent = agent_find(c, ev->agent.agent_id);
    if (!agent) {
        struct agent_row row = {.enabled = true};
        SET_TEXT(row.id, ev->agent.agent_id);
        SET_TEXT(row.pool, pool->name);
        agent = new_agent(c, &row, false);
        record_touch(c, &agent->record);
    } else if (strcmp(agent->row.pool, pool->name) != 0) {
        SET_TEXT(agent->row.pool, pool->name);
        record_touch(c, &agent->record);
    }
    if (agent->stale)
        LIST_REMOVE(agent, in_stale);
    agent->stale = false;
    agent->pool->changed = true; /* the pool that the agent leaves has changed as well */
    agent->pool = pool;
    for (size_t i = 0; i < c->pool_n; i++)
        elastic_touch(&c->pool[i], agent);
    return agent;
}

static void acknowledge_report(struct core *c, const char *agent_id, const char *container_id,
                               enum container_state state)
{
    struct core_effect *e = effect_add(c, CORE_ACK_CONTAINER);
    e->ack.agent_id = arena_strdup(&c->out->arena, agent_id);
    e->ack.container_id = arena_strdup(&c->out->arena, container_id);
    e->ack.state = state;
}

static void kill_unknown_container(struct core *c, const char *agent_id, const char *container_id)
{
    struct core_effect *e = effect_add(c, CORE_SIGNAL_CONTAINER);
    e->signal.agent_id = arena_strdup(&c->out->arena, agent_id);
    e->signal.container_id = arena_strdup(&c->out->arena, container_id);
    e->signal.signal = SIGKILL;
}

/* Handles what an agent reports about one container. A container that the core does not know is killed; once it has
 * ended, the agent may forget it. */
static void take_report(struct core *c, const char *agent_id, const struct core_container_report *r)
{
    struct container *k = container_find(c, r->container_id);
    bool ours = k && strcmp(k->row.agent_id, agent_id) == 0;
    if (r->state == CONTAINER_TERMINATED)
        acknowledge_report(c, agent_id, r->container_id, r->state);
    else if (!ours)
        kill_unknown_container(c, agent_id, r->container_id);
    if (ours)
        container_report(c, k, r);
}

static bool is_reported(const struct core_event *ev, const struct container *k)
{
    for (size_t i = 0; i < ev->agent.container_n; i++)
        if (strcmp(ev->agent.container[i].container_id, k->row.id) == 0)
            return true;
    return false;
}

/* Handles a container that should be on the agent, but that the agent does not know. */
static void handle_missing_container(struct core *c, struct container *k)
{
    if (k->row.state == CONTAINER_ASSIGNED && k->allocation->killed_us == 0)
        allocation_start_container(c, k); /* the message that starts it has never reached the agent */
    else if (k->row.state == CONTAINER_ASSIGNED)
        container_exited(c, k, EXIT_CONTAINER_ABORTED, 0, NULL);
    else
        container_failed(c, k, EXIT_RESTORE_ERROR, 0, "container is gone on reattachment");
}

/* Compares what the core thinks runs on the agent with what the agent reports. The end of one container may end others
 * of its allocation. Those are on other agents, because an allocation has one container on each agent. */
static void reconcile_containers(struct core *c, struct agent *agent, const struct core_event *ev)
{
    struct container *k, *next;
    for (k = LIST_FIRST(&agent->containers); k; k = next) {
        next = LIST_NEXT(k, in_agent);
        if (k->allocation->pool != agent->pool)
            container_exited(c, k, EXIT_AGENT_FAILED, 0, "the agent came back in another resource pool");
        else if (!bind_slots(agent, k))
            container_failed(c, k, EXIT_AGENT_FAILED, 0, "the agent came back without the container's devices");
    }
    for (size_t i = 0; i < ev->agent.container_n; i++)
        take_report(c, agent->row.id, &ev->agent.container[i]);
    for (k = LIST_FIRST(&agent->containers); k; k = next) {
        next = LIST_NEXT(k, in_agent);
        if (!is_reported(ev, k))
            handle_missing_container(c, k);
        else if (k->allocation->killed_us != 0)
            signal_container(c, k, SIGKILL); /* the first signal may have been lost */
    }
}

/* Tells the agent what it may keep running: the containers that it has reported and that are still wanted.
 * Containers that the agent has never heard of are started by other effects of this step. */
static void fill_welcome(struct core *c, const struct agent *agent, const struct core_event *ev,
                         struct core_effect *ret)
{
    const char **ids = arena_array(&c->out->arena, const char *, ev->agent.container_n + 1);
    size_t n = 0;
    const struct container *k;
    LIST_FOREACH(k, &agent->containers, in_agent)
        if (is_reported(ev, k))
            ids[n++] = arena_strdup(&c->out->arena, k->row.id);
    ret->welcome.agent_id = arena_strdup(&c->out->arena, agent->row.id);
    ret->welcome.container_id = ids;
    ret->welcome.container_n = n;
}

int agent_connected(struct core *c, const struct core_event *ev, struct error *err)
{
    if (check_hello(c, ev, err) < 0)
        return -1;
    struct agent *agent = known_or_new(c, ev);
    timer_clear(&c->timers, &agent->lost);
    if (agent->row.lost_us != 0 || !agent->row.listed) {
        agent->row.lost_us = 0;
        agent->row.listed = true;
        record_touch(c, &agent->record);
    }
    free(agent->version);
    free(agent->hostname);
    free(agent->isolation_gap);
    agent->version = copy_text(ev->agent.version);
    agent->hostname = copy_text(ev->agent.hostname);
    agent->isolation_gap = ev->agent.isolation_gap ? copy_text(ev->agent.isolation_gap) : NULL;
    machine_join(c, agent, agent->hostname);
    agent->presence = AGENT_CONNECTED;
    agent->connected_us = c->now_us;
    set_devices(agent, ev->agent.device, ev->agent.device_n);
    agent->has = ev->agent.has;
    agent->tells_use = ev->agent.tells_use;
    slots_take_troubles(c, agent, ev->agent.trouble, ev->agent.trouble_n);

    size_t welcome = c->out->n; /* the index of the welcome, which is sent before all other messages to this agent */
    effect_add(c, CORE_WELCOME_AGENT);
    reconcile_containers(c, agent, ev);
    fill_welcome(c, agent, ev, &c->out->item[welcome]);
    agent_changed(c, agent);
    return 0;
}

/* Notes which devices are lost. No task is ended: a task whose device is lost fails by itself, or does not need the
 * device any more. */
void agent_devices_changed(struct core *c, const struct core_event *ev)
{
    struct agent *agent = agent_find(c, ev->devices.agent_id);
    if (!agent || agent->presence != AGENT_CONNECTED)
        return;
    for (size_t i = 0; i < agent->slot_n; i++) {
        struct core_device *d = &agent->slot[i].device;
        d->lost = false;
        for (size_t k = 0; k < ev->devices.lost_n; k++)
            d->lost |= ev->devices.lost_id[k] == d->id;
    }
    slots_take_troubles(c, agent, ev->devices.trouble, ev->devices.trouble_n);
    agent_changed(c, agent);
}

void agent_container_changed(struct core *c, const char *agent_id, const struct core_container_report *r)
{
    take_report(c, agent_id, r);
}

/* ---- going ------------------------------------------------------------------------------------------------------- */

static void wait_for_agent(struct core *c, struct agent *agent, int64_t wait_us)
{
    agent->presence = AGENT_AWAY;
    agent->connected_us = 0;
    slot_use_forget(agent);
    timer_set(&c->timers, &agent->lost, TIMER_AGENT_LOST, c->now_us + wait_us);
    agent_changed(c, agent);
}

void agent_disconnected(struct core *c, const char *id)
{
    struct agent *agent = agent_find(c, id);
    if (!agent || agent->presence != AGENT_CONNECTED)
        return;
    int64_t of_pool_us = agent->pool->opts.agent_reconnect_wait_us;
    wait_for_agent(c, agent, of_pool_us != 0 ? of_pool_us : c->agent_reconnect_wait_us);
}

/* Gives the agent up: everything that ran on it has ended. */
static void give_up_agent(struct core *c, struct agent *agent, enum exit_kind kind, const char *text)
{
    struct container *k;
    timer_clear(&c->timers, &agent->lost);
    agent->presence = AGENT_GONE;
    agent_changed(c, agent);
    bool common = quarantine_is_common_loss(c, agent);
    while ((k = LIST_FIRST(&agent->containers)))
        (common ? container_exited : container_failed)(c, k, kind, 0, text);
    free_slots(agent);
}

/* Handles the end of the time that the agent had to come back. The agent's row stays, with the time since which the
 * agent is lost, until the agent comes back or somebody takes it off the list. If the agent has not connected since a
 * restart of the master, the restart is given as the reason. */
void agent_timer(struct core *c, struct timer *t)
{
    struct agent *agent = container_of(t, struct agent, lost);
    bool restored = !agent->slot;
    agent->row.lost_us = c->now_us;
    record_touch(c, &agent->record);
    give_up_agent(c, agent, restored ? EXIT_RESTORE_ERROR : EXIT_AGENT_FAILED,
                  "agent closed with allocated containers");
    if (agent->row.instance && !elastic_lists(agent))
        agent_forget(c, agent);
}

int agent_remove(struct core *c, const char *id, struct error *err)
{
    struct agent *agent = agent_find(c, id);
    if (!agent || (agent->presence == AGENT_GONE && agent->row.lost_us == 0))
        return error_set(err, ERR_NOT_FOUND, "agent '%s' not found", id);
    if (agent->presence == AGENT_CONNECTED)
        return error_set(err, ERR_PRECONDITION,
                         "agent '%s' is connected: end its program first; to keep tasks from it, disable it", id);
    if (agent->presence == AGENT_AWAY)
        return error_set(err, ERR_PRECONDITION,
                         "agent '%s' is disconnected and may come back; remove it when it is lost", id);
    agent_forget(c, agent);
    return 0;
}

int agent_label(struct core *c, const char *id, const char *label, struct error *err)
{
    struct agent *agent = agent_find(c, id);
    size_t n = strnlen(label, sizeof(agent->row.label) - 1);
    if (!agent || (agent->presence == AGENT_GONE && agent->row.lost_us == 0))
        return error_set(err, ERR_NOT_FOUND, "agent '%s' not found", id);
    memcpy(agent->row.label, label, n);
    agent->row.label[n] = '\0';
    record_touch(c, &agent->record);
    agent_changed(c, agent);
    return 0;
}

void agent_forget(struct core *c, struct agent *agent)
{
    give_up_agent(c, agent, EXIT_AGENT_FAILED, "the machine of the agent has ended");
    effect_add(c, CORE_DELETE_AGENT)->agent_id = arena_strdup(&c->out->arena, agent->row.id);
    HASH_DEL(c->agents, agent);
    agent->pool->rm->agent_forgotten(agent);
    agent_free(c, agent);
}

/* ---- restart ----------------------------------------------------------------------------------------------------- */

struct agent *agent_restore(struct core *c, const struct agent_row *row)
{
    return new_agent(c, row, true);
}

void agent_await(struct core *c, struct agent *agent)
{
    wait_for_agent(c, agent, c->restore_wait_us);
}
