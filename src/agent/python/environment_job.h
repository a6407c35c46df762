/* The agent's end of the process that finds or makes the Python of one task (environment_program.h). Everything happens
 * on the loop's thread, and nothing blocks: a task may wait for its environment for as long as the build takes. */
#ifndef DET_AGENT_PYTHON_ENVIRONMENT_JOB_H
#define DET_AGENT_PYTHON_ENVIRONMENT_JOB_H

#include "agent/python/python_order.h"
#include "net/loop/loop.h"

struct environment_job;

struct environment_job_handler {
    void (*on_line)(void *ctx, const char *line, size_t n); /* progress, for the task's log */
    /* Called once. `place` is NULL if there is no environment, and *err says why: ERR_INVALID if the task has to be
     * refused. After success the process goes on to hold the environment's locks, until environment_job_free(). */
    void (*on_done)(void *ctx, const struct python_place *place, const struct error *err);
    void *ctx;
};

int environment_job_new(struct loop *l, const struct python_order *o, const struct environment_job_handler *h,
                        struct environment_job **ret, struct error *err);
/* Cancels a build that goes on, or gives the environment up. No function of the handler is called any more. */
void environment_job_free(struct environment_job *j);
/* At the end of the agent: frees the jobs whose processes have not ended yet. These end by themselves. */
void environment_jobs_release(void);

#endif
