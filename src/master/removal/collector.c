#include "master/removal/collector.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "api/checkpoints/checkpoint_choice.h"
#include "api/checkpoints/checkpoint_files.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "master/master.h"
#include "master/removal/collection_tasks.h"
#include "store/experiments/removals.h"

enum { REMOVALS_PER_TURN = 16, TASKS_AT_ONCE = 8 };
#define PAUSE_AFTER_FAILURE_US 60000000ll
#define LOOK_EVERY_US \
    300000000ll /* looks for work without collector_wake() at this interval, such as after a silent trial ended */

/* The result of one removal. Exactly one of the three texts is set. */
struct outcome {
    const struct store_removal *of;
    const char *left;      /* the removal is done; JSON of the files that are left */
    const char *reason;    /* why the removal failed */
    const char *elsewhere; /* why a task must remove the files */
};

/* What one turn found and did. */
struct turn {
    struct collector *of;
    struct arena arena;
    struct error failed;
    int64_t now_us, next_us;
    struct store_collection collection; /* the collection whose checkpoints were chosen from */
    struct store_texts chosen;
    bool stale; /* the policy was changed after checkpoints had been chosen by it */
    struct outcome *outcome;
    size_t outcome_n;
    struct store_tensorboard_removal tensorboard; /* experiment_id 0: no removal was due */
    const char *tensorboard_reason, *tensorboard_elsewhere;
    struct store_removal_group group; /* checkpoints for a task … */
    bool wants_task;                  /* … which is to be started */
};

struct waiter {
    void (*fn)(void *ctx);
    void *ctx;
    bool in_this_pass; /* the removal is done in this pass; false: in the next one */
    STAILQ_ENTRY(waiter) next;
};

struct collector {
    struct master *m;
    struct pool *thread; /* a pool of one thread, with a connection that only reads */
    struct loop_timer *timer;
    bool busy, again; /* busy: a pass runs; again: another pass has to follow it */
    atomic_bool stopping;
    STAILQ_HEAD(, waiter) waiters;
};

static void begin_turn(struct collector *c);

/* ---- on the collector's thread ----------------------------------------------------------------------------------- */

static void choose_checkpoints(struct store *db, struct turn *t)
{
    struct gc_policy policy;
    int32_t id = t->collection.experiment_id;
    if (checkpoint_policy(db, id, &policy, &t->failed) < 0 ||
        checkpoints_to_remove(db, id, &policy, &t->arena, &t->chosen, &t->failed) < 0)
        error_wrap(&t->failed, "choosing checkpoints of experiment %d", id);
}

static struct outcome remove_one(const struct storage_roots *roots, const struct store_removal *r, struct arena *a)
{
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf left = STRBUF_INIT;
    const struct checkpoint_site site = {.uuid = r->uuid, .where = r->site, .roots = roots};
    const char *elsewhere;
    if (checkpoint_files_remove(&site, r->globs, a, &elsewhere, &left, &err) < 0)
        return (struct outcome){.of = r, .reason = arena_strdup(a, error_msg(&err))};
    return elsewhere ? (struct outcome){.of = r, .elsewhere = elsewhere}
                     : (struct outcome){.of = r, .left = arena_strdup(a, strbuf_str(&left))};
}

static void remove_some(struct store *db, struct turn *t)
{
    struct store_removal *due;
    size_t n;
    if (store_removals_due(db, t->now_us, REMOVALS_PER_TURN, &t->arena, &due, &n, &t->failed) < 0)
        return;
    t->outcome = arena_array(&t->arena, struct outcome, n + 1);
    for (size_t i = 0; i < n && !atomic_load(&t->of->stopping); i++)
        t->outcome[t->outcome_n++] = remove_one(t->of->m->info.storage_roots, &due[i], &t->arena);
}

static void remove_tensorboard(struct store *db, struct turn *t)
{
    cleanup_error struct error err = ERROR_INIT;
    struct store_tensorboard_removal *b = &t->tensorboard;
    if (store_tensorboard_removal_due(db, t->now_us, &t->arena, b, &t->failed) < 0 || !b->experiment_id)
        return;
    const struct checkpoint_site site = {.uuid = "TensorBoard",
                                         .where = b->site,
                                         .roots = t->of->m->info.storage_roots};
    if (tensorboard_files_remove(&site, t->of->m->info.cluster_id, b->experiment_id, &t->arena,
                                 &t->tensorboard_elsewhere, &err) < 0)
        t->tensorboard_reason = arena_strdup(&t->arena, error_msg(&err));
}

static void look_for_task(struct store *db, struct turn *t)
{
    int64_t running;
    if (store_collecting_tasks(db, &running, &t->failed) < 0)
        return;
    if (running < TASKS_AT_ONCE &&
        store_removal_group_next(db, t->now_us, &t->arena, &t->group, &t->wants_task, &t->failed) < 0)
        return;
    if (!t->wants_task)
        store_removals_next(db, t->now_us, &t->next_us, &t->failed);
}

/* Does the first of these works that is due: choosing checkpoints, removing files, removing TensorBoard files, looking
 * for work for a task. */
static void do_turn(void *worker, void *job)
{
    struct turn *t = job;
    if (store_collection_next(worker, &t->collection, &t->failed) < 0)
        return;
    if (t->collection.experiment_id) {
        choose_checkpoints(worker, t);
        return;
    }
    remove_some(worker, t);
    if (!t->failed.kind && !t->outcome_n)
        remove_tensorboard(worker, t);
    if (!t->failed.kind && !t->outcome_n && !t->tensorboard.experiment_id)
        look_for_task(worker, t);
}

/* ---- on the writer's thread -------------------------------------------------------------------------------------- */

/* Stores which checkpoints are to be removed. If the policy was set after they were chosen, nothing is stored, and the
 * next turn chooses by the new policy. */
static int record_choice(struct store *db, struct turn *t, struct error *err)
{
    bool counts;
    if (store_collection_done(db, &t->collection, &counts, err) < 0)
        return -1;
    t->stale = !counts;
    for (size_t i = 0; counts && i < t->chosen.n; i++)
        if (store_removal_add(db, t->chosen.text[i], "[]", t->now_us, err) < 0)
            return -1;
    return 0;
}

static int record_outcome(struct store *db, const struct turn *t, const struct outcome *o, struct error *err)
{
    const struct store_removal *r = o->of;
    if (o->left)
        return store_removal_done(db, r->uuid, r->globs, o->left, err);
    if (o->elsewhere)
        return store_removal_hand_over(db, r->uuid, r->globs, err);
    return store_removal_failed(db, r->uuid, r->globs, t->now_us + store_removal_pause_us(r->tries), o->reason, err);
}

static int record_tensorboard(struct store *db, const struct turn *t, struct error *err)
{
    const struct store_tensorboard_removal *b = &t->tensorboard;
    if (t->tensorboard_reason)
        return store_tensorboard_removal_failed(db, b->experiment_id, t->now_us + store_removal_pause_us(b->tries),
                                                t->tensorboard_reason, err);
    return t->tensorboard_elsewhere ? store_tensorboard_removal_hand_over(db, b->experiment_id, err)
                                    : store_tensorboard_removal_done(db, b->experiment_id, err);
}

static int record_turn(struct store *db, void *job, struct error *err)
{
    struct turn *t = job;
    if (t->collection.experiment_id)
        return record_choice(db, t, err);
    for (size_t i = 0; i < t->outcome_n; i++)
        if (record_outcome(db, t, &t->outcome[i], err) < 0)
            return -1;
    return t->tensorboard.experiment_id ? record_tensorboard(db, t, err) : 0;
}

/* ---- on the loop ------------------------------------------------------------------------------------------------- */

static void turn_free(struct turn *t)
{
    error_release(&t->failed);
    arena_release(&t->arena);
    free(t);
}

static struct waiter *take_waiter(struct collector *c)
{
    struct waiter *w;
    STAILQ_FOREACH(w, &c->waiters, next) {
        if (w->in_this_pass) {
            STAILQ_REMOVE(&c->waiters, w, waiter, next);
            return w;
        }
    }
    return NULL;
}

static void call_waiters(struct collector *c)
{
    for (struct waiter *w; (w = take_waiter(c));) {
        w->fn(w->ctx);
        free(w);
    }
}

static void begin_pass(struct collector *c)
{
    struct waiter *w;
    c->busy = true;
    c->again = false;
    STAILQ_FOREACH(w, &c->waiters, next)
        w->in_this_pass = true;
    begin_turn(c);
}

static void end_pass(struct collector *c, int64_t next_us)
{
    bool stopping = atomic_load(&c->stopping);
    if (!stopping)
        call_waiters(c); /* c->busy is still set, so that waiters can ask for another pass but do not begin it */
    c->busy = false;
    if (stopping)
        return;
    if (c->again) {
        begin_pass(c);
        return;
    }
    int64_t wait_us = next_us ? next_us - clock_now_us() : LOOK_EVERY_US;
    loop_timer_arm(c->timer, wait_us < 0 ? 0 : wait_us < LOOK_EVERY_US ? wait_us : LOOK_EVERY_US);
}

static void pause_after_failure(struct collector *c, const struct error *err)
{
    log_warning("checkpoint.collection_failed", "reason=%s action=try_again", log_quote(error_msg(err)));
    end_pass(c, clock_now_us() + PAUSE_AFTER_FAILURE_US);
}

static void log_turn(const struct turn *t)
{
    if (t->collection.experiment_id && !t->stale)
        log_info("checkpoint.chosen", "exp=%d to_remove=%zu", t->collection.experiment_id, t->chosen.n);
    for (size_t i = 0; i < t->outcome_n; i++) {
        const struct outcome *o = &t->outcome[i];
        if (o->left)
            log_info("checkpoint.removed", "uuid=%s globs=%s", o->of->uuid, log_quote(o->of->globs));
        else if (o->elsewhere)
            log_info("checkpoint.handed_over", "uuid=%s reason=%s to=task", o->of->uuid, log_quote(o->elsewhere));
        else
            log_warning("checkpoint.remove_failed", "uuid=%s tries=%d reason=%s", o->of->uuid, o->of->tries + 1,
                        log_quote(o->reason));
    }
    if (t->tensorboard_reason)
        log_warning("tensorboard.remove_failed", "exp=%d tries=%d reason=%s", t->tensorboard.experiment_id,
                    t->tensorboard.tries + 1, log_quote(t->tensorboard_reason));
    else if (t->tensorboard_elsewhere)
        log_info("tensorboard.handed_over", "exp=%d reason=%s to=task", t->tensorboard.experiment_id,
                 log_quote(t->tensorboard_elsewhere));
}

static void next_turn(void *ctx, const struct error *err)
{
    struct collector *c = ctx;
    if (err)
        pause_after_failure(c, err);
    else if (atomic_load(&c->stopping))
        end_pass(c, 0);
    else
        begin_turn(c);
}

static void turn_recorded(void *job, const struct error *err)
{
    struct turn *t = job;
    struct collector *c = t->of;
    if (!err)
        log_turn(t);
    turn_free(t);
    next_turn(c, err);
}

static void start_task(struct turn *t)
{
    struct collector *c = t->of;
    cleanup_error struct error err = ERROR_INIT;
    int rc = collection_task_start(c->m, &t->group, next_turn, c, &err);
    turn_free(t);
    if (rc < 0)
        pause_after_failure(c, &err);
}

/* Returns true if checkpoints cannot be chosen and a further attempt would fail as well. The failure is then logged,
 * and the collection is dropped until somebody sets the policy. */
static bool is_choice_impossible(const struct turn *t)
{
    return t->collection.experiment_id &&
           (t->failed.kind == ERR_INVALID || t->failed.kind == ERR_PRECONDITION || t->failed.kind == ERR_NOT_FOUND);
}

static void turn_done(void *job)
{
    struct turn *t = job;
    struct collector *c = t->of;
    bool failed = t->failed.kind != ERR_NONE;
    if (is_choice_impossible(t))
        log_warning("checkpoint.choice_failed", "exp=%d reason=%s", t->collection.experiment_id,
                    log_quote(error_msg(&t->failed)));
    if (!failed && t->wants_task && !atomic_load(&c->stopping)) {
        start_task(t);
        return;
    }
    if (is_choice_impossible(t) ||
        (!failed && (t->collection.experiment_id || t->outcome_n || t->tensorboard.experiment_id))) {
        struct writer_job write = {record_turn, turn_recorded, t};
        writer_submit(c->m->writer, &write, 1);
        return;
    }
    if (failed)
        pause_after_failure(c, &t->failed);
    else
        end_pass(c, t->next_us);
    turn_free(t);
}

static void begin_turn(struct collector *c)
{
    cleanup_error struct error err = ERROR_INIT;
    struct turn *t = must_calloc(1, sizeof(*t));
    *t = (struct turn){.of = c, .arena = ARENA_INIT, .failed = ERROR_INIT, .now_us = clock_now_us()};
    if (pool_submit(c->thread, do_turn, turn_done, t, &err) == 0)
        return;
    pause_after_failure(c, &err);
    turn_free(t);
}

void collector_wake(struct collector *c)
{
    if (!c || atomic_load(&c->stopping))
        return;
    c->again = true;
    if (!c->busy)
        begin_pass(c);
}

void collector_wake_then(struct collector *c, void (*fn)(void *ctx), void *ctx)
{
    struct waiter *w = must_calloc(1, sizeof(*w));
    *w = (struct waiter){.fn = fn, .ctx = ctx};
    STAILQ_INSERT_TAIL(&c->waiters, w, next);
    collector_wake(c);
}

static void on_time(void *ctx)
{
    collector_wake(ctx);
}

static int open_reader(void *ctx, void **ret_worker, struct error *err)
{
    const struct master *m = ctx;
    return store_open_reader(m->db_place, (struct store **)ret_worker, err);
}

static void close_reader(void *worker)
{
    store_close(worker);
}

int collector_new(struct master *m, struct collector **ret, struct error *err)
{
    const struct pool_options thread = {.name = "det-collector",
                                        .threads = 1,
                                        .queue_max = 1,
                                        .worker_init = open_reader,
                                        .worker_release = close_reader,
                                        .ctx = m};
    struct collector *c = must_calloc(1, sizeof(*c));
    c->m = m;
    STAILQ_INIT(&c->waiters);
    if (pool_new(m->loop, &thread, &c->thread, err) < 0) {
        free(c);
        return -1;
    }
    c->timer = loop_timer_new(m->loop, on_time, c);
    *ret = c;
    collector_wake(c);
    return 0;
}

bool collector_is_idle(const struct collector *c)
{
    return !c || pool_is_idle(c->thread);
}

void collector_stop(struct collector *c)
{
    if (!c)
        return;
    atomic_store(&c->stopping, true);
    loop_timer_disarm(c->timer);
}

void collector_free(struct collector *c)
{
    if (!c)
        return;
    pool_free(c->thread);
    loop_timer_free(c->timer);
    while (!STAILQ_EMPTY(&c->waiters)) {
        struct waiter *w = STAILQ_FIRST(&c->waiters);
        STAILQ_REMOVE_HEAD(&c->waiters, next);
        free(w);
    }
    free(c);
}
