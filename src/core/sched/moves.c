#include "core/sched/moves.h"

#include "core/sched/internal.h"

enum { GAP_US = 1000000 }; /* the distance that is left before the first position */

/* The free positions between two jobs. A job of another priority does not limit them. */
struct gap {
    bool from, to; /* whether the gap has a limit on this side */
    int64_t low, high;
};

static struct gap gap_between(const struct sched_job *earlier, const struct sched_job *later, int priority)
{
    struct gap gap = {.from = earlier && earlier->priority == priority, .to = later && later->priority == priority};
    gap.low = gap.from ? earlier->queue_position : 0;
    gap.high = gap.to ? later->queue_position : 0;
    return gap;
}

static bool lies_in(const struct gap *gap, int64_t position)
{
    return (!gap->from || position > gap->low) && (!gap->to || position < gap->high);
}

/* Returns a position behind the last job that is before the position of any job submitted later. */
static int64_t behind_all(int64_t low, int64_t now_us)
{
    int64_t room = (now_us - low) / 2;
    return low + (room < 1 ? 1 : room);
}

static int64_t position_in_gap(const struct gap *gap, int64_t now_us)
{
    if (gap->from && gap->to)
        return gap->high - gap->low > 1 ? gap->low + (gap->high - gap->low) / 2 : gap->low + 1;
    return gap->from ? behind_all(gap->low, now_us) : gap->high - GAP_US;
}

/* Counts the jobs from `later` on that have to be moved further back. */
static size_t count_pushed(struct sched_job *later, int64_t position)
{
    size_t n = 0;
    for (int priority = later->priority; later && later->priority == priority && later->queue_position <= position;
         later = RB_NEXT(sched_jobs, , later)) {
        n++;
        position++;
    }
    return n;
}

static void add_step(struct sched_move *m, struct sched_job *job, int priority, int64_t position)
{
    m->step[m->step_n++] = (struct sched_step){job, priority, position};
}

/* Moves `later` further back, and then each following job that would otherwise not be behind the job before it any
 * more. */
static void push_on(struct sched_move *m, struct sched_job *job, struct sched_job *later, int64_t position)
{
    int priority = later->priority;
    for (; later && later->priority == priority && later->queue_position <= position;
         later = RB_NEXT(sched_jobs, , later)) {
        if (later == job)
            continue;
        add_step(m, later, priority, ++position);
    }
}

void sched_plan_move(struct sched_job *job, struct sched_job *anchor, bool ahead, int64_t now_us, struct arena *a,
                     struct sched_move *ret)
{
    struct sched_job *second = ahead ? RB_PREV(sched_jobs, , anchor) : RB_NEXT(sched_jobs, , anchor);
    *ret = (struct sched_move){.second = second, .adopts_priority = job->priority != anchor->priority};
    if (job == anchor || (second == job && !ret->adopts_priority))
        return;
    if (second == job) /* the job stands at this place already, but does not have the priority of this place */
        second = ahead ? RB_PREV(sched_jobs, , job) : RB_NEXT(sched_jobs, , job);
    struct sched_job *earlier = ahead ? second : anchor, *later = ahead ? anchor : second;
    struct gap gap = gap_between(earlier, later, anchor->priority);
    int64_t position = lies_in(&gap, job->queue_position) ? job->queue_position : position_in_gap(&gap, now_us);
    bool push = gap.to && position >= gap.high;
    ret->step = arena_array(a, struct sched_step, 1 + (push ? count_pushed(later, position) : 0));
    if (push)
        push_on(ret, job, later, position);
    add_step(ret, job, anchor->priority, position);
}
