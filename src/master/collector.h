/* Removes the files of checkpoints, in the background (store/removals.h, docs/decisions/0004): those that somebody asked
 * to remove, and those that the policy of an experiment lets go when it has ended or its policy has changed. What is in a
 * storage that this machine can't open is left to tasks on agents (collection_tasks.c), a few at a time.
 *
 * A pass goes on until nothing is due. Each turn of it reads on a thread of its own (what to choose from, or a few
 * removals, whose files it removes there), then notes the outcome on the writer. What fails is tried again after a pause
 * that grows from a minute to an hour. Loop only. */
#ifndef DET_MASTER_COLLECTOR_H
#define DET_MASTER_COLLECTOR_H

#include <stdbool.h>

#include "common/error.h"

struct collector;
struct master;

/* Begins with what the last master left. */
int collector_new(struct master *m, struct collector **ret, struct error *err);
void collector_stop(struct collector *c); /* begins nothing more; NULL is fine here and below */
void collector_free(struct collector *c);
bool collector_is_idle(const struct collector *c);

/* There is something to do: it was committed. */
void collector_wake(struct collector *c);
/* As above; `fn` is called when everything that is due now has been tried. Not called once the collector has stopped. */
void collector_wake_then(struct collector *c, void (*fn)(void *ctx), void *ctx);

#endif
