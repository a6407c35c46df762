#include "net/loop/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/must.h"
#include "net/loop/loop_internal.h"

struct pool_job {
    pool_work_fn *work;
    pool_done_fn *done;
    void *job;
    struct pool_job *next;
};

struct job_list { /* a queue */
    struct pool_job *head, **tail;
};

struct pool_thread {
    struct pool *pool;
    pthread_t id;
    bool started;
    void *worker; /* the context that worker_init has made */
};

struct pool {
    struct loop *loop;
    struct pool_options options;
    char name[16];
    struct pool_thread *thread;

    pthread_mutex_t mutex; /* protects the members below */
    pthread_cond_t work_to_do, thread_ready;
    struct job_list waiting, finished;
    int queued; /* number of jobs in `waiting` */
    int running;
    int initialised; /* threads whose worker_init has returned, with or without an error */
    bool init_failed, stopping;
    struct error init_error;
};

static void list_init(struct job_list *l)
{
    l->head = NULL;
    l->tail = &l->head;
}

static void list_add(struct job_list *l, struct pool_job *j)
{
    j->next = NULL;
    *l->tail = j;
    l->tail = &j->next;
}

static struct pool_job *list_take(struct job_list *l)
{
    struct pool_job *j = l->head;
    if (!j)
        return NULL;
    l->head = j->next;
    if (!l->head)
        l->tail = &l->head;
    return j;
}

/* Runs the `done` callbacks, on the loop's thread. A callback may submit another job, so the list is taken job by
 * job. */
static void run_finished(void *ctx)
{
    struct pool *p = ctx;
    for (;;) {
        pthread_mutex_lock(&p->mutex);
        struct pool_job *j = list_take(&p->finished);
        pthread_mutex_unlock(&p->mutex);
        if (!j)
            return;
        j->done(j->job);
        free(j);
    }
}

static void finish_job(struct pool *p, struct pool_job *j)
{
    bool first = !p->finished.head;
    list_add(&p->finished, j);
    if (first)
        loop_post(p->loop, run_finished, p);
}

static int init_worker(struct pool_thread *t)
{
    struct pool *p = t->pool;
    cleanup_error struct error err = ERROR_INIT;
    int rc = p->options.worker_init ? p->options.worker_init(p->options.ctx, &t->worker, &err) : 0;

    pthread_mutex_lock(&p->mutex);
    p->initialised++;
    if (rc < 0 && !p->init_failed) {
        p->init_failed = true;
        error_move(&p->init_error, &err);
    }
    pthread_cond_signal(&p->thread_ready);
    pthread_mutex_unlock(&p->mutex);
    return rc;
}

static void work_until_stopped(struct pool_thread *t)
{
    struct pool *p = t->pool;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        struct pool_job *j = list_take(&p->waiting);
        if (j) {
            p->queued--;
            p->running++;
            pthread_mutex_unlock(&p->mutex);
            j->work(t->worker, j->job);
            pthread_mutex_lock(&p->mutex);
            p->running--;
            finish_job(p, j);
        } else if (p->stopping) {
            break;
        } else {
            pthread_cond_wait(&p->work_to_do, &p->mutex);
        }
    }
    pthread_mutex_unlock(&p->mutex);
}

static void *thread_main(void *ctx)
{
    struct pool_thread *t = ctx;
    pthread_setname_np(pthread_self(), t->pool->name);
    if (init_worker(t) == 0) {
        work_until_stopped(t);
        if (t->pool->options.worker_release)
            t->pool->options.worker_release(t->worker);
    }
    return NULL;
}

static int start_threads(struct pool *p, struct error *err)
{
    for (int i = 0; i < p->options.threads; i++) {
        struct pool_thread *t = &p->thread[i];
        t->pool = p;
        int rc = pthread_create(&t->id, NULL, thread_main, t);
        if (rc) {
            errno = rc;
            return error_errno(err, "starting thread %d of %d of pool %s", i + 1, p->options.threads, p->name);
        }
        t->started = true;
    }
    pthread_mutex_lock(&p->mutex);
    while (p->initialised < p->options.threads)
        pthread_cond_wait(&p->thread_ready, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    if (p->init_failed) {
        error_move(err, &p->init_error);
        return -1;
    }
    return 0;
}

int pool_new(struct loop *l, const struct pool_options *o, struct pool **ret, struct error *err)
{
    struct pool *p = must_calloc(1, sizeof(*p));
    struct pool_thread *threads = must_calloc((size_t)o->threads, sizeof(*threads));
    p->loop = l;
    p->options = *o;
    p->thread = threads;
    snprintf(p->name, sizeof(p->name), "%s", o->name);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->work_to_do, NULL);
    pthread_cond_init(&p->thread_ready, NULL);
    list_init(&p->waiting);
    list_init(&p->finished);
    if (start_threads(p, err) < 0) {
        pool_free(p);
        return -1;
    }
    *ret = p;
    return 0;
}

int pool_submit(struct pool *p, pool_work_fn *work, pool_done_fn *done, void *job, struct error *err)
{
    struct pool_job *j = must_malloc(sizeof(*j));
    *j = (struct pool_job){.work = work, .done = done, .job = job};

    pthread_mutex_lock(&p->mutex);
    bool room = p->queued < p->options.queue_max && !p->stopping;
    if (room) {
        list_add(&p->waiting, j);
        p->queued++;
        pthread_cond_signal(&p->work_to_do);
    }
    pthread_mutex_unlock(&p->mutex);
    if (room)
        return 0;
    free(j);
    return error_set(err, ERR_UNAVAILABLE, "too much waits for a %s thread (%d jobs); try again in a moment", p->name,
                     p->options.queue_max);
}

int pool_depth(struct pool *p)
{
    pthread_mutex_lock(&p->mutex);
    int depth = p->queued + p->running;
    pthread_mutex_unlock(&p->mutex);
    return depth;
}

bool pool_is_idle(struct pool *p)
{
    pthread_mutex_lock(&p->mutex);
    bool idle = p->queued + p->running == 0 && !p->finished.head;
    pthread_mutex_unlock(&p->mutex);
    return idle;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->mutex);
    p->stopping = true;
    pthread_cond_broadcast(&p->work_to_do);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < p->options.threads; i++)
        if (p->thread[i].started)
            pthread_join(p->thread[i].id, NULL);
    run_finished(p);
    loop_unpost(p->loop, run_finished, p);
    pthread_cond_destroy(&p->work_to_do);
    pthread_cond_destroy(&p->thread_ready);
    pthread_mutex_destroy(&p->mutex);
    error_release(&p->init_error);
    free(p->thread);
    free(p);
}
