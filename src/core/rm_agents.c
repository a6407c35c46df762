/* The resource manager of our own agents: snapshot → scheduler → containers on agents. */
#include <stdlib.h>
#include <string.h>

#include "core/agents.h"
#include "core/allocation.h"
#include "core/effects.h"
#include "core/rm.h"
#include "core/sched/sched.h"

/* The snapshot's rows, and what they stand for. */
struct view {
    struct sched_snapshot snapshot;
    struct agent **agent;
    struct allocation **allocation;
};

static struct sched_agent agent_snapshot(const struct agent *agent, int aux_max)
{
    struct sched_agent s = {.id = agent->row.id, .aux = aux_max};
    for (size_t i = 0; i < agent->slot_n; i++) {
        if (!slot_usable(agent, &agent->slot[i]))
            continue;
        s.slots++;
        s.empty_slots += agent->slot[i].container == NULL;
    }
    s.empty_aux = aux_max - agent_aux_used(agent);
    if (s.empty_aux < 0)
        s.empty_aux = 0;
    return s;
}

static void snapshot_agents(const struct core *c, const struct pool *p, struct arena *a, struct view *ret)
{
    size_t n = HASH_COUNT(c->agents);
    struct sched_agent *agent = arena_array(a, struct sched_agent, n + 1);
    ret->agent = arena_array(a, struct agent *, n + 1);
    for (struct agent *g = c->agents; g != NULL; g = g->hh.next) {
        if (g->pool != p || g->presence != AGENT_CONNECTED || !g->row.enabled)
            continue;
        ret->agent[ret->snapshot.agent_n] = g;
        agent[ret->snapshot.agent_n++] = agent_snapshot(g, p->opts.max_aux_containers_per_agent);
    }
    ret->snapshot.agent = agent;
}

/* Lines to a list. */
static void block_agents(const char *excluded, struct arena *a, struct sched_request *ret)
{
    if (excluded == NULL)
        return;
    const char **id = arena_array(a, const char *, strlen(excluded));
    for (const char *line = excluded; *line != '\0'; line += strcspn(line, "\n") + 1)
        id[ret->blocked_n++] = arena_strndup(a, line, strcspn(line, "\n"));
    ret->blocked_agent = id;
}

static struct sched_request request_snapshot(const struct allocation *al, struct arena *a)
{
    const struct experiment *x = al->trial->experiment;
    struct sched_group *group = arena_new(a, struct sched_group);
    *group = (struct sched_group){.job_id = x->row.job_id, .priority = x->spec.priority, .weight = x->spec.weight,
                                  .max_slots = x->spec.max_slots, .queue_position = x->row.queue_position,
                                  .submitted_us = x->row.start_us};
    struct sched_request request = {.allocation_id = al->row.id, .group = group, .slots = al->row.slots,
                                  .request_us = al->row.request_us, .single_agent = x->spec.single_node, .preemptible = true,
                                  .allocated = al->sm.state != ALLOCATION_PENDING};
    block_agents(al->trial->excluded, a, &request);
    return request;
}

/* Is anything free that anyone waits for? */
static bool has_room(const struct pool *p, const struct sched_snapshot *s)
{
    for (size_t i = 0; i < s->agent_n; i++)
        if ((p->waiting_slots_n > 0 && s->agent[i].empty_slots > 0) ||
            (p->waiting_aux_n > 0 && s->agent[i].empty_aux > 0))
            return true;
    return false;
}

static void snapshot_requests(const struct pool *p, struct arena *a, struct view *ret)
{
    size_t n = 0;
    struct allocation *al;
    TAILQ_FOREACH(al, &p->allocations, in_pool)
        n++;
    struct sched_request *request = arena_array(a, struct sched_request, n + 1);
    ret->allocation = arena_array(a, struct allocation *, n + 1);
    TAILQ_FOREACH(al, &p->allocations, in_pool) {
        ret->allocation[ret->snapshot.request_n] = al;
        request[ret->snapshot.request_n++] = request_snapshot(al, a);
    }
    ret->snapshot.request = request;
}

static void take_slots(struct agent *agent, struct container *k, int n)
{
    for (size_t i = 0; i < agent->slot_n && k->row.device_n < n; i++) {
        struct slot *s = &agent->slot[i];
        if (s->container != NULL || !slot_usable(agent, s))
            continue;
        s->container = k;
        k->row.device_id[k->row.device_n++] = s->device.id;
    }
}

static void place(struct core *c, struct view *v, const struct sched_placement *placement)
{
    struct allocation *al = v->allocation[placement->request];
    for (size_t i = 0; i < placement->share_n; i++) {
        struct agent *agent = v->agent[placement->share[i].agent];
        take_slots(agent, allocation_add_container(c, al, agent), placement->share[i].slots);
    }
    allocation_assigned(c, al);
}

static void turn(struct core *c, struct pool *p)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct view v = {
        .snapshot = {.fitting = p->opts.fitting, .allow_heterogeneous_fits = p->opts.allow_heterogeneous_fits}};
    struct sched_decision decision;
    snapshot_agents(c, p, &a, &v);
    /* The scheduler in order never takes from one to give to another: on a full pool, where thousands may wait and
     * every creation and every exit comes by here, it has nothing to decide. */
    if (!has_room(p, &v.snapshot))
        return;
    snapshot_requests(p, &a, &v);
    sched_in_order(&v.snapshot, &a, &decision);
    for (size_t i = 0; i < decision.allocate_n; i++)
        place(c, &v, &decision.allocate[i]);
    for (size_t i = 0; i < decision.release_n; i++)
        allocation_terminate(c, v.allocation[decision.release[i]], "preempted by the scheduler");
}

/* What an agent that is away should be told, it is told when it comes back (agents.c). */
static void send_signal(struct core *c, struct container *k, int signal)
{
    if (k->agent != NULL && k->agent->presence == AGENT_CONNECTED)
        signal_container(c, k, signal);
}

static void released(struct core *c, struct container *k)
{
    struct agent *agent = k->agent;
    if (agent == NULL)
        return;
    for (size_t i = 0; i < agent->slot_n; i++)
        if (agent->slot[i].container == k)
            agent->slot[i].container = NULL;
    LIST_REMOVE(k, in_agent);
    k->agent = NULL;
    agent->pool->changed = true;
}

const struct rm_type rm_agents = {.name = "agents", .turn = turn, .signal = send_signal, .released = released};
