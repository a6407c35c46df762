/* The writer: the one thread that changes the store, with group commit.
 *
 * The loop queues jobs, and the writer carries them out in order. It takes everything that waits into one transaction
 * (a
 * *group*), and what arrives while the group is younger than GROUP_GROWS_US; after GROUP_US_MAX it commits what it has.
 * Each job has a savepoint, so that a job that fails does not undo the others. The completions are posted back to the
 * loop: a lone job costs one fsync, under load thousands of jobs share one. The loop runs completions for TURN_US_MAX
 * in each of its turns; the rest waits for the next turn.
 *
 * Replies and messages that tell of a change wait for its commit: writer_ticket() numbers the jobs, and
 * writer_when_committed() runs a callback on the loop once a ticket's transaction is durable. Tickets complete in
 * order.
 *
 * Failures:
 *  - a job's own error goes to its completion;
 *  - when the disk is full, or the database server is away, the group is rolled back and tried again every second.
 *    Meanwhile writer_admits() refuses new work from outside (503);
 *  - when a commit fails for another reason, above all in fsync, the program ends: nobody can know what is on disk. The
 *    next start recovers from the store;
 *  - when another master has taken a higher epoch, the program ends as well: this one must not write again. */
#ifndef DET_MASTER_WRITER_WRITER_H
#define DET_MASTER_WRITER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/histogram.h"
#include "net/loop/loop.h"

struct store;
struct writer;

/* The work of a job. Called on the writer's thread. */
typedef int writer_work_fn(struct store *db, void *job, struct error *err);
/* Called on the loop after the commit, with err NULL, or after the job's failure. It owns the job. */
typedef void writer_done_fn(void *job, const struct error *err);
typedef void writer_committed_fn(void *ctx);

/* Makes the writer. db must have taken its epoch (store_next_epoch). From here on db belongs to the writer's thread. */
int writer_new(struct loop *l, struct store *db, struct writer **ret, struct error *err);
/* Carries out what is queued, commits it, ends the thread, and runs the completions. */
void writer_free(struct writer *w);

struct writer_job {
    writer_work_fn *work; /* may be run more than once: when the disk is full, a group is repeated from its first job */
    writer_done_fn *done; /* may be NULL */
    void *arg;
    /* Set for what the platform has decided or has accepted. If such a job fails for a reason that passes, such as a
     * lock or a statement that took too long, the whole group waits and is tried again. If `must` is not set, such a
     * failure is reported to the job alone. */
    bool must;
};

/* Queues jobs that belong into one transaction, in their order, and returns the ticket of the last one. These jobs
 * cannot be refused, so writer_admits() has to be asked before anything has changed. */
uint64_t writer_submit(struct writer *w, const struct writer_job *job, size_t n);
bool writer_admits(const struct writer *w, struct error *err);

/* Returns true if the store cannot be written at the moment, because its disk is full or its server is away. No waiting
 * job has been reported as done. */
bool writer_is_troubled(const struct writer *w);

uint64_t writer_ticket(const struct writer *w);    /* the ticket of the job that was submitted last */
uint64_t writer_committed(const struct writer *w); /* every job with a ticket up to this one is durable */
bool writer_is_idle(const struct writer *w);       /* true: all jobs have been completed, and no callback waits */
/* Runs fn on the loop when the job of `ticket` is durable, or at once if it is already. The calls are made in the order
 * in which they were asked for. */
void writer_when_committed(struct writer *w, uint64_t ticket, writer_committed_fn *fn, void *ctx);

struct writer_stats {
    uint64_t jobs, commits, retries;
    int depth; /* the number of jobs that wait now */
    struct histogram commit_us;
    int64_t commit_us_max; /* the longest one since writer_stats() was last called */
};
struct writer_stats writer_stats(const struct writer *w);

#endif
