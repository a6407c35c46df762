/* Which waiting requests are infeasible: they would have no place even if everything were stopped that may be
 * stopped for them.
 *
 * To find that out on the indexes, a pass would have to stop one running request after the other, for each kind of
 * waiting request and at each event. Instead this file counts. It goes from the least important priority to the most
 * important one and adds up, for every agent, how much room the agent would have if all that may be stopped for that
 * priority were gone. Each running request is looked at once.
 *
 * The count leaves out blocked agents, cores and memory, and gangs over agents of several sizes. So a request that is
 * not infeasible here may still turn out to have no place. */
#include <stdlib.h>
#include <string.h>

#include "core/sched/internal.h"

bool shape_set_has(const struct shape_set *set, const struct sched_shape *shape)
{
    for (size_t i = 0; i < set->n; i++)
        if (memcmp(&set->key[i], &shape->key.fit, sizeof(shape->key.fit)) == 0)
            return true;
    return false;
}

void shape_set_add(struct shape_set *set, const struct sched_shape *shape)
{
    if (set->n < SHAPE_SET_MAX && !shape_set_has(set, shape))
        set->key[set->n++] = shape->key.fit;
}

bool group_could_fit(struct sched *s, struct sched_group *group)
{
    if (group->could_fit_at != s->agents.changes)
        group->could_fit = agent_index_could_fit(&s->agents, group_any(group));
    group->could_fit_at = s->agents.changes;
    return group->could_fit;
}

struct room_count {
    struct sched *s;
    int most; /* the largest room on one agent */
};

static struct agent_size *size_of(struct sched *s, int slots)
{
    struct agent_size *size = s->projection.agents.sizes;
    while (size && size->slots != slots)
        size = size->next;
    return size;
}

/* Starts the count with the slots that will be free when all requests that are on their way out have ended. */
static void count_what_will_be_free(struct room_count *o)
{
    struct sched *s = o->s;
    s->room_counts++;
    o->most = 0;
    for (struct agent_size *size = s->projection.agents.sizes; size; size = size->next)
        size->whole = 0;
    for (const struct sched_bucket *b = s->projection.agents.for_slots.first; b; b = b->next) {
        if (b->n == 0)
            continue;
        o->most = b->key.empty > o->most ? b->key.empty : o->most;
        if (b->key.empty == b->key.all)
            size_of(s, b->key.all)->whole += b->n;
    }
}

static void would_give_back(struct room_count *o, const struct sched_request *r)
{
    for (size_t i = 0; i < r->share_n; i++) {
        struct sched_agent *agent = r->share[i].agent->projected;
        if (!agent->open || r->share[i].slots == 0)
            continue;
        if (agent->room_counted_in != o->s->room_counts)
            agent->room = agent->empty_slots;
        agent->room_counted_in = o->s->room_counts;
        if (agent->room == agent->slots)
            continue;
        agent->room += r->share[i].slots;
        if (agent->room > agent->slots)
            agent->room = agent->slots;
        if (agent->room == agent->slots)
            agent->size->whole++;
        o->most = agent->room > o->most ? agent->room : o->most;
    }
}

static bool would_hold(const struct room_count *o, const struct sched_group *group)
{
    int slots = group->fit.slots;
    size_t all = 0;
    if (slots <= o->most)
        return true;
    if (group->fit.single_agent)
        return false;
    for (const struct agent_size *size = o->s->projection.agents.sizes; size && size->slots > 0; size = size->next) {
        if (slots % size->slots == 0 && size->whole >= (size_t)(slots / size->slots))
            return true;
        all += size->whole * (size_t)size->slots;
    }
    return o->s->projection.agents.allow_heterogeneous_fits && all >= (size_t)slots;
}

struct group_turn {
    struct sched_group *group;
    int64_t position; /* of the first job that has a request in the group */
};

static int latest_first(const void *pa, const void *pb)
{
    const struct group_turn *a = pa, *b = pb;
    return a->position > b->position ? -1 : a->position < b->position;
}

/* Finds the infeasible groups of one priority. For a request, running requests of its own priority may be stopped only
 * if their jobs stand behind its job in the queue. Groups that their quotas forbid as a whole are left out. */
static void find_infeasible_in_level(struct room_count *o, struct pass *p, struct sched_level *l)
{
    struct group_turn *turn = arena_array(p->arena, struct group_turn, l->group_n + 1);
    struct sched_request *r = RB_MAX(sched_requests, &l->running), *first;
    struct sched_group *group;
    size_t n = 0;
    LIST_FOREACH(group, &l->groups, in_level)
        if ((first = group_first(group)))
            turn[n++] = (struct group_turn){group, first->job->queue_position};
    qsort(turn, n, sizeof(*turn), latest_first);
    for (size_t i = 0; i <= n; i++) {
        for (; r && (i == n || r->job->queue_position > turn[i].position); r = RB_PREV(sched_requests, , r))
            if (r->released_in != p->s->pass)
                would_give_back(o, r);
        if (i < n)
            turn[i].group->infeasible = !would_hold(o, turn[i].group);
    }
}

static void find_infeasible(struct pass *p)
{
    struct room_count o = {.s = p->s};
    count_what_will_be_free(&o);
    for (int rank = SCHED_RANK_MAX; rank >= SCHED_PRIORITY_MIN;
         rank--) /* only what runs has a rank above the priorities */
        find_infeasible_in_level(&o, p, &p->s->with_slots[rank]);
}

/* Sets too_large of each group whose requests would not even fit into what is free together with what is on its way
 * out. */
static void find_too_large(struct pass *p)
{
    struct room_count o = {.s = p->s};
    struct sched_group *group;
    count_what_will_be_free(&o);
    for (int priority = SCHED_PRIORITY_MIN; priority <= SCHED_PRIORITY_MAX; priority++)
        LIST_FOREACH(group, &p->s->with_slots[priority].groups, in_level)
            group->too_large = !would_hold(&o, group);
}

bool pass_is_too_large(struct pass *p, const struct sched_shape *shape)
{
    if (!p->has_counted_what_leaves)
        find_too_large(p);
    p->has_counted_what_leaves = true;
    return shape->group->too_large || shape_set_has(&p->too_large, shape);
}

bool pass_is_infeasible(struct pass *p, const struct sched_shape *shape)
{
    if (shape_set_has(&p->infeasible, shape))
        return true;
    if (shape->key.fit.slots == 0 || (shape->key.fit.slots == 1 && !shape->key.fit.own))
        return false; /* room is made by the first request that can be stopped, so trying is quicker than counting */
    if (!p->has_counted_room)
        find_infeasible(p);
    p->has_counted_room = true;
    return shape->group->infeasible;
}

void pass_note_infeasible(struct pass *p, const struct sched_shape *shape)
{
    shape_set_add(&p->infeasible, shape);
}

void pass_forget_infeasible(struct pass *p)
{
    p->infeasible.n = p->unfit.n = 0;
    p->has_counted_room = false;
}
