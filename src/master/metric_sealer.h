/* When reports of metrics are sealed (store/metric_seal.h): as soon as a trial has some thousand of them in rows, and what
 * is left when none has come for a minute.
 *
 * One round at a time: a reader packs, one small job of the writer puts the blocks in place, then the trial has another
 * turn while it has enough, or the next one does. However much comes in, sealing takes one thread and a bounded piece of
 * the writer. Loop only. */
#ifndef DET_MASTER_METRIC_SEALER_H
#define DET_MASTER_METRIC_SEALER_H

#include <stdint.h>

#include "net/loop.h"

struct metric_sealer;
struct pool;
struct writer;

/* Asks the store, off the loop, what was left to be sealed. */
struct metric_sealer *metric_sealer_new(struct loop *l, struct pool *readers, struct writer *w);
void metric_sealer_stop(struct metric_sealer *s); /* no further round; the one under way comes to its end */
void metric_sealer_free(struct metric_sealer *s); /* after that; NULL is fine */

void metric_sealer_reported(struct metric_sealer *s, int32_t trial_id); /* one more report is in the store */

struct metric_sealer_stats { uint64_t rounds, reports; };
struct metric_sealer_stats metric_sealer_stats(const struct metric_sealer *s);

#endif
