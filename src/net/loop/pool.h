/* Worker threads for what may block or burn CPU: SQL reads, password hashing, archives. A job is a pair: `work` runs on
 * a worker, `done` on the loop's thread afterwards, in the order of completion. Each worker may own a context made by
 * `worker_init` in its own thread (a database connection). The queue is bounded: when full, pool_submit() fails with
 * ERR_UNAVAILABLE and nothing has happened. Jobs hold ids, never pointers into live state. */
#ifndef DET_NET_LOOP_POOL_H
#define DET_NET_LOOP_POOL_H

#include <stdbool.h>

#include "net/loop/loop.h"

struct pool;

typedef void pool_work_fn(void *worker, void *job); /* on a worker thread */
typedef void pool_done_fn(void *job);               /* on the loop's thread */

struct pool_options {
    const char *name; /* name of the threads, at most 15 bytes */
    int threads;
    int queue_max;
    /* Called in each worker thread before pool_new() returns; may be NULL. */
    int (*worker_init)(void *ctx, void **ret_worker, struct error *err);
    void (*worker_release)(void *worker);
    void *ctx;
};

int pool_new(struct loop *l, const struct pool_options *o, struct pool **ret, struct error *err);
int pool_submit(struct pool *p, pool_work_fn *work, pool_done_fn *done, void *job, struct error *err);
int pool_depth(struct pool *p);    /* number of jobs that wait or run */
bool pool_is_idle(struct pool *p); /* whether no job waits or runs and every `done` has run; on the loop's thread */
/* Runs the jobs that are queued, joins the threads, and runs their `done` callbacks before it returns. */
void pool_free(struct pool *p);

#endif
