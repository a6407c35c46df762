#include "master/metric_sealer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/arena.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "master/writer.h"
#include "net/pool.h"
#include "store/metric_seal.h"

enum {
    ENOUGH = 1024,      /* rows of one group, while reports come */
    REST = 32,          /* when none come any more: fewer cost less as rows */
    PERIOD_US = 15000000,
    QUIET_US = 60000000,
    LEFT_MAX = 1000,    /* trials that an earlier master left, at a time */
};

/* A trial that has, or may have, rows to be sealed. */
struct unsealed {
    int32_t trial_id;
    int reports;     /* since the last look; of all groups, so that a look may find too few of each */
    int64_t last_us; /* when the last one came, monotonic */
    bool rest;       /* seal what there is */
    bool in_line;
    TAILQ_ENTRY(unsealed) link;
    UT_hash_handle hh;
};

struct metric_sealer {
    struct pool *readers;
    struct writer *writer;
    struct loop_timer *timer;
    struct unsealed *by_trial;
    TAILQ_HEAD(, unsealed) line; /* whose turn it is */
    bool busy, stopping;
    struct metric_sealer_stats stats;
};

/* ---- who has reports ---- */

static struct unsealed *find_or_add(struct metric_sealer *s, int32_t trial_id)
{
    struct unsealed *u;
    HASH_FIND(hh, s->by_trial, &trial_id, sizeof(trial_id), u);
    if (u)
        return u;
    u = calloc(1, sizeof(*u));
    if (!u)
        abort();
    u->trial_id = trial_id;
    HASH_ADD(hh, s->by_trial, trial_id, sizeof(u->trial_id), u);
    if (!HASH_ADDED(u))
        abort();
    return u;
}

static void forget(struct metric_sealer *s, struct unsealed *u)
{
    if (u->in_line)
        TAILQ_REMOVE(&s->line, u, link);
    HASH_DEL(s->by_trial, u);
    free(u);
}

static void start_round(struct metric_sealer *s);

static void line_up(struct metric_sealer *s, struct unsealed *u)
{
    if (!u->in_line) {
        u->in_line = true;
        TAILQ_INSERT_TAIL(&s->line, u, link);
    }
    start_round(s);
}

void metric_sealer_reported(struct metric_sealer *s, int32_t trial_id)
{
    struct unsealed *u = find_or_add(s, trial_id);
    u->last_us = clock_monotonic_us();
    if (++u->reports >= ENOUGH)
        line_up(s, u);
}

static void on_time(void *ctx)
{
    struct metric_sealer *s = ctx;
    struct unsealed *u, *next;
    int64_t now = clock_monotonic_us();
    loop_timer_arm(s->timer, PERIOD_US);
    HASH_ITER(hh, s->by_trial, u, next) {
        if (now - u->last_us < QUIET_US)
            continue;
        u->rest = true;
        line_up(s, u);
    }
}

/* ---- a round ---- */

struct round {
    struct metric_sealer *sealer;
    int32_t trial_id;
    bool rest, done;
    struct metric_seal *seal;
    struct error err;
};

/* As long as there is something to seal it has another turn. A trial at rest is forgotten then, and any other waits for
 * its next reports. */
static void settle(struct metric_sealer *s, struct unsealed *u, const struct round *r, bool failed)
{
    if (r->done) {
        s->stats.rounds++;
        s->stats.reports += store_seal_reports(r->seal);
    }
    if (r->seal && !failed)
        line_up(s, u);
    else if (r->rest && u->reports == 0)
        forget(s, u);
}

static void end_round(struct round *r, const struct error *err)
{
    struct metric_sealer *s = r->sealer;
    struct unsealed *u;
    if (err)
        log_warning("metrics.seal_failed", "trial=%d reason=%s action=later", r->trial_id, log_quote(error_msg(err)));
    s->busy = false;
    HASH_FIND(hh, s->by_trial, &r->trial_id, sizeof(r->trial_id), u);
    if (u)
        settle(s, u, r, err != NULL);
    store_seal_free(r->seal);
    error_release(&r->err);
    free(r);
    start_round(s);
}

static int put(struct store *db, void *job, struct error *err)
{
    struct round *r = job;
    return store_seal_commit(db, r->seal, &r->done, err);
}

static void was_put(void *job, const struct error *err) { end_round(job, err); }

static void make(void *worker, void *job)
{
    struct round *r = job;
    store_seal_prepare(worker, r->trial_id, r->rest ? REST : ENOUGH, &r->seal, &r->err);
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

static void start_round(struct metric_sealer *s)
{
    struct unsealed *u = TAILQ_FIRST(&s->line);
    if (s->busy || s->stopping || !u)
        return;
    struct round *r = calloc(1, sizeof(*r));
    if (!r)
        abort();
    *r = (struct round){.sealer = s, .trial_id = u->trial_id, .rest = u->rest};
    TAILQ_REMOVE(&s->line, u, link);
    u->in_line = u->rest = false;
    u->reports = 0;
    s->busy = true;
    if (pool_submit(s->readers, make, was_made, r, &r->err) == 0)
        return;
    /* Readers have more to do than they can queue: the next report or the timer asks again. */
    s->busy = false;
    error_release(&r->err);
    free(r);
}

/* ---- what an earlier master left ---- */

struct left {
    struct metric_sealer *sealer;
    struct arena arena;
    int32_t from, *trial;
    size_t n;
    struct error err;
};

static void read_left(void *worker, void *job)
{
    struct left *l = job;
    store_seal_trials(worker, l->from, REST, LEFT_MAX, &l->arena, &l->trial, &l->n, &l->err);
}

static void look_for_left(struct metric_sealer *s, int32_t from);

/* They count as quiet: their reports, if any come, make them wait again. */
static void add_left(void *job)
{
    struct left *l = job;
    struct metric_sealer *s = l->sealer;
    if (l->err.kind)
        log_warning("metrics.seal_failed", "reason=%s action=new_reports_only", log_quote(error_msg(&l->err)));
    for (size_t i = 0; i < l->n && !l->err.kind; i++) {
        struct unsealed *u = find_or_add(s, l->trial[i]);
        u->rest = true;
        line_up(s, u);
    }
    if (l->n == LEFT_MAX && !l->err.kind && !s->stopping)
        look_for_left(s, l->trial[l->n - 1] + 1);
    arena_release(&l->arena);
    error_release(&l->err);
    free(l);
}

static void look_for_left(struct metric_sealer *s, int32_t from)
{
    struct left *l = calloc(1, sizeof(*l));
    if (!l)
        abort();
    l->sealer = s;
    l->from = from;
    if (pool_submit(s->readers, read_left, add_left, l, &l->err) < 0)
        add_left(l);
}

struct metric_sealer *metric_sealer_new(struct loop *l, struct pool *readers, struct writer *w)
{
    struct metric_sealer *s = calloc(1, sizeof(*s));
    if (!s)
        abort();
    *s = (struct metric_sealer){.readers = readers, .writer = w};
    TAILQ_INIT(&s->line);
    s->timer = loop_timer_new(l, on_time, s);
    loop_timer_arm(s->timer, PERIOD_US);
    look_for_left(s, 0);
    return s;
}

void metric_sealer_stop(struct metric_sealer *s)
{
    if (s)
        s->stopping = true;
}

void metric_sealer_free(struct metric_sealer *s)
{
    struct unsealed *u, *next;
    if (!s)
        return;
    HASH_ITER(hh, s->by_trial, u, next)
        forget(s, u);
    loop_timer_free(s->timer);
    free(s);
}

struct metric_sealer_stats metric_sealer_stats(const struct metric_sealer *s) { return s->stats; }
