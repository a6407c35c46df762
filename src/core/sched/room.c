#include "core/sched/room.h"

#include <stdlib.h>
#include <string.h>

/* ---- who could have a place -------------------------------------------------------------------------------------- */

/* What would be left on the agent of cores and memory if everything that may be stopped for a gang were gone. */
static bool would_have_needs(const struct sched_request *r, const struct sched_agent *agent)
{
    struct sched_needs left = agent->has;
    needs_add(&left, &agent->fixed_needs, -1);
    return needs_fit(&r->needs, &left);
}

/* Returns the largest number of free slots on one agent if everything that can be preempted were gone. Sets size->whole
 * to the number of agents of each size that would be idle then. Agents that would not have the cores and the memory of
 * the request do not count. */
static int count_what_could_be_free(struct sched *s, const struct sched_request *r)
{
    int most = 0;
    for (struct agent_size *size = s->agents.sizes; size; size = size->next)
        size->whole = 0;
    for (const struct sched_agent *agent = s->agents.by_id; agent; agent = agent->hh.next) {
        if (!agent->open || sched_is_blocked(r, agent) || !would_have_needs(r, agent))
            continue;
        most = agent->slots - agent->fixed > most ? agent->slots - agent->fixed : most;
        agent->size->whole += agent->fixed == 0;
    }
    return most;
}

/* Returns true if room for the request can be made on one agent only. That is so where gangs may take agents of several
 * sizes, because there the agents that add up to the request depend on which of them are idle. */
static bool needs_one_agent(const struct sched *s, const struct sched_request *r)
{
    return r->single_agent || s->opts.allow_heterogeneous_fits;
}

static bool would_fit(const struct sched *s, const struct sched_request *r, int most)
{
    if (r->slots <= most)
        return true;
    if (needs_one_agent(s, r))
        return false;
    for (const struct agent_size *size = s->agents.sizes; size && size->slots > 0; size = size->next)
        if (r->slots % size->slots == 0 && size->whole >= (size_t)(r->slots / size->slots))
            return true;
    return false;
}

/* Agents differ for the group: it has blocked agents, or needs cores or memory. */
static bool looks_at_agents(const struct sched_request *r)
{
    return r->blocked_n > 0 || needs_any(&r->needs);
}

/* *most is what count_what_could_be_free() says, which is the same for all groups to which all agents are alike; -1: it
 * has not been counted yet. */
static void find_whether_group_counts(struct sched *s, const struct sched_group *group, int *most)
{
    const struct sched_request *any = group_any(group);
    bool fits_now = agent_index_fit(&s->agents, any, s->share) > 0, counts = fits_now;
    struct sched_shape *shape;
    if (!counts && agent_index_could_fit(&s->agents, any)) {
        bool any_slot_will_do = any->slots == 1 && !needs_any(&any->needs);
        if (!any_slot_will_do && (*most < 0 || looks_at_agents(any)))
            *most = count_what_could_be_free(s, any);
        counts = any_slot_will_do || would_fit(s, any, *most);
    }
    LIST_FOREACH(shape, &group->shapes, in_group) {
        bool allowed = shape->allowed != NOT_ALLOWED;
        shape->fits_now = allowed && fits_now;
        shape->counts = allowed && counts;
    }
}

/* All groups to which all agents are alike share one count; each other group has a count of its own. */
void room_find_who_counts(struct sched *s)
{
    const struct sched_group *group;
    int most = -1;
    for (int apart = 0; apart < 2; apart++)
        LIST_FOREACH(group, &s->with_slots[0].groups, in_level)
            if (looks_at_agents(group_any(group)) == apart)
                find_whether_group_counts(s, group, &most);
}

/* ---- which agents ------------------------------------------------------------------------------------------------ */

struct candidate {
    struct sched_agent *agent;
    uint64_t distance;
};

static bool may_be_stopped(const struct pass *p, const struct sched_request *victim, const struct sched_request *r)
{
    return victim->slots < r->slots && victim->released_in != p->s->pass;
}

/* Sets agent->room, and agent->room_needs, to what would be free on the agent if smaller requests there were stopped
 * for r. */
static void count_what_could_be_stopped(struct pass *p, const struct sched_request *r)
{
    struct sched *s = p->s;
    struct sched_request *victim;
    s->room_counts++;
    RB_FOREACH(victim, sched_requests, &s->with_slots[0].running) {
        for (size_t i = 0; may_be_stopped(p, victim, r) && i < victim->share_n; i++) {
            struct sched_agent *agent = victim->share[i].agent;
            if (agent->room_counted_in != s->room_counts) {
                agent->room = 0;
                agent->room_needs = (struct sched_needs){0};
            }
            agent->room += victim->share[i].slots;
            needs_add(&agent->room_needs, &victim->needs, 1);
            agent->room_counted_in = s->room_counts;
        }
    }
}

static int room_on(const struct sched *s, const struct sched_agent *agent)
{
    int room = agent->empty_slots + (agent->room_counted_in == s->room_counts ? agent->room : 0);
    return room < agent->slots ? room : agent->slots;
}

static bool has_room_of_needs(const struct sched *s, const struct sched_request *r, const struct sched_agent *agent)
{
    struct sched_needs left = agent->left;
    if (agent->room_counted_in == s->room_counts)
        needs_add_upto(&left, &agent->room_needs, &agent->has);
    return needs_fit(&r->needs, &left);
}

/* The order of candidates: first the agents on which the least has to be stopped, then the order that the request
 * prefers. */
static int by_ease(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->agent->empty_slots != b->agent->empty_slots)
        return a->agent->empty_slots > b->agent->empty_slots ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return strcmp(a->agent->id, b->agent->id);
}

/* Finds agents on which r could run after something was stopped. size 0: any agent that could hold all of r; otherwise
 * agents of this size that could be idle. */
static size_t find_candidates(struct sched *s, const struct sched_request *r, int size, struct candidate *ret)
{
    size_t n = 0;
    for (struct sched_agent *agent = s->agents.by_id; agent; agent = agent->hh.next) {
        if (!agent->open || sched_is_blocked(r, agent) || (size > 0 && agent->slots != size))
            continue;
        if (room_on(s, agent) >= (size > 0 ? size : r->slots) && has_room_of_needs(s, r, agent))
            ret[n++] = (struct candidate){agent, r->hash - agent->hash};
    }
    qsort(ret, n, sizeof(*ret), by_ease);
    return n;
}

static size_t choose_agents(struct pass *p, const struct sched_request *r, struct sched_share *ret)
{
    struct sched *s = p->s;
    struct candidate *c = arena_array(p->arena, struct candidate, s->agent_n + 1);
    if (find_candidates(s, r, 0, c) > 0) {
        ret[0] = (struct sched_share){c[0].agent, r->slots};
        return 1;
    }
    for (const struct agent_size *size = s->agents.sizes; size && !needs_one_agent(s, r); size = size->next) {
        if (size->slots == 0 || r->slots % size->slots != 0)
            continue;
        size_t wanted = (size_t)(r->slots / size->slots);
        if (size->n < wanted || find_candidates(s, r, size->slots, c) < wanted)
            continue;
        for (size_t i = 0; i < wanted; i++)
            ret[i] = (struct sched_share){c[i].agent, size->slots};
        return wanted;
    }
    return 0;
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

/* Returns whether a share has some of what is needed and not there. */
static bool gives_needs(const struct sched_needs *wanted, const struct sched_needs *left,
                        const struct sched_needs *share)
{
    struct sched_needs helps = {.millicores = share->millicores > 0 ? wanted->millicores : 0,
                                .memory_bytes = share->memory_bytes > 0 ? wanted->memory_bytes : 0};
    return !needs_fit(&helps, left);
}

static bool stopping_helps(const struct sched *s, const struct sched_request *victim)
{
    for (size_t i = 0; i < victim->share_n; i++) {
        const struct sched_agent *agent = victim->share[i].agent;
        if (agent->room_counted_in != s->room_counts)
            continue;
        if (agent->empty_slots < agent->room || gives_needs(&agent->room_needs, &agent->left, &victim->needs))
            return true;
    }
    return false;
}

static void stop_request(struct pass *p, struct sched_request *victim)
{
    struct sched_job *job = victim->job;
    job->stopped = (job->stopped_in == p->s->pass ? job->stopped : 0) + victim->slots;
    job->stopped_in = p->s->pass;
    pass_release(p, victim);
    agent_index_give(&p->s->agents, victim->share, victim->share_n, &victim->needs);
}

size_t room_make(struct pass *p, const struct sched_request *r)
{
    struct sched *s = p->s;
    struct sched_request *victim;
    count_what_could_be_stopped(p, r);
    size_t n = choose_agents(p, r, s->share);
    if (n == 0)
        return 0;
    s->room_counts++; /* from here on agent->room and agent->room_needs are what must be free on a chosen agent */
    for (size_t i = 0; i < n; i++) {
        s->share[i].agent->room_counted_in = s->room_counts;
        s->share[i].agent->room = s->share[i].slots;
        s->share[i].agent->room_needs = r->needs;
    }
    RB_FOREACH_REVERSE(victim, sched_requests, &s->with_slots[0].running)
        if (may_be_stopped(p, victim, r) && stopping_helps(s, victim))
            stop_request(p, victim);
    return n;
}
