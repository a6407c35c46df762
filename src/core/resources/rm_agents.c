/* The resource manager of our own agents. It tells the pool's scheduler what has changed, asks it for a pass, and makes
 * containers on agents of what it decides. Changes are told at the end of a step, when they are complete: agents that
 * changed are on the pool's `stale` list, allocations that came on its `new` one. */
#include <stdlib.h>
#include <string.h>

#include "core/resources/agents.h"
#include "core/resources/allocation.h"
#include "core/resources/elastic.h"
#include "core/resources/quotas.h"
#include "core/resources/rm.h"
#include "core/state/step.h"

static void open_pool(struct pool *p)
{
    p->sched = sched_new(&p->opts.sched, p->ledger);
}

static void close_pool(struct pool *p)
{
    sched_free(p->sched);
}

/* ---- agents ------------------------------------------------------------------------------------------------------ */

/* Counts the slots that the containers on the agent hold. They are counted by container, because after a restart the
 * slots of an agent that is not back yet are not known. */
static int slots_held(const struct agent *agent)
{
    const struct container *k;
    int held = 0;
    LIST_FOREACH(k, &agent->containers, in_agent)
        held += k->row.device_n;
    return held;
}

/* Returns what the agent offers to the scheduler. An agent that takes no new work still counts with the slots that are
 * in use. */
static struct sched_agent offer_of(const struct agent *agent, int aux_max)
{
    struct sched_agent s = {.open = agent->presence == AGENT_CONNECTED && agent->row.enabled && !agent->leaving,
                            .aux = aux_max};
    if (!s.open) {
        s.slots = slots_held(agent);
        return s;
    }
    for (size_t i = 0; i < agent->slot_n; i++) {
        if (!slot_usable(agent, &agent->slot[i]))
            continue;
        s.slots++;
        s.empty_slots += !agent->slot[i].container;
    }
    int empty_aux = aux_max - agent_aux_used(agent);
    s.empty_aux = empty_aux > 0 ? empty_aux : 0;
    struct sched_needs held = agent_needs_held(agent);
    s.has = s.left = agent->has;
    needs_add(&s.left, &held, -1);
    return s;
}

static void withdraw_agent(struct agent *agent)
{
    if (agent->offered_to)
        sched_agent_leave(agent->offered_to->sched, &agent->sched);
    agent->offered_to = NULL;
}

static void take_off_stale_list(struct agent *agent)
{
    if (agent->stale)
        LIST_REMOVE(agent, in_stale);
    agent->stale = false;
}

static void agent_forgotten(struct agent *agent)
{
    take_off_stale_list(agent);
    elastic_touch(agent->pool, agent);
    withdraw_agent(agent);
}

static void offer_agent(struct agent *agent)
{
    struct pool *p = agent->pool;
    struct sched_agent now = offer_of(agent, p->opts.max_aux_containers_per_agent);
    if (agent->offered_to != p) {
        withdraw_agent(agent);
        agent->sched = now;
        agent->sched.id = agent->row.id;
        agent->offered_to = p;
        sched_agent_join(p->sched, &agent->sched);
    } else {
        sched_agent_set(p->sched, &agent->sched, &now);
    }
}

static void tell_agents(struct pool *p)
{
    struct agent *agent;
    while ((agent = LIST_FIRST(&p->stale))) {
        take_off_stale_list(agent);
        elastic_touch(p, agent);
        if (agent->presence == AGENT_GONE)
            withdraw_agent(agent);
        else
            offer_agent(agent);
    }
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* Tells the scheduler after a restart of an allocation that has its slots already. For aging, an allocation waits until
 * it starts. */
static void hold_restored(struct pool *p, struct allocation *al, int64_t now_us)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct sched_share *share = arena_array(&a, struct sched_share, al->container_n + 1);
    size_t n = 0;
    for (size_t i = 0; i < al->container_n; i++) {
        const struct container *k = al->container[i];
        if (k->agent && k->agent->offered_to == p)
            share[n++] = (struct sched_share){&k->agent->sched, k->row.device_n};
    }
    sched_request_hold(p->sched, &al->request, al->row.start_us != 0 ? al->row.start_us : now_us, share, n);
    if (al->killed_us != 0 || al->row.preempt_deadline_us != 0)
        sched_request_releasing(p->sched, &al->request);
}

/* Makes a list of the trial's excluded agents, which the trial keeps as lines of text. */
static void block_agents(struct allocation *al)
{
    const char *excluded = al->trial ? al->trial->excluded : NULL;
    if (!excluded)
        return;
    const char **id = arena_array(&al->blocked, const char *, strlen(excluded));
    for (const char *line = excluded; *line != '\0'; line += strcspn(line, "\n") + 1)
        id[al->request.blocked_n++] = arena_strndup(&al->blocked, line, strcspn(line, "\n"));
    al->request.blocked_agent = id;
}

/* Finds the quotas of a job that the scheduler does not know yet. */
static void keep_to_quotas(struct core *c, struct allocation *al, const struct experiment *x)
{
    struct sched_job *job = al->request.job;
    if (job->request_n > 0)
        return;
    if (x)
        job->quotas = quotas_of(c, x->spec.workspace_id, x->row.owner_id);
    else if (task_kind_is_launched(al->task->row.kind))
        job->quotas = quotas_of(c, al->task->launched.workspace_id, al->task->row.owner_id);
}

static void tell_requests(struct core *c, struct pool *p)
{
    struct allocation *al;
    while ((al = TAILQ_FIRST(&p->new))) {
        struct experiment *x = al->trial ? al->trial->experiment : NULL;
        TAILQ_REMOVE(&p->new, al, in_new);
        al->request = (struct sched_request){.allocation_id = al->row.id,
                                             .job = x ? &job_in_pool(x, p)->sched : &al->job->sched,
                                             .slots = al->row.slots,
                                             .needs = {al->row.millicores, al->row.memory_bytes},
                                             .single_agent = x ? x->spec.single_node : al->row.slots > 0,
                                             .preemptible = x != NULL,
                                             .request_us = al->row.request_us};
        keep_to_quotas(c, al, x);
        block_agents(al);
        al->known_to_sched = true;
        if (al->row.state == ALLOCATION_PENDING) {
            sched_request_add(p->sched, &al->request);
            elastic_waits(p, &al->request, 1);
        } else {
            hold_restored(p, al, c->now_us);
        }
    }
}

static void remove_request(struct pool *p, struct allocation *al)
{
    struct job *job = container_of(al->request.job, struct job, sched);
    if (al->request.state == SCHED_PENDING)
        elastic_waits(p, &al->request, -1);
    sched_request_remove(p->sched, &al->request);
    if (!job->experiment && job->sched.request_n == 0)
        free(job);
}

/* Tells the scheduler that an allocation is on its way out. Another allocation may need its slots, so there is another
 * pass. */
static void release_request(struct allocation *al)
{
    if (!al->known_to_sched)
        return;
    sched_request_releasing(al->pool->sched, &al->request);
    al->pool->changed = true;
}

static void reweigh_job(struct pool *p, struct job *job, const struct sched_job *to)
{
    int max_slots_before = job->sched.max_slots;
    sched_job_set(p->sched, &job->sched, to);
    elastic_limits(p, job, max_slots_before);
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

static void take_slots(struct agent *agent, struct container *k, int n)
{
    for (size_t i = 0; i < agent->slot_n && k->row.device_n < n; i++) {
        struct slot *s = &agent->slot[i];
        if (s->container || !slot_usable(agent, s))
            continue;
        s->container = k;
        k->row.device_id[k->row.device_n++] = s->device.id;
    }
}

static void place_request(struct core *c, struct pool *p, const struct sched_placement *placement)
{
    struct allocation *al = container_of(placement->request, struct allocation, request);
    elastic_waits(p, &al->request, -1);
    for (size_t i = 0; i < placement->share_n; i++) {
        struct agent *agent = container_of(placement->share[i].agent, struct agent, sched);
        take_slots(agent, allocation_add_container(c, al, agent), placement->share[i].slots);
        elastic_touch(p, agent);
    }
    allocation_assigned(c, al);
}

/* Runs one pass and carries out what it decides. Returns false if the pass has decided nothing. */
static bool run_pass(struct core *c, struct pool *p)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct sched_decision d;
    sched_pass(p->sched, c->now_us, &a, &d);
    for (size_t i = 0; i < d.allocate_n; i++)
        place_request(c, p, &d.allocate[i]);
    for (size_t i = 0; i < d.release_n; i++)
        allocation_terminate(c, container_of(d.release[i], struct allocation, request), "preempted by the scheduler");
    if (d.again_us != 0)
        timer_set(&c->timers, &p->pass, TIMER_POOL_PASS, d.again_us);
    else
        timer_clear(&c->timers, &p->pass);
    return d.allocate_n > 0 || d.release_n > 0;
}

/* Runs passes until one decides nothing. This is needed because a pass may want to stop what the pass before it has
 * placed, for a request that had no place then, and no other event may come for a long time. The passes come to an end,
 * because each decision leaves less to decide. */
static void run_turn(struct core *c, struct pool *p)
{
    tell_requests(c, p);
    while (run_pass(c, p))
        ;
    p->changed = false; /* the passes have already taken into account what they have stopped */
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

/* Sends a signal to a container. An agent that is not connected gets the signal when it connects again (agents.c). */
static void send_signal(struct core *c, struct container *k, int signal)
{
    if (k->agent && k->agent->presence == AGENT_CONNECTED)
        signal_container(c, k, signal);
}

static void release_container(struct core *c, struct container *k)
{
    struct agent *agent = k->agent;
    if (!agent)
        return;
    for (size_t i = 0; i < agent->slot_n; i++)
        if (agent->slot[i].container == k)
            agent->slot[i].container = NULL;
    LIST_REMOVE(k, in_agent);
    k->agent = NULL;
    if (k->allocation->known_to_sched)
        sched_request_gave_back(k->allocation->pool->sched, &k->allocation->request, &agent->sched);
    agent_changed(c, agent);
}

const struct rm_type rm_agents = {.name = "agents",
                                  .open = open_pool,
                                  .close = close_pool,
                                  .take_stock = tell_agents,
                                  .turn = run_turn,
                                  .signal = send_signal,
                                  .released = release_container,
                                  .leaving = release_request,
                                  .agent_forgotten = agent_forgotten,
                                  .removed = remove_request,
                                  .reweighed = reweigh_job};
