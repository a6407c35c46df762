/* Sealing, the master's part of it: what was written as rows, to be durable at once, is packed into blocks in the background.
 * One sealer looks after the logs of tasks (log_sealer.h), another after the metrics of trials (metric_sealer.h); what is
 * theirs alone is a struct sealer_type.
 *
 *     sealer_added ──→ counted for its subject ──→ in line ──→ a round: look (a reader) ──→ put (the writer) ──→ settled
 *                            ↑         enough came, or it rests                                                 │
 *                            └──────────────────────── there may be more ───────────────────────────────────────┘
 *
 * A subject (a task, a trial) is in line when it has enough rows, and when it rests: it is over, or nothing came for a while.
 * One that rests has its turn again until a look finds nothing; then it is forgotten. After a failure, it waits until it has
 * rested anew. Counts may be wrong (an earlier master's rows, rows that retention took): a look at the store puts that right.
 *
 * One round at a time, then the next subject has its turn: however much comes in, sealing takes one thread, and of the writer
 * one small job that does nothing if something changed meanwhile. So a crash finds the rows or the block. Loop only. */
#ifndef DET_MASTER_SEALER_H
#define DET_MASTER_SEALER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/error.h"

struct loop;
struct pool;
struct sealer;
struct store;
struct writer;

struct sealer_size { int64_t rows, bytes; };

struct sealer_look {
    const char *subject;
    bool rest;             /* all there is, be it ever so little */
    int64_t waiting_bytes; /* of all subjects */
};

/* Found in the store by a master that starts. */
struct sealer_left {
    const char *subject;
    struct sealer_size size;
    bool rest;
};

struct sealer_type {
    const char *subject; /* "task" */
    const char *failed;  /* the event that is logged when it was in vain */
    struct sealer_size enough; /* of either */
    int64_t quiet_us;    /* rests after so long */
    int64_t period_us;   /* between looks for what rests */
    /* On a reader's thread: packs what it finds. *ret_seal stays NULL when that is too little. */
    int (*look)(struct store *reader, const struct sealer_look *l, void **ret_seal, struct error *err);
    /* On the writer's: *ret_gone are the rows that went for it, none if something has changed since the look. */
    int (*put)(struct store *db, const void *seal, struct sealer_size *ret_gone, struct error *err);
    void (*free)(void *seal); /* NULL is fine */
    /* On a reader's thread: some of what was left, in the order of subjects, behind `after` ("": from the first). None: that was all. */
    int (*left)(struct store *reader, const char *after, struct arena *a, struct sealer_left **ret, size_t *ret_n,
                struct error *err);
};

/* Asks the store, off the loop, what was left to be sealed. */
struct sealer *sealer_new(const struct sealer_type *type, struct loop *l, struct pool *readers, struct writer *w);
void sealer_stop(struct sealer *s); /* no further round; the one under way comes to its end. NULL is fine, here and below */
void sealer_free(struct sealer *s); /* after that */

void sealer_added(struct sealer *s, const char *subject, size_t bytes); /* a row more is in the store */
void sealer_ended(struct sealer *s, const char *subject);               /* not much more will come */

struct sealer_stats { uint64_t rounds, rows; int64_t waiting_bytes; };
struct sealer_stats sealer_stats(const struct sealer *s); /* rounds that sealed something, and so many rows */

#endif
