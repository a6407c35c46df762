/* The experiments and trials that a TensorBoard shows. */
#ifndef DET_API_TASKS_SHOWN_RUNS_H
#define DET_API_TASKS_SHOWN_RUNS_H

#include "api/pipeline/handler.h"

/* Finds what a request names, by ids or by a filter of experiments, as JSON lists of numbers in ascending order. An
 * error if it names nothing, or something that does not exist. To be called on the thread of lookups. */
int shown_runs_find(struct req *r, struct store *db, const struct wire_launch_tensorboard_request *in,
                    const char **ret_experiments, const char **ret_trials, struct error *err);

#endif
