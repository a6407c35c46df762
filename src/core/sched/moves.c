#include "core/sched/moves.h"

#include "core/sched/internal.h"

enum { GAP_US = 1000000 }; /* left before the first */

/* The positions between two jobs. A job of another priority does not bound them. */
struct gap {
    bool from, to; /* bounded on this side? */
    int64_t low, high;
};

static struct gap gap_between(const struct sched_group *earlier, const struct sched_group *later, int priority)
{
    struct gap gap = {.from = earlier != NULL && earlier->priority == priority,
                      .to = later != NULL && later->priority == priority};
    gap.low = gap.from ? earlier->queue_position : 0;
    gap.high = gap.to ? later->queue_position : 0;
    return gap;
}

static bool lies_in(const struct gap *gap, int64_t position)
{
    return (!gap->from || position > gap->low) && (!gap->to || position < gap->high);
}

/* A position behind the last job, and before that of any job that is submitted later. */
static int64_t behind_all(int64_t low, int64_t now_us)
{
    int64_t room = (now_us - low) / 2;
    return low + (room < 1 ? 1 : room);
}

static int64_t middle(const struct gap *gap, int64_t now_us)
{
    if (gap->from && gap->to)
        return gap->high - gap->low > 1 ? gap->low + (gap->high - gap->low) / 2 : gap->low + 1;
    return gap->from ? behind_all(gap->low, now_us) : gap->high - GAP_US;
}

/* How many jobs from `later` on have to make room. */
static size_t count_pushed(struct sched_group *later, int64_t position)
{
    size_t n = 0;
    for (int priority = later->priority; later != NULL && later->priority == priority && later->queue_position <= position;
         later = RB_NEXT(sched_groups, , later)) {
        n++;
        position++;
    }
    return n;
}

static void add_step(struct sched_move *m, struct sched_group *g, int priority, int64_t position)
{
    m->step[m->step_n++] = (struct sched_step){g, priority, position};
}

/* Moves `later`, and each job after it that would otherwise not be behind the one before it any more. */
static void push_on(struct sched_move *m, struct sched_group *g, struct sched_group *later, int64_t position)
{
    int priority = later->priority;
    for (; later != NULL && later->priority == priority && later->queue_position <= position;
         later = RB_NEXT(sched_groups, , later)) {
        if (later == g)
            continue;
        add_step(m, later, priority, ++position);
    }
}

void sched_plan_move(struct sched_group *g, struct sched_group *anchor, bool ahead, int64_t now_us, struct arena *a,
                     struct sched_move *ret)
{
    struct sched_group *second = ahead ? RB_PREV(sched_groups, , anchor) : RB_NEXT(sched_groups, , anchor);
    *ret = (struct sched_move){.second = second, .adopts_priority = g->priority != anchor->priority};
    if (g == anchor || (second == g && !ret->adopts_priority))
        return;
    if (second == g) /* it is in its place, but not of the priority there */
        second = ahead ? RB_PREV(sched_groups, , g) : RB_NEXT(sched_groups, , g);
    struct sched_group *earlier = ahead ? second : anchor, *later = ahead ? anchor : second;
    struct gap gap = gap_between(earlier, later, anchor->priority);
    int64_t position = lies_in(&gap, g->queue_position) ? g->queue_position : middle(&gap, now_us);
    bool push = gap.to && position >= gap.high;
    ret->step = arena_array(a, struct sched_step, 1 + (push ? count_pushed(later, position) : 0));
    if (push)
        push_on(ret, g, later, position);
    add_step(ret, g, anchor->priority, position);
}
