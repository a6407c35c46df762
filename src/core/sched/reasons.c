#include "core/sched/reasons.h"

#include "core/sched/internal.h"

static bool is_any_open(const struct sched *s)
{
    for (const struct agent_size *size = s->places.sizes; size != NULL; size = size->next)
        if (size->n > 0)
            return true;
    return false;
}

static bool is_blocked_only(const struct sched *s, const struct sched_request *r)
{
    struct sched_request unblocked = *r;
    unblocked.blocked_n = 0;
    return r->blocked_n > 0 && places_could_fit(&s->places, &unblocked);
}

static bool is_any_blocked_in(const struct sched *s, const struct sched_level *l)
{
    for (const struct sched_shape *shape = l->first; shape != NULL; shape = shape->next) {
        const struct sched_request *first = RB_MIN(sched_requests, (struct sched_requests *)&shape->pending);
        if (first->blocked_n > 0 && !places_could_fit(&s->places, first) && is_blocked_only(s, first))
            return true;
    }
    return false;
}

bool sched_is_any_blocked(const struct sched *s)
{
    for (int i = 0; i < SCHED_LEVELS; i++)
        if (is_any_blocked_in(s, &s->with_slots[i]) || is_any_blocked_in(s, &s->without[i]))
            return true;
    return false;
}

/* Whatever room is made, it cannot be placed. */
static bool cannot_ever(const struct sched *s, const struct sched_request *r, enum sched_why *ret)
{
    if (s->agent_n == 0)
        *ret = SCHED_WHY_NO_AGENTS;
    else if (!is_any_open(s))
        *ret = SCHED_WHY_CLOSED;
    else if (places_could_fit(&s->places, r))
        return false;
    else
        *ret = is_blocked_only(s, r) ? SCHED_WHY_BLOCKED : SCHED_WHY_NEVER;
    return true;
}

enum { SHAPES_LOOKED_AT = 64 };

/* Requests of one shape can be held or not, all of them. Of very many shapes only some are looked at: it has to be cheap
 * to ask. */
static const struct sched_request *first_stuck(const struct sched *s, const struct sched_level *l)
{
    int looks = SHAPES_LOOKED_AT;
    for (const struct sched_shape *shape = l->first; shape != NULL && looks-- > 0; shape = shape->next) {
        const struct sched_request *first = RB_MIN(sched_requests, (struct sched_requests *)&shape->pending);
        if (!places_could_fit(&s->places, first))
            return first;
    }
    return NULL;
}

static void look_ahead(struct sched *s, const struct sched_request *r, struct sched_reason *ret)
{
    for (int priority = SCHED_PRIORITY_MIN; priority < r->priority; priority++) {
        const struct sched_level *l = sched_level_of(s, r, priority);
        ret->ahead += l->pending_n;
        if (ret->stuck == NULL && l->pending_n > 0)
            ret->stuck = first_stuck(s, l);
    }
}

static enum sched_why why_not_there(const struct sched *s, const struct sched_request *r, const struct sched_reason *known)
{
    const struct sched_group *g = r->group;
    bool gang_may_wait = s->opts.policy == SCHED_BY_PRIORITY && s->opts.preemption && r->slots > 0 && known->leaving > 0;
    if (s->opts.policy == SCHED_BY_PRIORITY || r->slots == 0)
        return known->ahead > 0 ? SCHED_WHY_KEPT : gang_may_wait ? SCHED_WHY_GANG : SCHED_WHY_NEXT;
    return g->max_slots >= 0 && g->active + r->slots > g->max_slots ? SCHED_WHY_MAX_SLOTS : SCHED_WHY_SHARE;
}

void sched_why(struct sched *s, const struct sched_request *r, struct sched_reason *ret)
{
    struct sched_reason reason = {.granted = r->granted_in == s->pass && s->pass > 0};
    if (s->opts.policy == SCHED_BY_PRIORITY)
        look_ahead(s, r, &reason);
    reason.leaving = s->releasing_n[r->slots > 0];
    if (!cannot_ever(s, r, &reason.why))
        reason.why = places_fit(&s->places, r, s->share) == 0 ? SCHED_WHY_NO_ROOM : why_not_there(s, r, &reason);
    *ret = reason;
}

const struct agent_size *sched_sizes(const struct sched *s)
{
    return s->places.sizes;
}

struct sched_room sched_room(const struct sched *s)
{
    struct sched_room room = {0};
    for (const struct agent_size *size = s->places.sizes; size != NULL; size = size->next)
        room.all += (int64_t)size->n * size->slots;
    for (const struct sched_bucket *b = s->places.for_slots.first; b != NULL; b = b->next)
        room.free += (int64_t)b->n * b->key.empty;
    return room;
}
