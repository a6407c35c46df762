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

/* Sets s->most_free to the largest number of free slots on one agent if everything that can be preempted were gone, and
 * size->whole to the number of agents of each size that would be idle then. */
static void count_what_could_be_free(struct sched *s)
{
    if (s->most_free_at == s->agents.changes)
        return;
    s->most_free_at = s->agents.changes;
    s->most_free = 0;
    for (struct agent_size *size = s->agents.sizes; size; size = size->next)
        size->whole = 0;
    for (const struct sched_agent *agent = s->agents.by_id; agent; agent = agent->hh.next) {
        if (!agent->open)
            continue;
        s->most_free = agent->slots - agent->fixed > s->most_free ? agent->slots - agent->fixed : s->most_free;
        agent->size->whole += agent->fixed == 0;
    }
}

/* Returns true if room for the request can be made on one agent only. That is so where gangs may take agents of several
 * sizes, because there the agents that add up to the request depend on which of them are idle. */
static bool needs_one_agent(const struct sched *s, const struct sched_request *r)
{
    return r->single_agent || s->opts.allow_heterogeneous_fits;
}

static bool would_fit(struct sched *s, const struct sched_request *r)
{
    count_what_could_be_free(s);
    if (r->slots <= s->most_free)
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

/* Answers the same for one request alone. Agents are looked at until the answer is known. */
static bool would_fit_on_its_agents(struct sched *s, const struct sched_request *r)
{
    for (struct agent_size *size = s->agents.sizes; size; size = size->next)
        size->able = 0;
    for (const struct sched_agent *agent = s->agents.by_id; agent; agent = agent->hh.next) {
        int slots = agent->slots;
        bool alone = slots - agent->fixed >= r->slots,
             as_part = agent->fixed == 0 && slots > 0 && r->slots % slots == 0 && !needs_one_agent(s, r);
        if (!agent->open || !(alone || as_part) || !would_have_needs(r, agent) || sched_is_blocked(r, agent))
            continue;
        if (alone || ++agent->size->able >= (size_t)(r->slots / slots))
            return true;
    }
    return false;
}

/* Returns whether such a request would have a place if everything that can be preempted were gone. */
static bool could_have_room(struct sched *s, struct sched_group *group)
{
    const struct sched_request *any = group_any(group);
    if (any->slots == 1 && !needs_any(&any->needs))
        return group_could_fit(s, group); /* any slot will do */
    if (!looks_at_agents(any))
        return would_fit(s, any);
    if (group->could_have_room_at != s->agents.changes)
        group->could_have_room = would_fit_on_its_agents(s, any);
    group->could_have_room_at = s->agents.changes;
    return group->could_have_room;
}

void room_find_who_counts(struct sched *s)
{
    struct sched_group *group;
    LIST_FOREACH(group, &s->with_slots[0].groups, in_level) {
        group->fits_now = agent_index_fit(&s->agents, group_any(group), s->share) > 0;
        group->counts = group->fits_now || could_have_room(s, group);
    }
}

/* ---- which agents ------------------------------------------------------------------------------------------------ */

struct candidate {
    struct sched_agent *agent;
    uint64_t distance;
};

static bool is_lent(const struct pass *p, const struct sched_request *victim)
{
    return victim->lent_in == p->s->pass;
}

static bool may_be_stopped(const struct pass *p, const struct sched_request *victim, const struct sched_request *r)
{
    bool lent = is_lent(p, victim), smaller = victim->slots < r->slots;
    return victim->released_in != p->s->pass && (p->borrowing ? lent && smaller : lent || smaller);
}

/* Sets agent->room, and agent->room_needs, to what would be free on the agent if all that may be were stopped there for
 * r. */
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

/* Returns whether something is still to be stopped on one of the chosen agents. */
static bool lacks_room(const struct sched *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct sched_agent *agent = s->share[i].agent;
        if (agent->empty_slots < agent->room || !needs_fit(&agent->room_needs, &agent->left))
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
    for (int lent = p->has_lent; lent >= 0 && lacks_room(s, n); lent--)
        RB_FOREACH_REVERSE(victim, sched_requests, &s->with_slots[0].running)
            if (is_lent(p, victim) == (lent == 1) && may_be_stopped(p, victim, r) && stopping_helps(s, victim))
                stop_request(p, victim);
    return n;
}
