/* For handlers and the master: what a request stores beside an event of the core. */
#ifndef DET_API_COMPANION_H
#define DET_API_COMPANION_H

#include "common/base/error.h"

struct core_effects;
struct store;

/* What a request stores together with the rows of its core step: a write job of its own, before them, in the same
 * transaction. If it fails, the core's rows are stored nevertheless; `done` tells the request. */
struct companion {
    void (*stepped)(void *ctx, const struct core_effects *effects); /* loop; right after the step. May be NULL */
    int (*store)(struct store *db, void *ctx, struct error *err); /* writer's thread; may be run again */
    void (*done)(void *ctx, const struct error *err);             /* loop; after the commit */
    void *ctx;
};

#endif
