/* What has a job in the queue that people see and change: an experiment, or a task that a user has launched. */
#ifndef DET_CORE_QUEUE_QUEUE_JOB_H
#define DET_CORE_QUEUE_QUEUE_JOB_H

#include "core/state/objects.h"

/* One of the two is set. */
struct queue_job {
    struct experiment *experiment;
    struct task *task;
};

/* Finds what has a job, by the job's id or by a beginning that only this id has. */
int queue_job_find(const struct core *c, const char *id, struct queue_job *ret, struct error *err);
/* Finds what has a job of the scheduler. Returns false if the job is none that people change: its experiment has gone
 * to another pool, or it is a collection's. */
bool queue_job_of_sched(const struct sched_job *job, struct queue_job *ret);
static inline bool queue_job_is(struct queue_job a, struct queue_job b)
{
    return a.experiment == b.experiment && a.task == b.task;
}

const char *queue_job_id(struct queue_job j);
const struct pool *queue_job_pool(struct queue_job j);
struct sched_job *queue_job_sched(struct queue_job j);

/* These functions change a job. The caller has checked that its pool allows the value. */
void queue_job_set_priority(struct core *c, struct queue_job j, int32_t priority);
void queue_job_set_weight(struct core *c, struct queue_job j, double weight);
void queue_job_set_pool(struct core *c, struct queue_job j, struct pool *to); /* an experiment's */
/* Sets the job's place in the queue, and the priority that it has there. */
void queue_job_set_place(struct core *c, struct queue_job j, int64_t queue_position, int32_t priority);

#endif
