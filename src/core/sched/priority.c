/* Scheduling by priority.
 *
 * Level by level, the most important first, requests are served in the order of their turns. One that does not fit lets
 * others of its priority pass, and makes everything below wait; with preemption, what can be stopped again may fill the
 * gaps (backfilling). With preemption, a request that does not fit may have less important ones stopped, the least
 * important and latest first, but only as many as make it fit, and none if it would not fit even so. It is placed in a
 * later pass, when the room is there; until then nothing else gets it. */
#include "core/sched/internal.h"
#include "core/sched/reasons.h"

/* ---- requests that fit ------------------------------------------------------------------------------------------- */

static bool may_place(const struct pass *p, const struct sched_request *r)
{
    return !p->releasing && (!p->backfilling || r->preemptible);
}

static size_t fit_request(struct pass *p, const struct sched_request *r)
{
    struct sched *s = p->s;
    return p->releasing ? projection_fit(&s->projection, r, s->share) : agent_index_fit(&s->agents, r, s->share);
}

/* Notes for take_needs_of_others() that the request has got its place, or that its place is kept for it. */
static void note_needs(struct pass *p, struct sched_request *r, const struct sched_share *share, size_t n, bool kept)
{
    if (r->slots == 0 || !needs_any(&r->needs))
        return;
    p->s->keeps_needs = p->s->keeps_needs || kept;
    if (p->with_needs_n == p->with_needs_cap) {
        p->with_needs_cap = p->with_needs_cap == 0 ? 16 : 2 * p->with_needs_cap;
        struct sched_placement *more = arena_array(p->arena, struct sched_placement, p->with_needs_cap);
        for (size_t i = 0; i < p->with_needs_n; i++)
            more[i] = p->with_needs[i];
        p->with_needs = more;
    }
    p->with_needs[p->with_needs_n++] = (struct sched_placement){r, arena_dup(p->arena, share, n * sizeof(*share)), n};
}

static void take_slots(struct pass *p, const struct sched_request *r, size_t n)
{
    struct sched *s = p->s;
    pass_plan_quotas(p, r);
    if (p->releasing) {
        projection_take(&s->projection, s->share, n, &r->needs);
    } else {
        agent_index_take(&s->agents, s->share, n, &r->needs);
        projection_taken(&s->projection, s->share, n, &r->needs);
    }
}

/* Keeps places for a gang on slots that are on their way to be free. Otherwise other requests of its priority would
 * take these slots one by one as they come free, above all the requests that were stopped for the gang. The same is
 * done for a request that needs cores or memory, which others could take piece by piece. Afterwards an agent may have
 * fewer than 0 empty slots, until something on it has ended. */
static size_t fit_into_what_leaves(struct pass *p, const struct sched_request *r)
{
    struct sched *s = p->s;
    size_t leaving_n = s->releasing_n[r->slots > 0];
    bool in_pieces = r->slots > 1 || needs_any(&r->needs);
    if (!s->opts.preemption || p->releasing || !in_pieces || leaving_n == 0 || leaving_n > SCHED_LEAVING_MAX)
        return 0;
    if (p->kept_n[r->slots > 1] >= SCHED_KEPT_MAX || pass_is_too_large(p, r->shape))
        return 0;
    size_t n = projection_fit(&s->projection, r, s->share);
    if (n == 0)
        shape_set_add(&p->too_large, r->shape);
    p->kept_n[r->slots > 1] += n > 0;
    return n;
}

/* Serves the requests of a walk in turn. A request that fits is placed, or its place is kept. ret_failed gets the lines
 * of those that do not fit, from the first such request on: no other one of its group fits, either. A request that its
 * quotas do not allow waits for nobody else, and nobody waits for it: the walk passes it over. */
static void place_in_turn(struct pass *p, struct walk *walk, struct walk *ret_failed)
{
    struct line *line;
    walk_init(ret_failed, p->arena);
    while ((line = walk_pop(walk))) {
        struct sched_request *r = line_next(line);
        size_t now = shape_set_has(&p->unfit, r->shape) ? 0 : fit_request(p, r);
        size_t n = now > 0 ? now : fit_into_what_leaves(p, r);
        if (now == 0)
            shape_set_add(&p->unfit, r->shape);
        if (n == 0) {
            walk_push(ret_failed, line);
            continue;
        }
        line_advance(line);
        take_slots(p, r, n);
        if (now > 0 && may_place(p, r))
            pass_allocate(p, r, p->s->share, n);
        if (now == 0 || may_place(p, r))
            note_needs(p, r, p->s->share, n, now == 0);
        walk_push(walk, line);
    }
}

/* ---- requests that do not fit ------------------------------------------------------------------------------------ */

struct victims {
    struct sched_request **item;
    size_t n, cap;
};

static void add_victim(struct victims *v, struct sched_request *r, struct arena *a)
{
    if (v->n == v->cap) {
        size_t cap = v->cap == 0 ? 16 : 2 * v->cap;
        struct sched_request **item = arena_array(a, struct sched_request *, cap);
        for (size_t i = 0; i < v->n; i++)
            item[i] = v->item[i];
        v->item = item;
        v->cap = cap;
    }
    v->item[v->n++] = r;
}

/* Returns the running request of this rank, or of a more important one, that would be stopped first. NULL: no
 * request can be stopped. */
static struct sched_request *last_running(struct sched_level *level, int rank)
{
    struct sched_request *last = NULL;
    for (; !last && rank >= SCHED_PRIORITY_MIN; rank--)
        last = RB_MAX(sched_requests, &level[rank].running);
    return last;
}

static struct sched_request *victim_after(struct sched_level *level, struct sched_request *victim)
{
    struct sched_request *next = RB_PREV(sched_requests, &level[sched_rank(victim)].running, victim);
    return next ? next : last_running(level, sched_rank(victim) - 1);
}

/* The rank that r will have if it is placed now. */
static int rank_here(const struct pass *p, const struct sched_request *r)
{
    return p->borrowing ? SCHED_PRIORITY_MAX + r->priority : r->priority;
}

/* Returns whether `victim` may be stopped for r: it must be less important, or have the same rank and a job that stands
 * behind r's job. */
static bool may_stop(const struct pass *p, const struct sched_request *r, const struct sched_request *victim)
{
    if (!victim || sched_rank(victim) != rank_here(p, r))
        return victim && sched_rank(victim) > rank_here(p, r);
    return victim->job->queue_position > r->job->queue_position;
}

/* Returns false if what the victim gives back cannot be what r lacked, because none of the victim's agents has the
 * cores and the memory of r left even so. It is asked only of requests that need some: whether such a request fits is
 * found out by looking at agents one by one. */
static bool may_help(const struct sched_request *r, const struct sched_request *victim)
{
    for (size_t i = 0; i < victim->share_n; i++)
        if (sched_may_take(r, victim->share[i].agent->projected))
            return true;
    return !needs_any(&r->needs);
}

/* Returns false if no agent would have the cores and the memory of r even if everything were stopped there that may
 * ever be stopped for requests with slots. */
static bool could_have_needs(const struct sched *s, const struct sched_request *r)
{
    if (r->slots == 0 || !needs_any(&r->needs))
        return true;
    for (const struct sched_agent *agent = s->agents.by_id; agent; agent = agent->hh.next) {
        struct sched_needs left = agent->has;
        needs_add(&left, &agent->fixed_needs, -1);
        needs_add_upto(&left, &agent->leaving, &agent->has);
        if (agent->open && needs_fit(&r->needs, &left))
            return true;
    }
    return false;
}

/* Stops one running request after the other until r fits. 0: it does not fit even then. */
static size_t fit_after_stopping(struct pass *p, const struct sched_request *r, struct victims *v)
{
    struct sched *s = p->s;
    struct sched_request *victim = could_have_needs(s, r) ? p->next_victim : NULL;
    for (size_t n; may_stop(p, r, victim);) {
        add_victim(v, victim, p->arena);
        projection_give(&s->projection, victim->share, victim->share_n, &victim->needs);
        bool helps = may_help(r, victim);
        victim = victim_after(p->level, victim);
        n = helps ? projection_fit(&s->projection, r, s->share) : 0;
        if (n == 0)
            continue;
        p->next_victim = victim;
        return n;
    }
    return 0;
}

/* Returns true if nothing more can be decided for this request and those after it. In that case no request can be
 * stopped for them, and what is free, or will be free, is kept for requests before them. */
static bool is_decided(const struct pass *p, const struct sched_request *r)
{
    if (may_stop(p, r, p->next_victim))
        return false;
    return p->releasing;
}

/* Keeps room for a request that does not fit now: on what is on its way out, or on what is stopped for it. 0: neither
 * is possible, and nothing has changed. */
static size_t make_room(struct pass *p, const struct sched_request *r)
{
    struct sched *s = p->s;
    struct victims victims = {0};
    size_t mark = agent_index_mark(&s->projection.agents);
    size_t n = TAILQ_EMPTY(&s->releasing) || p->releasing ? 0 : projection_fit(&s->projection, r, s->share);
    if (n == 0 &&
        (!may_stop(p, r, p->next_victim) || !group_could_fit(s, r->shape->group) || pass_is_infeasible(p, r->shape)))
        return 0;
    if (n == 0)
        n = fit_after_stopping(p, r, &victims);
    if (n == 0) {
        agent_index_undo(&s->projection.agents, mark);
        pass_note_infeasible(p, r->shape);
        return 0;
    }
    pass_forget_infeasible(p); /* there is more room now than before */
    for (size_t i = 0; i < victims.n; i++)
        pass_release(p, victims.item[i]);
    p->releasing = true;
    return n;
}

/* Makes room for the requests that did not fit, in turn. Stopping requests may leave more room than was needed. In that
 * case the groups that failed before are looked at again, from the request after this one on. What was planned since a
 * request has failed may have used up its quotas: in that case it waits. */
static void preempt_in_turn(struct pass *p, struct walk *failed)
{
    struct line **given_up = arena_array(p->arena, struct line *, failed->lines.n), *line;
    size_t given_up_n = 0;
    while ((line = walk_pop(failed))) {
        struct sched_request *r = line_next(line);
        if (is_decided(p, r))
            return;
        size_t n = fit_request(p, r);
        bool fits = n > 0;
        if (!fits)
            n = make_room(p, r);
        if (n == 0) {
            given_up[given_up_n++] = line;
            continue;
        }
        line_advance(line);
        take_slots(p, r, n);
        if (!fits)
            note_needs(p, r, p->s->share, n, true);
        while (!fits && given_up_n > 0) {
            line_skip_to_behind(given_up[--given_up_n], r);
            walk_push(failed, given_up[given_up_n]);
        }
        walk_push(failed, line);
    }
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

/* Serves the requests of one level that are their quotas' own, or those that borrow. Returns false if nothing less
 * important is served. */
static bool serve_rank(struct pass *p, struct sched_level *level, int rank)
{
    struct walk walk, failed;
    struct sched_moment *now = &p->s->ledger->now;
    *now = (struct sched_moment){.pass = now->pass, .rank = rank};
    walk_start(&walk, level, p->borrowing ? ALLOWED_TO_BORROW : ALLOWED_AS_OWN, now, p->arena);
    place_in_turn(p, &walk, &failed);
    if (failed.lines.n == 0)
        return true;
    p->backfilling = true;
    if (!p->s->opts.preemption)
        return false;
    now->after_all = true;
    preempt_in_turn(p, &failed);
    return true;
}

/* Nothing that runs is less important, and what is free is kept. */
static bool is_rank_decided(const struct pass *p, int rank)
{
    return p->releasing && (!p->next_victim || sched_rank(p->next_victim) < rank);
}

/* Serves the levels from the most important one on, and then in the same order the requests that would borrow. */
static void serve_ranks(struct pass *p, struct sched_level *level)
{
    int waiting[SCHED_PRIORITY_MAX + 1], n = 0;
    for (int priority = SCHED_PRIORITY_MIN; priority <= SCHED_PRIORITY_MAX; priority++)
        if (level[priority].pending_n > 0)
            waiting[n++] = priority;
    for (int i = 0; i < 2 * n; i++) {
        p->borrowing = i >= n;
        int priority = waiting[i % n], rank = priority + (p->borrowing ? SCHED_PRIORITY_MAX : 0);
        if (is_rank_decided(p, rank) || !serve_rank(p, &level[priority], rank))
            return;
    }
}

/* Serves the requests of these levels: those with slots, or those without, which compete for cores and memory only. */
static void serve_levels(struct pass *p, struct sched_level *level)
{
    p->backfilling = p->releasing = false;
    p->too_large.n = p->unfit.n = 0;
    p->has_counted_what_leaves = false;
    p->kept_n[0] = p->kept_n[1] = 0;
    p->level = level;
    p->next_victim = p->s->opts.preemption ? last_running(level, SCHED_RANK_MAX) : NULL;
    pass_forget_infeasible(p);
    serve_ranks(p, level);
    p->borrowing = false;
    agent_index_undo(&p->s->agents, 0);
    agent_index_undo(&p->s->projection.agents, 0);
}

/* What the pass has placed with slots, or keeps a place for, leaves less of cores and memory to requests without slots.
 * Otherwise these would take what others were stopped for. */
static void take_needs_of_others(struct pass *p)
{
    struct sched *s = p->s;
    for (size_t i = 0; i < p->with_needs_n; i++) {
        const struct sched_placement *place = &p->with_needs[i];
        agent_index_take_needs(&s->agents, place->share, place->share_n, &place->request->needs);
        projection_taken(&s->projection, place->share, place->share_n, &place->request->needs);
    }
}

static void pass_by_priority(struct pass *p)
{
    p->s->keeps_needs = false;
    serve_levels(p, p->s->with_slots);
    take_needs_of_others(p);
    serve_levels(p, p->s->without);
}

/* ---- why something waits ----------------------------------------------------------------------------------------- */

enum { GROUPS_LOOKED_AT = 64 };

/* Returns the first request of the level that no set of agents can hold. The answer is the same for all requests of
 * a group, so one request of each group is looked at. To keep this cheap, at most GROUPS_LOOKED_AT groups are looked
 * at. */
static const struct sched_request *first_stuck(struct sched *s, const struct sched_level *l)
{
    int looks = GROUPS_LOOKED_AT;
    struct sched_group *group;
    LIST_FOREACH(group, &l->groups, in_level) {
        if (looks-- > 0 && !group_could_fit(s, group))
            return group_any(group);
    }
    return NULL;
}

static void count_ahead(struct sched *s, const struct sched_request *r, struct sched_reason *ret)
{
    for (int priority = SCHED_PRIORITY_MIN; priority < r->priority; priority++) {
        const struct sched_level *l = sched_level_of(s, r, priority);
        ret->ahead += l->pending_n;
        if (!ret->stuck && l->pending_n > 0)
            ret->stuck = first_stuck(s, l);
    }
}

static void why_by_priority(struct sched *s, const struct sched_request *r, struct sched_reason *ret)
{
    count_ahead(s, r, ret);
    bool keeps_needs = s->keeps_needs && r->slots == 0 && needs_any(&r->needs);
    bool gang_may_wait = s->opts.preemption && (ret->leaving > 0 || keeps_needs);
    ret->why = ret->ahead > 0 ? SCHED_WHY_KEPT : gang_may_wait ? SCHED_WHY_GANG : SCHED_WHY_NEXT;
}

const struct sched_policy_type sched_policy_priority = {
    .name = "priority",
    .no_weights = "is scheduled by priority and has no weights; set a priority",
    .has_queue = true,
    .plans_on_projection = true,
    .pass = pass_by_priority,
    .why = why_by_priority};

/* The predecessor's round_robin: scheduling by priority, where all priorities are equal. */
const struct sched_policy_type sched_policy_round_robin = {
    .name = "round_robin",
    .no_priorities = "is scheduled by round_robin, where all priorities are equal",
    .no_weights = "is scheduled by priority and has no weights; set a priority",
    .equal_priorities = true,
    .has_queue = true,
    .plans_on_projection = true,
    .pass = pass_by_priority,
    .why = why_by_priority};
