#include "core/sched/reasons.h"

#include "core/sched/internal.h"

static bool is_any_open(const struct sched *s)
{
    for (const struct agent_size *size = s->agents.sizes; size; size = size->next)
        if (size->n > 0)
            return true;
    return false;
}

static bool is_blocked_only(const struct sched *s, const struct sched_request *r)
{
    struct sched_request unblocked = *r;
    unblocked.blocked_n = 0;
    return r->blocked_n > 0 && agent_index_could_fit(&s->agents, &unblocked);
}

static bool is_any_blocked_in(const struct sched *s, const struct sched_level *l)
{
    const struct sched_group *group;
    LIST_FOREACH(group, &l->groups, in_level) {
        const struct sched_request *first = group_any(group);
        if (first->blocked_n > 0 && !agent_index_could_fit(&s->agents, first) && is_blocked_only(s, first))
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

/* Returns true if the request cannot be placed even if room is made for it. *ret then says why. */
static bool cannot_ever(const struct sched *s, const struct sched_request *r, enum sched_why *ret)
{
    if (s->agent_n == 0)
        *ret = SCHED_WHY_NO_AGENTS;
    else if (!is_any_open(s))
        *ret = SCHED_WHY_CLOSED;
    else if (agent_index_could_fit(&s->agents, r))
        return false;
    else
        *ret = is_blocked_only(s, r) ? SCHED_WHY_BLOCKED : SCHED_WHY_NEVER;
    return true;
}

/* Returns whether the request fits now, or could fit on idle agents, if it needed only so much of cores and memory. */
static bool fits_with(struct sched *s, const struct sched_request *r, struct sched_needs needs, bool now)
{
    struct sched_request less = *r;
    less.needs = needs;
    return now ? agent_index_fit(&s->agents, &less, s->share) > 0 : agent_index_could_fit(&s->agents, &less);
}

static enum sched_lack what_lacks(struct sched *s, const struct sched_request *r, bool now)
{
    const struct sched_needs none = {0}, cores = {.millicores = r->needs.millicores},
                             memory = {.memory_bytes = r->needs.memory_bytes};
    if (!needs_any(&r->needs) || !fits_with(s, r, none, now))
        return SCHED_LACKS_SLOTS;
    if (!fits_with(s, r, memory, now))
        return SCHED_LACKS_MEMORY;
    return fits_with(s, r, cores, now) ? SCHED_LACKS_BOTH : SCHED_LACKS_CORES;
}

struct sched_needs sched_most(const struct sched *s, const struct sched_request *r, bool left)
{
    struct sched_needs most = {0};
    for (const struct sched_agent *agent = s->agents.by_id; agent; agent = agent->hh.next) {
        const struct sched_needs *n = left ? &agent->left : &agent->has;
        if (!agent->open || sched_is_blocked(r, agent))
            continue;
        most.millicores = n->millicores > most.millicores ? n->millicores : most.millicores;
        most.memory_bytes = n->memory_bytes > most.memory_bytes ? n->memory_bytes : most.memory_bytes;
    }
    return most;
}

void sched_why(struct sched *s, const struct sched_request *r, struct sched_reason *ret)
{
    struct sched_reason reason = {.granted = r->granted_in == s->pass && s->pass > 0,
                                  .leaving = s->releasing_n[r->slots > 0]};
    s->policy->why(s, r, &reason);
    const struct sched_quota *exceeded = sched_quotas_exceeded(r->job->quotas, r->slots);
    reason.quota = exceeded ? exceeded : sched_quotas_borrowing(r->job->quotas, r->slots);
    if (!cannot_ever(s, r, &reason.why)) {
        if (exceeded)
            reason.why = SCHED_WHY_QUOTA;
        else if (agent_index_fit(&s->agents, r, s->share) == 0)
            reason.why = SCHED_WHY_NO_ROOM;
        else if (reason.quota && reason.why == SCHED_WHY_NEXT)
            reason.why = SCHED_WHY_QUOTA; /* others wait who need not borrow */
    }
    if (reason.why == SCHED_WHY_NEVER || reason.why == SCHED_WHY_NO_ROOM)
        reason.lacks = what_lacks(s, r, reason.why == SCHED_WHY_NO_ROOM);
    *ret = reason;
}

const struct agent_size *sched_sizes(const struct sched *s)
{
    return s->agents.sizes;
}

struct sched_slot_count sched_count_slots(const struct sched *s)
{
    struct sched_slot_count slots = {0};
    for (const struct agent_size *size = s->agents.sizes; size; size = size->next)
        slots.all += (int64_t)size->n * size->slots;
    for (const struct sched_bucket *b = s->agents.for_slots.first; b; b = b->next)
        slots.free += (int64_t)b->n * b->key.empty;
    return slots;
}
