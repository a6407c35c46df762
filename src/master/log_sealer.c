#include "master/log_sealer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/arena.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "master/writer.h"
#include "net/loop.h"
#include "net/pool.h"
#include "store/log_seal.h"

enum {
    QUICK_FROM_BYTES = 8 * 1024 * 1024,
    QUIET_US = 600000000,
    PERIOD_US = 60000000,
};

/* A task that has heads. */
struct unsealed {
    char *task_id;
    struct log_seal_size size;
    int64_t last_us; /* when the last head came, monotonic */
    bool rest;       /* seal all there is */
    bool in_line;
    TAILQ_ENTRY(unsealed) link;
    UT_hash_handle hh;
};

struct log_sealer {
    struct pool *readers;
    struct writer *writer;
    struct loop_timer *timer;
    struct unsealed *by_task;
    TAILQ_HEAD(, unsealed) line; /* whose turn it is */
    bool busy, stopping;
    struct log_sealer_stats stats;
};

/* ---- who has heads ---- */

static struct unsealed *find(struct log_sealer *s, const char *task_id)
{
    struct unsealed *u;
    HASH_FIND_STR(s->by_task, task_id, u);
    return u;
}

static struct unsealed *find_or_add(struct log_sealer *s, const char *task_id)
{
    struct unsealed *u = find(s, task_id);
    if (u)
        return u;
    u = calloc(1, sizeof(*u));
    if (!u || !(u->task_id = strdup(task_id)))
        abort();
    HASH_ADD_KEYPTR(hh, s->by_task, u->task_id, strlen(u->task_id), u);
    if (!HASH_ADDED(u))
        abort();
    return u;
}

static void forget(struct log_sealer *s, struct unsealed *u)
{
    s->stats.waiting_bytes -= u->size.text_bytes;
    if (u->in_line)
        TAILQ_REMOVE(&s->line, u, link);
    HASH_DEL(s->by_task, u);
    free(u->task_id);
    free(u);
}

static void count(struct log_sealer *s, struct unsealed *u, int64_t text_bytes, int64_t heads)
{
    u->size.text_bytes += text_bytes;
    u->size.heads += heads;
    s->stats.waiting_bytes += text_bytes;
}

static void start_round(struct log_sealer *s);

static void line_up_if_due(struct log_sealer *s, struct unsealed *u)
{
    bool due = u->size.text_bytes >= LOG_SEAL_BYTES || u->size.heads >= LOG_SEAL_HEADS || (u->rest && u->size.heads);
    if (due && !u->in_line) {
        u->in_line = true;
        TAILQ_INSERT_TAIL(&s->line, u, link);
    }
    start_round(s);
}

void log_sealer_added(struct log_sealer *s, const char *task_id, size_t text_bytes)
{
    struct unsealed *u = find_or_add(s, task_id);
    u->last_us = clock_monotonic_us();
    count(s, u, (int64_t)text_bytes, 1);
    line_up_if_due(s, u);
}

void log_sealer_ended(struct log_sealer *s, const char *task_id)
{
    struct unsealed *u = find(s, task_id);
    if (!u)
        return;
    u->rest = true;
    line_up_if_due(s, u);
}

static void on_time(void *ctx)
{
    struct log_sealer *s = ctx;
    struct unsealed *u, *next;
    int64_t now = clock_monotonic_us();
    loop_timer_arm(s->timer, PERIOD_US);
    HASH_ITER(hh, s->by_task, u, next)
        if (now - u->last_us >= QUIET_US) {
            u->rest = true;
            line_up_if_due(s, u);
        }
}

/* ---- a round ---- */

struct round {
    struct log_sealer *sealer;
    char *task_id;
    enum log_seal_pace pace;
    bool rest;
    struct log_seal *seal;
    struct error err;
};

/* The heads that went are no longer waited for. A round that found fewer than were counted (retention was there first)
 * counts anew from one. */
static void settle(struct log_sealer *s, struct unsealed *u, const struct round *r, const struct error *err)
{
    struct log_seal_size gone = u->size;
    if (!err && r->seal)
        gone = log_seal_taken(r->seal);
    else if (!err && !r->rest)
        gone.heads--;
    s->stats.rounds += r->seal != NULL;
    count(s, u, -gone.text_bytes, -gone.heads);
    if (u->size.heads > 0)
        line_up_if_due(s, u);
    else
        forget(s, u);
}

static void end_round(struct round *r, const struct error *err)
{
    struct log_sealer *s = r->sealer;
    struct unsealed *u = find(s, r->task_id);
    if (err)
        log_warning("log.seal_failed", "task=%s reason=%s action=later", r->task_id, log_quote(error_msg(err)));
    if (u)
        settle(s, u, r, err);
    log_seal_free(r->seal);
    error_release(&r->err);
    free(r->task_id);
    free(r);
    s->busy = false;
    start_round(s);
}

static int put(struct store *db, void *job, struct error *err)
{
    return store_log_seal_put(db, ((struct round *)job)->seal, err);
}

static void was_put(void *job, const struct error *err)
{
    end_round(job, err);
}

static void make(void *worker, void *job)
{
    struct round *r = job;
    store_log_seal_make(worker, r->task_id, r->pace, r->rest, &r->seal, &r->err);
}

static void was_made(void *job)
{
    struct round *r = job;
    if (!r->seal || r->err.kind) {
        end_round(r, r->err.kind ? &r->err : NULL);
        return;
    }
    struct writer_job put_job = {put, was_put, r};
    writer_submit(r->sealer->writer, &put_job, 1);
}

static void start_round(struct log_sealer *s)
{
    struct unsealed *u = TAILQ_FIRST(&s->line);
    if (s->busy || s->stopping || !u)
        return;
    struct round *r = calloc(1, sizeof(*r));
    if (!r || !(r->task_id = strdup(u->task_id)))
        abort();
    r->sealer = s;
    r->rest = u->rest;
    r->pace = s->stats.waiting_bytes > QUICK_FROM_BYTES ? LOG_SEAL_QUICK : LOG_SEAL_DENSE;
    TAILQ_REMOVE(&s->line, u, link);
    u->in_line = false;
    s->busy = true;
    if (pool_submit(s->readers, make, was_made, r, &r->err) == 0)
        return;
    /* Readers have more to do than they can queue: the next head or the timer asks again. */
    s->busy = false;
    error_release(&r->err);
    free(r->task_id);
    free(r);
}

/* ---- what an earlier master left ---- */

struct left {
    struct log_sealer *sealer;
    struct arena arena;
    struct store_log_waiting *task;
    size_t n;
    struct error err;
};

static void read_left(void *worker, void *job)
{
    struct left *l = job;
    store_log_waiting(worker, &l->arena, &l->task, &l->n, &l->err);
}

/* Heads that came since are counted twice now; a round that finds fewer puts that right. */
static void add_left(void *job)
{
    struct left *l = job;
    if (l->err.kind)
        log_warning("log.seal_failed", "reason=%s action=new_heads_only", log_quote(error_msg(&l->err)));
    for (size_t i = 0; i < l->n && !l->err.kind && !l->sealer->stopping; i++) {
        struct unsealed *u = find_or_add(l->sealer, l->task[i].task_id);
        u->last_us = clock_monotonic_us();
        count(l->sealer, u, l->task[i].size.text_bytes, l->task[i].size.heads);
        line_up_if_due(l->sealer, u);
    }
    arena_release(&l->arena);
    error_release(&l->err);
    free(l);
}

struct log_sealer *log_sealer_new(struct loop *l, struct pool *readers, struct writer *w)
{
    struct log_sealer *s = calloc(1, sizeof(*s));
    struct left *left = calloc(1, sizeof(*left));
    if (!s || !left)
        abort();
    *s = (struct log_sealer){.readers = readers, .writer = w};
    TAILQ_INIT(&s->line);
    s->timer = loop_timer_new(l, on_time, s);
    loop_timer_arm(s->timer, PERIOD_US);
    left->sealer = s;
    if (pool_submit(readers, read_left, add_left, left, &left->err) < 0)
        add_left(left);
    return s;
}

void log_sealer_stop(struct log_sealer *s)
{
    if (s)
        s->stopping = true;
}

void log_sealer_free(struct log_sealer *s)
{
    struct unsealed *u, *next;
    if (!s)
        return;
    HASH_ITER(hh, s->by_task, u, next)
        forget(s, u);
    loop_timer_free(s->timer);
    free(s);
}

struct log_sealer_stats log_sealer_stats(const struct log_sealer *s) { return s->stats; }
