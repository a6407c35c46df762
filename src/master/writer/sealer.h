/* Sealing: what was written as single rows, so that it was durable at once, is packed into blocks in the background.
 * One sealer packs the logs of tasks (log_sealer.h), another one the metrics of trials (metric_sealer.h). What differs
 * between them is a struct sealer_type.
 *
 *     sealer_added ──→ counted for its subject ──→ in line ──→ a round: look (a reader) ──→ put (the writer) ──→
 *     settled
 *                            ↑         enough came, or it rests                                                 │
 *                            └──────────────────────── there may be more ───────────────────────────────────────┘
 *
 * A subject is a task or a trial. It gets in line when it has enough rows, and when it *rests*: it is over, or nothing
 * has come for a while. A subject that rests has another round until a look finds nothing to pack; then it is
 * forgotten. After a failed round it gets in line when it rests the next time. The counts may be wrong (an earlier
 * master's rows, rows that retention has deleted); a look at the store corrects them.
 *
 * There is one round at a time, so that sealing takes one thread, however much comes in. The writer's part of a round
 * is one small job, which does nothing if something has changed since the look. So a crash finds either the rows or the
 * block. These functions are for the loop only. */
#ifndef DET_MASTER_WRITER_SEALER_H
#define DET_MASTER_WRITER_SEALER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct loop;
struct pool;
struct sealer;
struct store;
struct writer;

struct sealer_size {
    int64_t rows, bytes;
};

struct sealer_look {
    const char *subject;
    bool rest;             /* pack all rows, however few they are */
    int64_t waiting_bytes; /* the bytes of all subjects that wait */
};

/* A subject whose rows a starting master has found in the store. */
struct sealer_left {
    const char *subject;
    struct sealer_size size;
    bool rest;
};

struct sealer_type {
    const char *subject;       /* what a subject is called in logs, such as "task" */
    const char *failed;        /* the event that is logged when a round fails */
    struct sealer_size enough; /* a round begins at this number of rows, or of bytes */
    int64_t quiet_us;          /* after this time without a new row, all rows of a subject are sealed */
    int64_t period_us;         /* the time between two looks for such subjects */
    /* Packs what it finds. Called on a reader's thread. *ret_seal stays NULL if there is too little to pack. */
    int (*look)(struct store *reader, const struct sealer_look *l, void **ret_seal, struct error *err);
    /* Stores what was packed. Called on the writer's thread. *ret_gone: the rows that were replaced; none if something
     * has changed since the look. */
    int (*put)(struct store *db, const void *seal, struct sealer_size *ret_gone, struct error *err);
    void (*free)(void *seal); /* seal may be NULL */
    /* Lists some of the subjects that an earlier master has left, in order, those after `after` ("": from the first one
     * on). Called on a reader's thread. An empty list: there are no more. */
    int (*left)(struct store *reader, const char *after, struct arena *a, struct sealer_left **ret, size_t *ret_n,
                struct error *err);
};

/* Makes a sealer. It asks the store, off the loop, what is left to be sealed. */
struct sealer *sealer_new(const struct sealer_type *type, struct loop *l, struct pool *readers, struct writer *w);
/* No further round begins, and the present one comes to its end. Here and below, s may be NULL. */
void sealer_stop(struct sealer *s);
void sealer_free(struct sealer *s); /* to be called after sealer_stop() */

/* To be called when one more row has been stored. */
void sealer_added(struct sealer *s, const char *subject, size_t bytes);
/* To be called when the subject is over: all its rows are sealed. */
void sealer_ended(struct sealer *s, const char *subject);

struct sealer_stats {
    uint64_t rounds, rows;
    int64_t waiting_bytes;
};
/* rounds: those that have sealed something; rows: the rows that were sealed. */
struct sealer_stats sealer_stats(const struct sealer *s);

#endif
