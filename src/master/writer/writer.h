/* The writer: the one thread that changes the store, with group commit.
 *
 * The loop queues jobs, and the writer carries them out in order. It takes everything that waits into one transaction
 * (a *group*), and what arrives while the group is younger than GROUP_GROWS_US; after GROUP_US_MAX it commits what it
 * has. Each job has a savepoint, so that a job that fails does not undo the others. The completions are posted back to
 * the loop: a lone job costs one fsync, under load thousands of jobs share one. The loop runs completions for
 * TURN_US_MAX in each of its turns; the rest waits for the next turn.
 *
 * Replies and messages that tell of a change wait for its commit: writer_ticket() numbers the jobs, and
 * writer_when_committed() runs a callback on the loop once a ticket's transaction is durable. Tickets complete in
 * order.
 *
 * Failures:
 *  - a job's own error goes to its completion;
 *  - when the disk is full, or the database server is away, the group is rolled back and tried again every second.
 * Meanwhile writer_admits() refuses new work from outside (503);
 *  - when a commit fails for another reason, above all in fsync, the program ends: nobody can know what is on disk. The
 * next start recovers from the store;
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

/* On the writer's thread. */
typedef int writer_work_fn(struct store *db, void *job, struct error *err);
/* On the loop's thread after the commit (err is NULL) or after the job's failure; owns the job. */
typedef void writer_done_fn(void *job, const struct error *err);
typedef void writer_committed_fn(void *ctx);

/* db has taken its epoch (store_next_epoch); it belongs to the writer's thread from here on. */
int writer_new(struct loop *l, struct store *db, struct writer **ret, struct error *err);
/* Carries out what is queued, commits, joins the thread, runs the completions. */
void writer_free(struct writer *w);

struct writer_job {
    writer_work_fn *work; /* may be run again: a group that met a full disk is repeated from its first job */
    writer_done_fn *done; /* may be NULL */
    void *arg;
    /* What the platform has decided or taken on: a failure that passes (a lock that somebody holds, a statement that
     * took too long) makes the whole group wait and try again, instead of being the job's own. */
    bool must;
};

/* Queues jobs that belong into one transaction, in order; they cannot be refused: ask writer_admits() at the edge,
 * before anything has changed. Returns the last one's ticket. */
uint64_t writer_submit(struct writer *w, const struct writer_job *job, size_t n);
bool writer_admits(const struct writer *w, struct error *err);

/* The store cannot be written at the moment: its disk is full, or its server is away. Nobody has been told that the
 * waiting jobs are done. */
bool writer_is_troubled(const struct writer *w);

uint64_t writer_ticket(const struct writer *w);    /* of the last job submitted */
uint64_t writer_committed(const struct writer *w); /* every ticket up to this one is durable */
bool writer_is_idle(const struct writer *w);       /* all jobs have been completed, and no callback waits */
/* Runs fn on the loop when `ticket` is durable; at once if it is already. Same order as asked. */
void writer_when_committed(struct writer *w, uint64_t ticket, writer_committed_fn *fn, void *ctx);

struct writer_stats {
    uint64_t jobs, commits, retries;
    int depth; /* jobs waiting now */
    struct histogram commit_us;
    int64_t commit_us_max; /* since the last look */
};
struct writer_stats writer_stats(const struct writer *w);

#endif
