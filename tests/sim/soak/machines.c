/* What machines do, and those who look after them. */
#include <string.h>

#include "soak.h"

/* Chooses the pools, one of each kind. The last one holds only jobs of one slot and equal weight, whose shares can be
 * checked to the slot. */
void choose_pools(struct soak *s)
{
    static const char *const names[POOLS] = {"one", "two", "three", "four", "five"};
    bool first = s->pool_n == 0;
    if (first) {
        s->static_n = 1 + one_of(s, STATIC_POOLS);
        s->pool_n = s->static_n + one_of(s, 2);
        s->provider.pool = s->pool_n > s->static_n ? s->static_n : -1;
    }
    for (int i = 0; i < s->pool_n; i++) {
        struct core_pool_opts *p = &s->pool[i];
        if (first) {
            s->narrow[i] = i == STATIC_POOLS - 1 || once_in(s, 6);
            s->even[i] = s->narrow[i] || once_in(s, 2);
        }
        *p = (struct core_pool_opts){.name = names[i], .max_aux_containers_per_agent = once_in(s, 3) ? 3 : 100};
        enum sched_policy in_order = once_in(s, 5) ? SCHED_BY_ROUND_ROBIN : SCHED_BY_PRIORITY;
        p->sched = (struct sched_opts){.policy = s->narrow[i] || once_in(s, 3) ? SCHED_BY_FAIR_SHARE : in_order,
                                       .preemption = !once_in(s, 3),
                                       .fitting = once_in(s, 2) ? FITTING_WORST : FITTING_BEST,
                                       .allow_heterogeneous_fits = once_in(s, 4),
                                       .aging_us = once_in(s, 3) ? 600 * SECOND : 0};
        if (i == s->provider.pool)
            provider_choose(s, first);
    }
}

const char *soak_pool_name(const struct soak *s, const char *name)
{
    for (int i = 0; i < s->pool_n; i++)
        if (strcmp(s->pool[i].name, name) == 0)
            return s->pool[i].name;
    CHECK(s, false, "pool %s", name);
}

static void toggle_agent(struct soak *s, const struct agent *a)
{
    struct core_event ev = {.type = CORE_AGENT_ENABLE,
                            .enable = {.agent_id = a->id, .enable = !once_in(s, 3), .drain = once_in(s, 2)}};
    soak_step(s, &ev);
}

static void toggle_slot(struct soak *s, const struct agent *a)
{
    struct core_event ev = {.type = CORE_SLOT_ENABLE,
                            .enable = {.agent_id = a->id,
                                       .slot = one_of(s, a->slots + 1),
                                       .enable = !once_in(s, 3),
                                       .drain = once_in(s, 2)}};
    soak_step(s, &ev);
}

/* Plans a crash of the master in one of the next steps. */
static void plan_crash(struct soak *s)
{
    if (s->crash_in > 0 || !once_in(s, 20))
        return;
    s->crash_in = 1 + one_of(s, 20);
    s->crash_mode = (enum crash)(CRASH_BEFORE_COMMIT + one_of(s, CRASH_NR - 1));
}

static void disconnect_agent(struct soak *s, struct agent *a)
{
    if (!s->even[a->pool] && once_in(s, 5)) /* the machine comes back with another number of devices */
        a->slots_next = a->slots > 1 && once_in(s, 2) ? a->slots - 1 : 8;
    /* the first pool always has an agent, because tasks of their own are never killed */
    if (a->index > 0 && once_in(s, 20))
        a->pool = one_of(s, s->static_n);
    if (s->even[a->pool])
        a->slots_next = EVEN_SLOTS;
    agent_disconnect(s, a, about(s, 20 * SECOND));
}

void machines_tick(struct soak *s, struct tick *t)
{
    struct agent *a = &s->agent[one_of(s, s->size.agents)];
    tick_in(s, t, about(s, 600 * SECOND / (s->size.agents + 1)));
    if (s->winding_down)
        return;
    switch (one_of(s, 8)) {
    case 0:
    case 1:
        disconnect_agent(s, a);
        return;
    case 2:
        agent_power_cut(s, a);
        disconnect_agent(s, a);
        return;
    case 3:
        agent_hang(s, a, about(s, 10 * SECOND));
        return;
    case 4:
        toggle_agent(s, a);
        return;
    case 5:
    case 6:
        toggle_slot(s, a);
        return;
    default:
        plan_crash(s);
        return;
    }
}

void machines_mend(struct soak *s)
{
    for (int i = 0; i < s->size.agents; i++) {
        struct core_event ev = {.type = CORE_AGENT_ENABLE, .enable = {.agent_id = s->agent[i].id, .enable = true}};
        CHECK(s, s->agent[i].connected, "%s has not come back", s->agent[i].id);
        CHECK(s, soak_step(s, &ev), "%s cannot be enabled", s->agent[i].id);
    }
}
