/* When heads of task logs are sealed (store/log_seal.h): as soon as a task has enough of them, and what is left of them
 * when the task is over, or when nothing has come for ten minutes.
 *
 * One round at a time: a reader packs the blocks, one small job of the writer puts them in place, then the next task in
 * line has its turn. So however much comes in, sealing takes one thread at most and never holds up the writer. When
 * more than 8 MiB wait, blocks are compressed less (a fourteenth of the text instead of a sixteenth, at a sixth of the
 * time), until it has caught up. Loop only. */
#ifndef DET_MASTER_LOG_SEALER_H
#define DET_MASTER_LOG_SEALER_H

#include <stddef.h>
#include <stdint.h>

struct log_sealer;
struct loop;
struct pool;
struct writer;

/* Asks the store, off the loop, what was left to be sealed. */
struct log_sealer *log_sealer_new(struct loop *l, struct pool *readers, struct writer *w);
void log_sealer_stop(struct log_sealer *s); /* no further round; the one under way comes to its end */
void log_sealer_free(struct log_sealer *s); /* after that; NULL is fine */

void log_sealer_added(struct log_sealer *s, const char *task_id, size_t text_bytes); /* a head is in the store */
void log_sealer_ended(struct log_sealer *s, const char *task_id); /* the task is over: not much more will come */

struct log_sealer_stats { uint64_t rounds; int64_t waiting_bytes; };
struct log_sealer_stats log_sealer_stats(const struct log_sealer *s);

#endif
