/* The jobs of a pool in the order in which they are served, and how many stand ahead of one. They are a tree in which
 * each job also counts the jobs below it, so that the number of jobs ahead is found without a walk over all of them. */
#ifndef DET_CORE_SCHED_JOB_ORDER_H
#define DET_CORE_SCHED_JOB_ORDER_H

#include "core/sched/sched.h"

RB_HEAD(sched_jobs, sched_job);
RB_PROTOTYPE(sched_jobs, sched_job, node, sched_job_compare)

struct job_order {
    struct sched_jobs tree;
    TAILQ_HEAD(, sched_job) list; /* the same jobs as a list, for walks over all of them */
};

void job_order_init(struct job_order *order);
void job_order_insert(struct job_order *order, struct sched_job *job);
void job_order_remove(struct job_order *order, struct sched_job *job);
/* Changes the number of slots that the job waits for by `slots`, which may be negative. The job must stand in the
 * order. */
void job_order_add_waiting(struct sched_job *job, int64_t slots);

struct jobs_ahead {
    size_t jobs;
    int64_t waiting_slots; /* the slots that the requests of these jobs wait for */
};
struct jobs_ahead jobs_ahead(const struct sched_job *job);

#endif
