#include "machines.h"

#include <stdio.h>
#include <string.h>

#include "cmocka_setup.h"

#define MS INT64_C(1000)

static void tell_core(struct sim *sim, struct sim_agent *a)
{
    struct core_event ev = {.type = CORE_AGENT_DISCONNECTED, .agent = {.agent_id = a->id}};
    bool was = a->connected;
    a->connected = false;
    a->back_us = 0;
    memset(a->container, 0, sizeof(a->container));
    if (was && sim->core)
        sim_step(sim, &ev, NULL);
}

static struct sim_agent *find_agent(struct sim *sim, const char *id)
{
    for (int i = 0; i < sim->agent_n; i++)
        if (sim->agent[i].machine != MACHINE_NONE && strcmp(sim->agent[i].id, id) == 0)
            return &sim->agent[i];
    fail_msg("there is no machine %s", id);
    return NULL;
}

int machines_n(const struct sim *sim)
{
    int n = 0;
    for (int i = 0; i < sim->agent_n; i++)
        n += sim->agent[i].machine == MACHINE_RUNS || sim->agent[i].machine == MACHINE_STOPPED;
    return n;
}

void machine_stops(struct sim *sim, const char *id)
{
    struct sim_agent *a = find_agent(sim, id);
    sim_tell(sim, "%s > stops", id);
    a->machine = MACHINE_STOPPED;
    tell_core(sim, a);
}

void machine_is_taken_back(struct sim *sim, const char *id)
{
    sim_tell(sim, "%s > is taken back", id);
    find_agent(sim, id)->taken_back = true;
}

void machine_hangs(struct sim *sim, const char *id)
{
    sim_tell(sim, "%s > hangs", id);
    tell_core(sim, find_agent(sim, id));
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

void machines_order(struct sim *sim, const struct core_effect *e)
{
    struct sim_provider *p = &sim->provider;
    p->order = e->order.number;
    p->launch = e->order.launch;
    p->terminate_n = 0;
    for (size_t i = 0; i < e->order.terminate_n; i++) {
        memcpy(p->terminate[p->terminate_n++], e->order.terminate[i].id, strlen(e->order.terminate[i].id) + 1);
        sim_tell(sim, "order > end %s: %s", e->order.terminate[i].id, e->order.terminate[i].reason);
    }
    if (p->launch > 0)
        sim_tell(sim, "order > launch %d", p->launch);
    p->due_us = sim->now_us + TURN_MS * MS;
}

static struct sim_agent *free_place(struct sim *sim)
{
    for (int i = 0; i < sim->agent_n; i++)
        if (sim->agent[i].machine == MACHINE_ENDED)
            return &sim->agent[i];
    assert_true(sim->agent_n < SIM_AGENTS);
    return &sim->agent[sim->agent_n++];
}

static void launch_one(struct sim *sim)
{
    struct sim_provider *p = &sim->provider;
    struct sim_agent *a = free_place(sim);
    *a = (struct sim_agent){.slots = p->slots,
                            .has = p->has,
                            .machine = p->stillborn ? MACHINE_STOPPED : MACHINE_RUNS,
                            .launch_us = sim->now_us};
    snprintf(a->id, sizeof(a->id), "m%d", ++p->launched);
    if (!p->mute && !p->stillborn)
        a->back_us = sim->now_us + BOOT_MS * MS;
}

static void carry_out_order(struct sim *sim)
{
    struct sim_provider *p = &sim->provider;
    for (int i = 0; i < p->terminate_n && !p->cannot_end; i++) {
        struct sim_agent *a = find_agent(sim, p->terminate[i]);
        a->machine = MACHINE_ENDED;
        tell_core(sim, a);
    }
    for (int i = 0; i < p->launch && !p->error; i++)
        launch_one(sim);
}

static enum core_instance_state state_of(const struct sim_agent *a)
{
    return a->machine == MACHINE_STOPPED ? INSTANCE_STOPPED : a->taken_back ? INSTANCE_ENDING : INSTANCE_RUNNING;
}

static void send_list(struct sim *sim, const char *launch_error)
{
    struct core_instance list[SIM_AGENTS];
    struct core_event ev = {
        .type = CORE_INSTANCES_LISTED,
        .listed = {.pool = "default", .instance = list, .order = sim->provider.order, .launch_error = launch_error}};
    for (int i = 0; i < sim->agent_n; i++) {
        const struct sim_agent *a = &sim->agent[i];
        if (a->machine == MACHINE_RUNS || a->machine == MACHINE_STOPPED)
            list[ev.listed.n++] = (struct core_instance){.id = a->id,
                                                         .state = state_of(a),
                                                         .launch_us = a->launch_us,
                                                         .detail = a->machine == MACHINE_STOPPED ? "out of luck"
                                                                   : a->taken_back               ? "spot"
                                                                                                 : NULL};
    }
    sim_step(sim, &ev, NULL);
}

void machines_run(struct sim *sim)
{
    struct sim_provider *p = &sim->provider;
    if (p->slots == 0 || p->due_us == 0 || p->due_us > sim->now_us || !sim->core)
        return;
    const char *error = p->launch > 0 ? p->error : NULL;
    p->due_us = sim->now_us + LIST_MS * MS;
    carry_out_order(sim);
    p->launch = p->terminate_n = 0;
    send_list(sim, error);
}

void machines_master_down(struct sim *sim)
{
    if (sim->provider.dies_late) /* the master dies after the launch and before the list is sent */
        carry_out_order(sim);
    sim->provider.launch = sim->provider.terminate_n = 0;
    sim->provider.due_us = 0;
}

void machines_master_up(struct sim *sim)
{
    sim->provider.order = 0;
    sim->provider.due_us = sim->provider.slots > 0 ? sim->now_us + TURN_MS * MS : 0;
}
