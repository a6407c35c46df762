#include "master/writer/writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "net/loop/loop.h"
#include "store/store.h"

enum {
    GROUP_GROWS_US = 5000, /* a group that is younger than this takes in jobs that arrive */
    GROUP_US_MAX = 50000,
    GROUP_JOBS_MAX = 5000,
    TURN_US_MAX = 2000, /* the time for completions in one turn of the loop */
    DEPTH_MAX = 100000, /* the most jobs in the queue; if there are more, requests are answered with 503 */
    RETRY_US = 1000000,
};

struct job {
    STAILQ_ENTRY(job) link;
    writer_work_fn *work;
    writer_done_fn *done;
    void *arg;
    bool must;
    bool last; /* the last one of the jobs that were submitted together, which belong into one transaction */
    uint64_t ticket;
    struct error err;
};
STAILQ_HEAD(job_list, job);

struct waiter {
    STAILQ_ENTRY(waiter) link;
    uint64_t ticket;
    writer_committed_fn *fn;
    void *ctx;
};

/* Why nothing can be committed at the moment. Each of these troubles passes by itself, so the writer tries again. */
enum trouble {
    TROUBLE_NONE,
    TROUBLE_FULL,
    TROUBLE_AWAY,
    TROUBLE_TANGLED /* a job failed that others had relied on: the jobs of the group are run again one by one */
};

struct writer {
    struct loop *loop;
    struct store *db;
    pthread_t thread;

    /* These members are used on the loop only. */
    uint64_t last_ticket, committed;
    STAILQ_HEAD(, waiter) waiting;
    struct job_list completing; /* jobs that are durable and whose completions have not run yet */

    /* These members are used by both threads, under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job_list queue;
    struct job_list finished;
    int depth;
    bool stopping, finished_posted;
    enum trouble trouble;
    struct error why; /* the reason of the trouble, as it was last logged */
    struct writer_stats stats;
};

/* Returns the trouble that the store has. The function may be called from any thread, since the writer may be waiting
 * for the server and may not have noted the trouble yet. */
static enum trouble trouble_of(const struct store *db)
{
    return store_is_full(db) ? TROUBLE_FULL : store_is_away(db) ? TROUBLE_AWAY : TROUBLE_NONE;
}

/* ---- the loop's side --------------------------------------------------------------------------------------------- */

uint64_t writer_submit(struct writer *w, const struct writer_job *job, size_t n)
{
    loop_assert();
    struct job_list list = STAILQ_HEAD_INITIALIZER(list);
    for (size_t i = 0; i < n; i++) {
        struct job *j = must_calloc(1, sizeof(*j));
        *j = (struct job){.work = job[i].work,
                          .done = job[i].done,
                          .arg = job[i].arg,
                          .must = job[i].must,
                          .last = i + 1 == n,
                          .ticket = ++w->last_ticket};
        STAILQ_INSERT_TAIL(&list, j, link);
    }
    pthread_mutex_lock(&w->lock);
    STAILQ_CONCAT(&w->queue, &list);
    w->depth += (int)n;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    return w->last_ticket;
}

bool writer_admits(const struct writer *cw, struct error *err)
{
    struct writer *w = (struct writer *)cw;
    pthread_mutex_lock(&w->lock);
    enum trouble trouble = w->trouble;
    bool deep = w->depth > DEPTH_MAX;
    pthread_mutex_unlock(&w->lock);
    if (trouble == TROUBLE_FULL)
        error_set(err, ERR_UNAVAILABLE,
                  "the disk of the master's store is full; free some space, it goes on by itself");
    else if (trouble == TROUBLE_AWAY)
        error_set(err, ERR_UNAVAILABLE, "the database server is away; the master goes on by itself when it is back");
    else if (deep)
        error_set(err, ERR_UNAVAILABLE, "the store has more than %d writes waiting; try again in a moment", DEPTH_MAX);
    return trouble == TROUBLE_NONE && !deep;
}

bool writer_is_troubled(const struct writer *cw)
{
    struct writer *w = (struct writer *)cw;
    pthread_mutex_lock(&w->lock);
    enum trouble trouble = w->trouble;
    pthread_mutex_unlock(&w->lock);
    return trouble != TROUBLE_NONE || trouble_of(w->db) != TROUBLE_NONE;
}

uint64_t writer_ticket(const struct writer *w)
{
    return w->last_ticket;
}

uint64_t writer_committed(const struct writer *w)
{
    return w->committed;
}

bool writer_is_idle(const struct writer *w)
{
    return w->committed == w->last_ticket && STAILQ_EMPTY(&w->waiting);
}

void writer_when_committed(struct writer *w, uint64_t ticket, writer_committed_fn *fn, void *ctx)
{
    loop_assert();
    if (ticket <= w->committed && STAILQ_EMPTY(&w->waiting)) {
        fn(ctx);
        return;
    }
    struct waiter *k = must_calloc(1, sizeof(*k));
    *k = (struct waiter){.ticket = ticket, .fn = fn, .ctx = ctx};
    STAILQ_INSERT_TAIL(&w->waiting, k, link);
}

struct writer_stats writer_stats(const struct writer *cw)
{
    struct writer *w = (struct writer *)cw;
    pthread_mutex_lock(&w->lock);
    struct writer_stats s = w->stats;
    s.depth = w->depth;
    w->stats.commit_us_max = 0;
    pthread_mutex_unlock(&w->lock);
    return s;
}

static void run_committed_waiters(struct writer *w)
{
    struct waiter *k;
    while ((k = STAILQ_FIRST(&w->waiting)) && k->ticket <= w->committed) {
        STAILQ_REMOVE_HEAD(&w->waiting, link);
        k->fn(k->ctx);
        free(k);
    }
}

/* Runs completions, each followed by the waiters of its ticket, in the order of submission, for at most most_us.
 * Returns false if some are left. */
static bool run_completions(struct writer *w, int64_t most_us)
{
    int64_t start_us = clock_monotonic_us();
    struct job *j;
    while ((j = STAILQ_FIRST(&w->completing))) {
        STAILQ_REMOVE_HEAD(&w->completing, link);
        w->committed = j->ticket;
        if (j->done)
            j->done(j->arg, j->err.kind ? &j->err : NULL);
        error_release(&j->err);
        free(j);
        run_committed_waiters(w);
        if (clock_monotonic_us() - start_us >= most_us)
            break;
    }
    return STAILQ_EMPTY(&w->completing);
}

static void take_finished(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    STAILQ_CONCAT(&w->completing, &w->finished);
    w->finished_posted = false;
    pthread_mutex_unlock(&w->lock);
}

static void on_finished(void *ctx)
{
    struct writer *w = ctx;
    take_finished(w);
    if (run_completions(w, TURN_US_MAX))
        return;
    pthread_mutex_lock(&w->lock);
    bool post = !w->finished_posted;
    w->finished_posted = true;
    pthread_mutex_unlock(&w->lock);
    if (post)
        loop_post(w->loop, on_finished, w);
}

/* ---- the writer's side ------------------------------------------------------------------------------------------- */

static _Noreturn void die(const struct error *err)
{
    log_error("store.lost", "reason=%s action=exit", log_quote(error_msg(err)));
    _exit(75); /* EX_TEMPFAIL: the service manager is to start the program again */
}

static bool is_passing(enum error_kind kind)
{
    return kind == ERR_UNAVAILABLE || kind == ERR_NO_MEMORY;
}

static bool is_in_trouble(const struct store *db)
{
    return trouble_of(db) != TROUBLE_NONE || store_is_tangled(db);
}

/* Runs a job in a savepoint of its own. -1: the store is in trouble, and the caller rolls the whole transaction back.
 */
static int run_job(struct writer *w, struct job *j, struct error *why)
{
    cleanup_error struct error err = ERROR_INIT;
    error_release(&j->err);
    int rc = store_savepoint(w->db, &err);
    if (rc == 0 && j->work(w->db, j->arg, &j->err) == 0 && store_release(w->db, &j->err) == 0)
        return 0;
    bool again = j->must && is_passing(j->err.kind);
    if (rc == 0 && !again && !is_in_trouble(w->db))
        rc = store_rollback_to(w->db, &err);
    if (again || is_in_trouble(w->db)) {
        error_copy(why, err.kind ? &err : &j->err);
        return -1;
    }
    if (rc < 0)
        die(&err);
    return 0;
}

static void count_commit(struct writer *w, int jobs, int64_t took_us)
{
    pthread_mutex_lock(&w->lock);
    w->stats.jobs += (uint64_t)jobs;
    w->stats.commits++;
    histogram_add(&w->stats.commit_us, took_us);
    if (took_us > w->stats.commit_us_max)
        w->stats.commit_us_max = took_us;
    pthread_mutex_unlock(&w->lock);
}

/* Takes the jobs after j out of the group and puts them back at the front of the queue, where the next group begins. */
static void put_back_after(struct writer *w, struct job_list *group, struct job *j)
{
    struct job_list rest = {.stqh_first = STAILQ_NEXT(j, link), .stqh_last = group->stqh_last};
    STAILQ_NEXT(j, link) = NULL;
    group->stqh_last = &STAILQ_NEXT(j, link);
    pthread_mutex_lock(&w->lock);
    STAILQ_CONCAT(&rest, &w->queue);
    STAILQ_CONCAT(&w->queue, &rest);
    pthread_mutex_unlock(&w->lock);
}

/* Runs the jobs of `group`. Jobs that arrive meanwhile are added to the group; if the jobs take long, the rest is put
 * back. -1: a job met trouble. *ret_n is the number of jobs that were run. */
static int run_jobs(struct writer *w, struct job_list *group, int64_t start_us, int *ret_n, struct error *why)
{
    int n = 0;
    for (struct job *j = STAILQ_FIRST(group); j; j = STAILQ_NEXT(j, link)) {
        if (run_job(w, j, why) < 0)
            return -1;
        int64_t took_us = clock_monotonic_us() - start_us;
        bool full = ++n >= GROUP_JOBS_MAX;
        if (STAILQ_NEXT(j, link) && j->last && (full || took_us > GROUP_US_MAX)) {
            put_back_after(w, group, j);
        } else if (!STAILQ_NEXT(j, link) && !full && took_us < GROUP_GROWS_US) {
            pthread_mutex_lock(&w->lock);
            STAILQ_CONCAT(group, &w->queue);
            pthread_mutex_unlock(&w->lock);
        }
    }
    *ret_n = n;
    return 0;
}

/* Rolls the transaction back and returns the trouble. If the failure is of a kind that does not pass, the program
 * ends. */
static enum trouble roll_back(struct writer *w, const struct error *err)
{
    enum trouble trouble = trouble_of(w->db);
    if (trouble == TROUBLE_NONE && store_is_tangled(w->db))
        trouble = TROUBLE_TANGLED;
    if (trouble == TROUBLE_NONE && is_passing(err->kind))
        trouble = TROUBLE_AWAY;
    if (trouble == TROUBLE_NONE)
        die(err);
    store_rollback(w->db);
    store_clear_failure(w->db);
    return trouble;
}

/* Runs the jobs of a group in one transaction. If there is trouble, the transaction is rolled back, and *why is set. At
 * first no job waits for the results of those before it (`trusting`). It is rare that a job fails so late that a later
 * job sees the failure; if it happens, all jobs are run again one by one. */
static enum trouble commit_group(struct writer *w, struct job_list *group, bool trusting, struct error *why)
{
    int64_t start_us = clock_monotonic_us();
    int jobs;
    store_trust(w->db, trusting);
    if (store_begin(w->db, why) < 0 || run_jobs(w, group, start_us, &jobs, why) < 0 || store_commit(w->db, why) < 0)
        return roll_back(w, why);
    count_commit(w, jobs, clock_monotonic_us() - start_us);
    return TROUBLE_NONE;
}

/* Notes the trouble, and logs when trouble begins, changes into another one, or is over. */
static void set_trouble(struct writer *w, enum trouble trouble, const struct error *why)
{
    static const char *const event[] = {"store.recovered", "store.full", "store.away"};
    pthread_mutex_lock(&w->lock);
    if (trouble == TROUBLE_NONE && w->trouble != TROUBLE_NONE)
        log_info(event[trouble], "action=resume");
    else if (trouble != w->trouble || (trouble && strcmp(error_msg(why), error_msg(&w->why)) != 0))
        log_error(event[trouble], "action=retry reason=%s", log_quote(error_msg(why)));
    w->trouble = trouble;
    error_copy(&w->why, why);
    w->stats.retries += trouble != TROUBLE_NONE;
    pthread_mutex_unlock(&w->lock);
}

static void hand_over(struct writer *w, struct job_list *group)
{
    int n = 0;
    struct job *j;
    STAILQ_FOREACH(j, group, link)
        n++;
    pthread_mutex_lock(&w->lock);
    STAILQ_CONCAT(&w->finished, group);
    w->depth -= n;
    bool post = !w->finished_posted;
    w->finished_posted = true;
    pthread_mutex_unlock(&w->lock);
    if (post)
        loop_post(w->loop, on_finished, w);
}

static void retry_until_committed(struct writer *w, struct job_list *group)
{
    for (bool trusting = true;;) {
        cleanup_error struct error why = ERROR_INIT;
        enum trouble trouble = commit_group(w, group, trusting, &why);
        trusting = trusting && trouble != TROUBLE_TANGLED;
        if (trouble == TROUBLE_TANGLED)
            continue;
        set_trouble(w, trouble, &why);
        if (trouble == TROUBLE_NONE)
            return;
        usleep(RETRY_US);
    }
}

static void *writer_main(void *ctx)
{
    struct writer *w = ctx;
    pthread_setname_np(pthread_self(), "det-writer");
    for (;;) {
        struct job_list group = STAILQ_HEAD_INITIALIZER(group);
        pthread_mutex_lock(&w->lock);
        while (STAILQ_EMPTY(&w->queue) && !w->stopping)
            pthread_cond_wait(&w->wake, &w->lock);
        STAILQ_CONCAT(&group, &w->queue);
        pthread_mutex_unlock(&w->lock);
        if (STAILQ_EMPTY(&group))
            return NULL;
        retry_until_committed(w, &group);
        hand_over(w, &group);
    }
}

int writer_new(struct loop *l, struct store *db, struct writer **ret, struct error *err)
{
    struct writer *w = must_calloc(1, sizeof(*w));
    *w = (struct writer){.loop = l, .db = db};
    STAILQ_INIT(&w->queue);
    STAILQ_INIT(&w->finished);
    STAILQ_INIT(&w->completing);
    STAILQ_INIT(&w->waiting);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    if (pthread_create(&w->thread, NULL, writer_main, w) != 0) {
        free(w);
        return error_set(err, ERR_UNAVAILABLE, "can't start the writer's thread");
    }
    *ret = w;
    return 0;
}

void writer_free(struct writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    take_finished(w);
    run_completions(w, INT64_MAX);
    error_release(&w->why);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->wake);
    free(w);
}
