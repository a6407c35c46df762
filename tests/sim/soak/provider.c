/* The provider of the elastic pool: it launches and ends machines as it is told, and lists what there is. Machines come
 * soon, late or never, stop by themselves, and hang; orders fail, or are lost in a crash, or carried out with nobody
 * left to hear of it. A machine is an agent of the world, in one of the last places of soak.agent. */
#include <string.h>

#include "inside.h"
#include "soak.h"

enum { LAUNCH_TRIES = 3, PATIENCE_S = 300 };

static int bounded_delay(struct soak *s, int seconds)
{
    return 1 + one_of(s, seconds);
}

static bool is_there(const struct agent *a)
{
    return a->machine != MACHINE_NONE;
}

int provider_machines(const struct soak *s)
{
    int n = 0;
    for (int i = s->size.agents; i < s->agent_n; i++)
        n += is_there(&s->agent[i]);
    return n;
}

/* Returns a free place for a machine. The name of an earlier machine is not used again, because log policies remember
 * it. */
static struct agent *free_place(struct soak *s)
{
    for (int i = s->size.agents; i < s->agent_n; i++) {
        struct agent *a = &s->agent[i];
        if (!is_there(a) && !a->stored && LIST_EMPTY(&a->held) && LIST_EMPTY(&a->tasks))
            return a;
    }
    return NULL;
}

static void power_off(struct soak *s, struct agent *a, enum machine to)
{
    a->machine = to;
    agent_power_cut(s, a);
    agent_disconnect(s, a, SECOND);
    tick_clear(s, &a->tick);
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

void provider_order(struct soak *s, const struct core_effect *e)
{
    struct provider *p = &s->provider;
    const struct scale_opts *o = &s->pool[p->pool].scale;
    CHECK(s, strcmp(e->order.pool, s->pool[p->pool].name) == 0, "pool %s is not elastic", e->order.pool);
    CHECK(s, e->order.number > p->order && p->launch == 0 && p->terminate_n == 0,
          "order %llu, while %llu is not answered yet", (unsigned long long)e->order.number,
          (unsigned long long)p->order);
    CHECK(s,
          e->order.launch >= 0 && (e->order.launch == 0 || provider_machines(s) + e->order.launch <= o->max_instances),
          "%d machines are ordered, there are %d, and at most %d are allowed", e->order.launch, provider_machines(s),
          o->max_instances);
    p->order = e->order.number;
    p->launch = e->order.launch;
    for (size_t i = 0; i < e->order.terminate_n; i++) {
        struct agent *a = agent_named(s, e->order.terminate[i].id);
        CHECK(s, is_there(a), "%s is to end, and is not there", a->id);
        p->terminate[p->terminate_n++] = a->index;
    }
    tick_in(s, &p->tick, bounded_delay(s, 3) * SECOND);
}

static void launch_one(struct soak *s)
{
    struct agent *a = free_place(s);
    if (!a)
        return; /* the rows of earlier machines are still there, so no place is free */
    snprintf(a->id, sizeof(a->id), "machine-%d-%ld", a->index, ++s->provider.launched);
    a->pool = s->provider.pool;
    a->slots = a->slots_next = s->pool[a->pool].scale.slots_per_instance;
    a->has = s->provider.has;
    a->launch_us = s->now_us;
    a->machine = once_in(s, 4) ? MACHINE_PENDING : MACHINE_RUNS;
    int64_t boot_us = bounded_delay(s, 20) * SECOND;
    if (!s->winding_down && once_in(s, 12))
        a->machine = MACHINE_STOPPED;
    else if (!s->winding_down && once_in(s, 10))
        /* the agent never connects, or connects when nobody waits for it any more */
        boot_us = once_in(s, 2) ? 0 : 400 * SECOND;
    if (a->machine != MACHINE_STOPPED && boot_us > 0)
        tick_in(s, &a->tick, boot_us);
}

/* Carries out an order. Returns NULL if everything was carried out, otherwise an error. */
static const char *carry_out(struct soak *s)
{
    struct provider *p = &s->provider;
    const char *error = NULL;
    int launch = p->launch, terminate_n = p->terminate_n;
    p->launch = p->terminate_n = 0;
    for (int i = 0; i < terminate_n; i++) {
        struct agent *a = &s->agent[p->terminate[i]];
        if (s->winding_down || !once_in(s, 5))
            power_off(s, a, MACHINE_NONE);
        a->idle_since_us = s->now_us;
    }
    for (int i = 0; i < launch && !error; i++) {
        if (!s->winding_down && once_in(s, 8))
            error = "no machines to be had";
        else
            launch_one(s);
    }
    return error;
}

static void send_list(struct soak *s, const char *launch_error)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct core_instance *seen = arena_array(&arena, struct core_instance, (size_t)s->agent_n + 1);
    struct core_event ev = {.type = CORE_INSTANCES_LISTED,
                            .listed = {.pool = s->pool[s->provider.pool].name,
                                       .instance = seen,
                                       .order = s->provider.order,
                                       .launch_error = launch_error}};
    static const enum core_instance_state states[] = {[MACHINE_PENDING] = INSTANCE_PENDING,
                                                      [MACHINE_RUNS] = INSTANCE_RUNNING,
                                                      [MACHINE_STOPPED] = INSTANCE_STOPPED};
    for (int i = s->size.agents; i < s->agent_n; i++) {
        struct agent *a = &s->agent[i];
        if (!is_there(a))
            continue;
        a->machine = a->machine == MACHINE_PENDING && once_in(s, 2) ? MACHINE_RUNS : a->machine;
        seen[ev.listed.n++] = (struct core_instance){.id = a->id,
                                                     .state = states[a->machine],
                                                     .launch_us = a->launch_us};
    }
    s->provider.lists++;
    soak_step(s, &ev);
}

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

static void have_bad_luck(struct soak *s)
{
    int n = s->agent_n - s->size.agents;
    struct agent *a = &s->agent[s->size.agents + one_of(s, n)];
    if (s->winding_down || a->machine != MACHINE_RUNS || !once_in(s, 4))
        return;
    switch (one_of(s, 5)) {
    case 0:
        power_off(s, a, MACHINE_STOPPED);
        return;
    case 1: /* the agent does not come back, but its machine is still listed */
        agent_power_cut(s, a);
        agent_disconnect(s, a, SECOND);
        tick_clear(s, &a->tick);
        return;
    case 2:
        agent_hang(s, a, bounded_delay(s, 30) * SECOND);
        return;
    default:
        if (a->connected)
            agent_disconnect(s, a, bounded_delay(s, 80) * SECOND);
        return;
    }
}

static void tick_provider(struct soak *s, struct tick *t)
{
    if (!s->core)
        return;
    const char *error = carry_out(s);
    tick_in(s, t, bounded_delay(s, 8) * SECOND);
    send_list(s, error);
    if (s->core)
        have_bad_luck(s);
}

/* ---- the master -------------------------------------------------------------------------------------------------- */

/* Takes the provider through the end of a master: orders that were not carried out are lost, or are carried out now. */
void provider_master_down(struct soak *s)
{
    struct provider *p = &s->provider;
    tick_clear(s, &p->tick);
    if (p->launch + p->terminate_n > 0 && once_in(s, 2))
        carry_out(s);
    p->launch = p->terminate_n = 0;
}

void provider_master_up(struct soak *s)
{
    struct provider *p = &s->provider;
    p->order = 0;
    p->tick.fire = tick_provider;
    for (int i = s->size.agents; i < s->agent_n; i++)
        s->agent[i].idle_since_us = s->now_us;
    if (p->pool >= 0)
        tick_in(s, &p->tick, bounded_delay(s, 3) * SECOND);
}

void provider_choose(struct soak *s, bool first)
{
    struct core_pool_opts *p = &s->pool[s->provider.pool];
    int most = s->agent_n - s->size.agents - 3; /* three places are left for machines whose rows are still there */
    s->provider.has = needs_of(8, 32);
    if (first)
        s->provider.slots = s->even[s->provider.pool] || once_in(s, 2) ? EVEN_SLOTS : 4;
    p->elastic = true;
    p->scale = (struct scale_opts){.max_instances = 1 + one_of(s, most),
                                   .slots_per_instance = s->provider.slots,
                                   .max_idle_us = 120 * SECOND,
                                   .max_starting_us = 90 * SECOND,
                                   .max_disconnected_us = 60 * SECOND,
                                   .launch_error_timeout_us = once_in(s, 3) ? 300 * SECOND : 0,
                                   .launch_error_retries = LAUNCH_TRIES};
    p->scale.min_instances = one_of(s, p->scale.max_instances + 1);
}

/* ---- what must hold ---------------------------------------------------------------------------------------------- */

/* Checks that the sums of the pool are right, and that no machine is idle for longer than it may be while there are
 * more machines than the least number. */
void provider_check(struct soak *s)
{
    struct core_pool_view view;
    const struct core_pool_opts *p = &s->pool[s->provider.pool < 0 ? 0 : s->provider.pool];
    if (s->provider.pool < 0 || !s->core)
        return;
    CHECK(s, core_pool(s->core, (size_t)s->provider.pool, &view) && view.elastic, "pool %s", p->name);
    CHECK(s, inside_adds_up(s->core, p->name), "the sums of pool %s do not add up", p->name);
    int n = provider_machines(s);
    s->provider.checks++;
    for (int i = s->size.agents; i < s->agent_n && n > p->scale.min_instances; i++) {
        const struct agent *a = &s->agent[i];
        bool idle = a->connected && a->machine == MACHINE_RUNS && LIST_EMPTY(&a->held);
        CHECK(s, !idle || s->now_us - a->idle_since_us < p->scale.max_idle_us + PATIENCE_S * SECOND,
              "%s idles for %lld s", a->id, (long long)(s->now_us - a->idle_since_us) / SECOND);
    }
}

/* Checks the machines when there is no more work: there are as many as the least number, and the agents of all of them
 * are connected. */
void provider_check_rest(struct soak *s)
{
    const struct scale_opts *o = s->provider.pool < 0 ? NULL : &s->pool[s->provider.pool].scale;
    if (!o)
        return;
    CHECK(s, provider_machines(s) == o->min_instances, "there are %d machines, and should be %d", provider_machines(s),
          o->min_instances);
    for (int i = s->size.agents; i < s->agent_n; i++)
        CHECK(s, !is_there(&s->agent[i]) || s->agent[i].connected, "%s has never come", s->agent[i].id);
}

size_t provider_might_have(const struct soak *s, struct arena *arena, struct plain_agent **ret)
{
    const struct core_pool_opts *p = &s->pool[s->provider.pool];
    size_t n = (size_t)p->scale.max_instances;
    *ret = arena_array(arena, struct plain_agent, n);
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = (struct plain_agent){.id = arena_printf(arena, "new-%zu", i),
                                         .open = true,
                                         .slots = p->scale.slots_per_instance,
                                         .empty_slots = p->scale.slots_per_instance,
                                         .aux = p->max_aux_containers_per_agent,
                                         .empty_aux = p->max_aux_containers_per_agent,
                                         .has = s->provider.has,
                                         .left = s->provider.has};
    return n;
}
