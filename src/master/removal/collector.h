/* Removes files of checkpoints in the background (store/experiments/removals.h, docs/decisions/0004): of those that
 * somebody asked to remove, and of those that their experiment need not keep
 * (docs/spec/lifecycle.md#checkpoints-that-are-kept). Files in a storage that this machine cannot open are removed by
 * tasks on agents (collection_tasks.c), a few at a time.
 *
 * The collector works until nothing is due. In each turn, a thread of its own reads what there is to choose from, or
 * removes the files of a few checkpoints; then the writer notes the outcome. What fails is tried again after a pause
 * that grows from a minute to an hour. These functions are for the loop only. */
#ifndef DET_MASTER_REMOVAL_COLLECTOR_H
#define DET_MASTER_REMOVAL_COLLECTOR_H

#include <stdbool.h>

#include "common/base/error.h"

struct collector;
struct master;

/* Makes the collector, which begins with the work that the last master has left. */
int collector_new(struct master *m, struct collector **ret, struct error *err);
void collector_stop(struct collector *c); /* begins no further turn; here and in the functions below, c may be NULL */
void collector_free(struct collector *c);
bool collector_is_idle(const struct collector *c);

/* To be called when work for the collector has been committed. */
void collector_wake(struct collector *c);
/* Does the same, and calls `fn` when everything that is due now has been tried. `fn` is not called once the collector
 * has stopped. */
void collector_wake_then(struct collector *c, void (*fn)(void *ctx), void *ctx);

#endif
