/* The trees of <sys/tree.h> call RB_AUGMENT where a node's children change, but leave it to us to tell all nodes
 * above. */
struct sched_job;
static void count_below(struct sched_job *job);
#define RB_AUGMENT(job) count_below(job)

#include "core/sched/job_order.h"

#include <stddef.h>

static void add_subtree(struct sched_job *job, const struct sched_job *child)
{
    if (!child)
        return;
    job->subtree_n += child->subtree_n;
    job->subtree_waiting += child->subtree_waiting;
}

static void count_below(struct sched_job *job)
{
    job->subtree_n = job->uncounted ? 0 : 1;
    job->subtree_waiting = job->waiting_slots;
    add_subtree(job, RB_LEFT(job, node));
    add_subtree(job, RB_RIGHT(job, node));
}

RB_GENERATE(sched_jobs, sched_job, node, sched_job_compare)

static void count_upwards(struct sched_job *job)
{
    for (; job; job = RB_PARENT(job, node))
        count_below(job);
}

void job_order_init(struct job_order *order)
{
    RB_INIT(&order->tree);
    TAILQ_INIT(&order->list);
}

void job_order_insert(struct job_order *order, struct sched_job *job)
{
    RB_INSERT(sched_jobs, &order->tree, job);
    struct sched_job *before = RB_PREV(sched_jobs, &order->tree, job);
    if (before)
        TAILQ_INSERT_AFTER(&order->list, before, job, in_order);
    else
        TAILQ_INSERT_HEAD(&order->list, job, in_order);
    count_upwards(job);
}

/* Removes a job. A node with two children is replaced by its successor in the tree. The lowest node whose count changes
 * is then the one above the successor's old place. */
void job_order_remove(struct job_order *order, struct sched_job *job)
{
    TAILQ_REMOVE(&order->list, job, in_order);
    struct sched_job *above = RB_PARENT(job, node);
    if (RB_LEFT(job, node) && RB_RIGHT(job, node)) {
        struct sched_job *next = RB_NEXT(sched_jobs, &order->tree, job);
        above = RB_PARENT(next, node) == job ? next : RB_PARENT(next, node);
    }
    RB_REMOVE(sched_jobs, &order->tree, job);
    count_upwards(above);
}

void job_order_add_waiting(struct sched_job *job, int64_t slots)
{
    job->waiting_slots += slots;
    for (; job; job = RB_PARENT(job, node))
        job->subtree_waiting += slots;
}

struct jobs_ahead jobs_ahead(const struct sched_job *job)
{
    struct jobs_ahead ahead = {0};
    const struct sched_job *below = RB_LEFT(job, node);
    for (const struct sched_job *child = job; child; child = RB_PARENT(child, node)) {
        if (below) {
            ahead.jobs += below->subtree_n;
            ahead.waiting_slots += below->subtree_waiting;
        }
        const struct sched_job *parent = RB_PARENT(child, node);
        below = NULL;
        if (parent && RB_RIGHT(parent, node) == child) {
            ahead.jobs += parent->uncounted ? 0 : 1;
            ahead.waiting_slots += parent->waiting_slots;
            below = RB_LEFT(parent, node);
        }
    }
    return ahead;
}
