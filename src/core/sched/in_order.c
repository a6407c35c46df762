#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched/sched.h"

#define COMPARE(x, y)             \
    do {                          \
        if ((x) != (y))           \
            return (x) < (y) ? -1 : 1; \
    } while (0)

int sched_request_compare(const struct sched_request *a, const struct sched_request *b)
{
    COMPARE(a->group->priority, b->group->priority);
    COMPARE(a->group->queue_position, b->group->queue_position);
    COMPARE(a->group->submitted_us, b->group->submitted_us);
    COMPARE(a->request_us, b->request_us);
    return strcmp(a->allocation_id, b->allocation_id);
}

static int compare_pointers(const void *a, const void *b)
{
    return sched_request_compare(*(const struct sched_request *const *)a, *(const struct sched_request *const *)b);
}

static size_t pending_in_order(const struct sched_snapshot *s, const struct sched_request **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s->request_n; i++)
        if (!s->request[i].allocated)
            ret[n++] = &s->request[i];
    qsort(ret, n, sizeof *ret, compare_pointers);
    return n;
}

static void reserve(struct sched_agent *agent, const struct sched_share *share, size_t share_n)
{
    for (size_t i = 0; i < share_n; i++) {
        if (share[i].slots > 0)
            agent[share[i].agent].empty_slots -= share[i].slots;
        else
            agent[share[i].agent].empty_aux--;
    }
}

/* More slots at once than all agents together have free cannot fit: saves the search on a full pool. */
static int most_free(const struct sched_snapshot *s, const struct sched_agent *agent, bool zero_slot)
{
    int free_ = 0;
    for (size_t i = 0; i < s->agent_n; i++)
        free_ += zero_slot ? agent[i].empty_aux : agent[i].empty_slots;
    return free_;
}

static void pass(const struct sched_snapshot *s, struct sched_agent *agent, const struct sched_request **order,
                 size_t n, bool zero_slot, struct arena *a, struct sched_decision *ret)
{
    int blocked_below = INT_MAX; /* a request of this priority waits: nobody of a lower one may pass it */
    int room = most_free(s, agent, zero_slot);
    for (size_t i = 0; i < n && room > 0; i++) {
        const struct sched_request *r = order[i];
        struct sched_share *share;
        size_t share_n = 0;
        if ((r->slots == 0) != zero_slot)
            continue;
        if (r->group->priority > blocked_below)
            break;
        if (r->slots <= room)
            share_n = sched_fit(s, agent, r, a, &share);
        if (share_n == 0) {
            blocked_below = r->group->priority;
            continue;
        }
        reserve(agent, share, share_n);
        room -= zero_slot ? 1 : r->slots;
        ret->allocate[ret->allocate_n++] = (struct sched_placement){(size_t)(r - s->request), share, share_n};
    }
}

void sched_in_order(const struct sched_snapshot *s, struct arena *a, struct sched_decision *ret)
{
    *ret = (struct sched_decision){.allocate = arena_array(a, struct sched_placement, s->request_n + 1)};
    const struct sched_request **order = arena_array(a, const struct sched_request *, s->request_n + 1);
    size_t n = pending_in_order(s, order);
    struct sched_agent *agent = arena_dup(a, s->agent, s->agent_n * sizeof *agent);
    pass(s, agent, order, n, false, a, ret);
    pass(s, agent, order, n, true, a, ret);
}
