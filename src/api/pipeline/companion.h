/* For handlers and the master: what a request stores beside the rows of a core step. */
#ifndef DET_API_PIPELINE_COMPANION_H
#define DET_API_PIPELINE_COMPANION_H

#include "common/base/error.h"

struct core_effects;
struct store;

/* What a request stores together with the rows of its core step: a write job of its own, which runs before the job
 * that stores the rows, in the same transaction. If the companion fails, the core's rows are stored nevertheless,
 * and `done` is given the error. */
struct companion {
    void (*stepped)(void *ctx, const struct core_effects *effects); /* on the loop, right after the step; may be NULL */
    int (*store)(struct store *db, void *ctx, struct error *err);   /* on the writer's thread; may run more than once */
    void (*done)(void *ctx, const struct error *err);               /* on the loop, after the commit */
    void *ctx;
};

#endif
