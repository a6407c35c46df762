/* A batch of changes is checked as a whole before any of it is carried out. Each change must name jobs that exist,
 * must be possible under the pool's policy, and must not contradict another change.
 *
 * Then priorities, weights and pools are set, and after them the moves are made, each after the move of its anchor.
 * A move puts a job beside its anchor and leaves the order of all other jobs alone. So moves contradict each other
 * exactly when they lead in a circle. */
#include "core/queue/queue_change.h"

#include <stdint.h>
#include <string.h>

#include "core/queue/queue_job.h"
#include "core/resources/rm.h"
#include "core/sched/moves.h"
#include "core/sched/policy.h"
#include "core/state/step.h"

static const size_t NO_STEP = SIZE_MAX;

struct step {
    const struct core_queue_change *change;
    struct queue_job job, anchor; /* anchor: set if the change is a move */
    size_t anchor_step;           /* the step of the same batch that moves the anchor; NO_STEP: none does */
    struct pool *pool;            /* the pool that the job goes to; NULL: the change does not change the pool */
    bool done;
};

struct batch {
    struct step *step;
    size_t n;
    bool refuse_misfits;
};

/* ---- checking each change ---------------------------------------------------------------------------------------- */

static bool is_move(const struct core_queue_change *change)
{
    return change->what == QUEUE_AHEAD_OF || change->what == QUEUE_BEHIND_OF;
}

static int check_pool(const struct core *c, const struct batch *b, struct step *s, struct error *err)
{
    const struct experiment *x = s->job.experiment;
    const char *id = queue_job_id(s->job), *name = s->change->pool;
    if (!x)
        return error_set(err, ERR_INVALID,
                         "job %s: setting resource pool for job type %s is not supported: it stays in the pool that it "
                         "was launched in",
                         id, task_kind_name(s->job.task->row.kind));
    s->pool = name[0] == '\0' ? NULL : pool_find(c, name);
    if (!s->pool)
        return error_set(err, ERR_NOT_FOUND, "job %s: resource pool \"%s\" does not exist", id, name);
    if (s->pool == x->pool)
        return error_set(err, ERR_INVALID, "job %s: resource pool is unchanged (%s == %s)", id, x->pool->name, name);
    if (run_state_is_stopping(x->row.state))
        return error_set(err, ERR_PRECONDITION, "job %s is about to end (%s): its resource pool stays", id,
                         run_state_name(x->row.state));
    cleanup_arena struct arena a = ARENA_INIT;
    const char *misfit = b->refuse_misfits
                             ? core_misfit(c, name, x->spec.slots_per_trial, x->spec.single_node, &x->spec.needs, &a)
                             : NULL;
    if (misfit)
        return error_set(err, ERR_INVALID,
                         "job %s: slots requested exceeds cluster capacity (and launch_error is set): %s", id, misfit);
    return 0;
}

/* Returns the pool in which the job will be once the batch has been carried out. */
static const struct pool *asked_pool(const struct batch *b, struct queue_job job)
{
    for (size_t i = 0; i < b->n; i++)
        if (queue_job_is(b->step[i].job, job) && b->step[i].change->what == QUEUE_POOL)
            return b->step[i].pool;
    return queue_job_pool(job);
}

static int check_value(const struct batch *b, const struct step *s, struct error *err)
{
    const struct pool *p = asked_pool(b, s->job);
    int rv = s->change->what == QUEUE_PRIORITY ? pool_check_priority(p, s->change->priority, err)
                                               : pool_check_weight(p, s->change->weight, err);
    return rv < 0 ? error_wrap(err, "job %s", queue_job_id(s->job)) : 0;
}

static int check_waits(struct queue_job job, struct error *err)
{
    if (queue_job_sched(job)->request_n > 0)
        return 0;
    return error_set(err, ERR_PRECONDITION, "job %s has no place in the queue: it neither runs nor waits for slots",
                     queue_job_id(job));
}

static int check_move(const struct core *c, struct step *s, struct error *err)
{
    if (queue_job_find(c, s->change->anchor, &s->anchor, err) < 0)
        return -1;
    /* the job is moved next to itself, such as the first job of a queue to the queue's top: nothing has to be done */
    if (queue_job_is(s->anchor, s->job)) {
        s->done = true;
        return 0;
    }
    const struct pool *pool = queue_job_pool(s->job), *other = queue_job_pool(s->anchor);
    if (other != pool)
        return error_set(err, ERR_INVALID, "jobs %s and %s are in different resource pools, %s and %s",
                         queue_job_id(s->job), queue_job_id(s->anchor), pool->name, other->name);
    const struct sched_policy_type *policy = sched_policy_type(pool->opts.sched.policy);
    if (!policy->has_queue)
        return error_set(err, ERR_INVALID,
                         "job %s: unable to perform operation on resource pool with %s: %s has no order",
                         queue_job_id(s->job), policy->name, pool->name);
    return check_waits(s->job, err) < 0 || check_waits(s->anchor, err) < 0 ? -1 : 0;
}

static int find_job_and_pool(const struct core *c, const struct batch *b, struct step *s, struct error *err)
{
    if (queue_job_find(c, s->change->job_id, &s->job, err) < 0)
        return -1;
    return s->change->what == QUEUE_POOL ? check_pool(c, b, s, err) : 0;
}

static int check_change(const struct core *c, const struct batch *b, struct step *s, struct error *err)
{
    if (s->change->what == QUEUE_POOL)
        return 0;
    return is_move(s->change) ? check_move(c, s, err) : check_value(b, s, err);
}

/* ---- checking changes against each other ------------------------------------------------------------------------- */

static bool is_same_kind(const struct step *a, const struct step *b)
{
    return queue_job_is(a->job, b->job) &&
           (a->change->what == b->change->what || (is_move(a->change) && is_move(b->change)));
}

static int check_twice(const struct batch *b, size_t i, struct error *err)
{
    for (size_t k = 0; k < i; k++)
        if (is_same_kind(&b->step[i], &b->step[k]))
            return error_set(err, ERR_INVALID, "contradictory batch: job %s gets two %s", queue_job_id(b->step[i].job),
                             is_move(b->step[i].change)                  ? "places"
                             : b->step[i].change->what == QUEUE_PRIORITY ? "priorities"
                             : b->step[i].change->what == QUEUE_POOL     ? "resource pools"
                                                                         : "weights");
    return 0;
}

static size_t move_of(const struct batch *b, struct queue_job job)
{
    for (size_t i = 0; i < b->n; i++)
        if (queue_job_is(b->step[i].job, job) && is_move(b->step[i].change))
            return i;
    return NO_STEP;
}

/* Follows the moves from anchor to anchor, and finds the anchor that is not moved itself. Returns false if the anchors
 * form a circle. */
static bool last_anchor(const struct batch *b, size_t i, struct queue_job *ret)
{
    for (size_t n = 0; n < b->n; n++) {
        *ret = b->step[i].anchor;
        if (b->step[i].anchor_step == NO_STEP)
            return true;
        i = b->step[i].anchor_step;
    }
    return false;
}

static int asked_priority(const struct batch *b, struct queue_job job, int otherwise)
{
    for (size_t i = 0; i < b->n; i++)
        if (queue_job_is(b->step[i].job, job) && b->step[i].change->what == QUEUE_PRIORITY)
            return b->step[i].change->priority;
    return otherwise;
}

static bool leaves_pool(const struct batch *b, struct queue_job job)
{
    return asked_pool(b, job) != queue_job_pool(job);
}

static int check_chain(const struct batch *b, size_t i, struct error *err)
{
    struct queue_job job = b->step[i].job, anchor = b->step[i].anchor, last;
    if (leaves_pool(b, job) || leaves_pool(b, anchor))
        return error_set(
            err, ERR_INVALID,
            "contradictory batch: job %s goes to another resource pool, and gets a place in its old one's queue",
            queue_job_id(leaves_pool(b, job) ? job : anchor));
    if (!last_anchor(b, i, &last))
        return error_set(err, ERR_INVALID, "contradictory batch: the moves of job %s and others lead in a circle",
                         queue_job_id(job));
    int priority = asked_priority(b, last, queue_job_sched(last)->priority), own = asked_priority(b, job, priority);
    if (own != priority)
        return error_set(err, ERR_INVALID,
                         "contradictory batch: job %s gets priority %d and a place among jobs of priority %d",
                         queue_job_id(job), own, priority);
    return 0;
}

static int check_batch(const struct core *c, struct batch *b, struct error *err)
{
    for (size_t i = 0; i < b->n; i++)
        if (find_job_and_pool(c, b, &b->step[i], err) < 0)
            return -1;
    for (size_t i = 0; i < b->n; i++)
        if (check_change(c, b, &b->step[i], err) < 0 || check_twice(b, i, err) < 0)
            return -1;
    for (size_t i = 0; i < b->n; i++)
        b->step[i].anchor_step = is_move(b->step[i].change) && !b->step[i].done ? move_of(b, b->step[i].anchor)
                                                                                : NO_STEP;
    for (size_t i = 0; i < b->n; i++)
        if (is_move(b->step[i].change) && check_chain(b, i, err) < 0)
            return -1;
    return 0;
}

/* ---- carrying out ------------------------------------------------------------------------------------------------ */

static void set_value(struct core *c, const struct step *s)
{
    if (s->change->what == QUEUE_PRIORITY)
        queue_job_set_priority(c, s->job, s->change->priority);
    else if (s->change->what == QUEUE_WEIGHT)
        queue_job_set_weight(c, s->job, s->change->weight);
    else
        queue_job_set_pool(c, s->job, s->pool);
}

/* Sets the position of a job in the queue. If the job's experiment has gone to another pool, the job lives only until
 * its last run has ended, and needs no position any more. */
static void set_position(struct core *c, const struct sched_step *to)
{
    struct queue_job job;
    if (queue_job_of_sched(to->job, &job))
        queue_job_set_place(c, job, to->queue_position, to->priority);
}

static void move_job(struct core *c, const struct step *s)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct sched_move m;
    sched_plan_move(queue_job_sched(s->job), queue_job_sched(s->anchor), s->change->what == QUEUE_AHEAD_OF, c->now_us,
                    &a, &m);
    for (size_t i = 0; i < m.step_n; i++)
        set_position(c, &m.step[i]);
}

/* Makes one round over the moves, and carries out those whose anchors have been moved already or are not moved at all.
 * Returns false if there were none. */
static bool move_round(struct core *c, struct batch *b)
{
    bool moved = false;
    for (size_t i = 0; i < b->n; i++) {
        struct step *s = &b->step[i];
        if (s->done || (s->anchor_step != NO_STEP && !b->step[s->anchor_step].done))
            continue;
        move_job(c, s);
        s->done = moved = true;
    }
    return moved;
}

static void carry_out_batch(struct core *c, struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (is_move(b->step[i].change))
            continue;
        set_value(c, &b->step[i]);
        b->step[i].done = true;
    }
    while (move_round(c, b))
        ;
}

int queue_change(struct core *c, const struct core_event *ev, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    size_t n = ev->queue.n;
    if (n > QUEUE_BATCH_MAX)
        return error_set(err, ERR_INVALID, "%zu changes of the queue at once, allowed are %d", n, QUEUE_BATCH_MAX);
    struct batch b = {.step = arena_array(&a, struct step, n + 1), .n = n, .refuse_misfits = ev->queue.refuse_misfits};
    for (size_t i = 0; i < n; i++)
        b.step[i].change = &ev->queue.change[i];
    if (check_batch(c, &b, err) < 0)
        return -1;
    carry_out_batch(c, &b);
    return 0;
}
