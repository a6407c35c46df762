/* Worker threads for what may block or burn CPU: SQL reads, password hashing, archives. A job is a pair: `work` runs on
 * a worker, `done` on the loop's thread afterwards, in the order of completion. Each worker may own a context made by
 * `worker_init` in its own thread (a database connection). The queue is bounded: when full, pool_submit() fails with
 * ERR_UNAVAILABLE and nothing has happened. Jobs hold ids, never pointers into live state. */
#ifndef DET_NET_POOL_H
#define DET_NET_POOL_H

#include <stdbool.h>

#include "net/loop/loop.h"

struct pool;

typedef void pool_work_fn(void *worker, void *job); /* on a worker thread */
typedef void pool_done_fn(void *job);               /* on the loop's thread */

struct pool_options {
    const char *name; /* of the threads, at most 15 bytes */
    int threads;
    int queue_max;
    /* may be NULL; called before pool_new returns */
    int (*worker_init)(void *ctx, void **ret_worker, struct error *err);
    void (*worker_release)(void *worker);
    void *ctx;
};

int pool_new(struct loop *l, const struct pool_options *o, struct pool **ret, struct error *err);
int pool_submit(struct pool *p, pool_work_fn *work, pool_done_fn *done, void *job, struct error *err);
int pool_depth(struct pool *p);  /* jobs waiting or running */
bool pool_is_idle(struct pool *p); /* no job waits or runs, and every done callback has run. From the loop's thread */
/* runs what is queued, joins the threads; done callbacks of those run before it returns */
void pool_free(struct pool *p);

#endif
