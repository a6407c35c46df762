#include "master/writer/sealer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "master/writer/writer.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

/* A subject that has, or may have, rows to be sealed. */
struct unsealed {
    char *subject;
    struct sealer_size size;
    int64_t last_us; /* when the last row came, by the monotonic clock */
    bool rest;       /* all rows are to be sealed, however few they are */
    bool in_line, in_round;
    TAILQ_ENTRY(unsealed) link;
    UT_hash_handle hh;
};

struct sealer {
    const struct sealer_type *type;
    struct pool *readers;
    struct writer *writer;
    struct loop_timer *timer;
    struct unsealed *by_subject;
    TAILQ_HEAD(, unsealed) line; /* the subjects that wait for a round, in order */
    bool busy, stopping;
    struct sealer_stats stats;
};

/* ---- who has rows ------------------------------------------------------------------------------------------------ */

static struct unsealed *find_unsealed(struct sealer *s, const char *subject)
{
    struct unsealed *u;
    HASH_FIND_STR(s->by_subject, subject, u);
    return u;
}

static struct unsealed *find_or_add_unsealed(struct sealer *s, const char *subject)
{
    struct unsealed *u = find_unsealed(s, subject);
    if (u)
        return u;
    u = must_calloc(1, sizeof(*u));
    u->subject = must_strdup(subject);
    HASH_ADD_KEYPTR(hh, s->by_subject, u->subject, strlen(u->subject), u);
    return u;
}

static void set_size(struct sealer *s, struct unsealed *u, int64_t rows, int64_t bytes)
{
    s->stats.waiting_bytes += bytes - u->size.bytes;
    u->size = (struct sealer_size){rows, bytes};
}

static void forget_unsealed(struct sealer *s, struct unsealed *u)
{
    set_size(s, u, 0, 0);
    if (u->in_line)
        TAILQ_REMOVE(&s->line, u, link);
    HASH_DEL(s->by_subject, u);
    free(u->subject);
    free(u);
}

static void start_round(struct sealer *s);

static void line_up_if_due(struct sealer *s, struct unsealed *u)
{
    const struct sealer_size *enough = &s->type->enough;
    bool due = u->size.rows >= enough->rows || u->size.bytes >= enough->bytes || (u->rest && u->size.rows);
    if (due && !u->in_line && !u->in_round) {
        u->in_line = true;
        TAILQ_INSERT_TAIL(&s->line, u, link);
    }
    start_round(s);
}

static void add_rows(struct sealer *s, const char *subject, struct sealer_size more, bool rest)
{
    struct unsealed *u = find_or_add_unsealed(s, subject);
    u->last_us = clock_monotonic_us();
    u->rest |= rest;
    set_size(s, u, u->size.rows + more.rows, u->size.bytes + more.bytes);
    line_up_if_due(s, u);
}

void sealer_added(struct sealer *s, const char *subject, size_t bytes)
{
    add_rows(s, subject, (struct sealer_size){1, (int64_t)bytes}, false);
}

void sealer_ended(struct sealer *s, const char *subject)
{
    struct unsealed *u = find_unsealed(s, subject);
    if (!u)
        return;
    u->rest = true;
    line_up_if_due(s, u);
}

static void on_time(void *ctx)
{
    struct sealer *s = ctx;
    struct unsealed *u, *next;
    int64_t now = clock_monotonic_us();
    loop_timer_arm(s->timer, s->type->period_us);
    HASH_ITER(hh, s->by_subject, u, next) {
        if (now - u->last_us < s->type->quiet_us)
            continue;
        u->rest = true;
        line_up_if_due(s, u);
    }
    start_round(s); /* begins a round that could not begin before because the readers' queue was full */
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

struct round {
    struct sealer *sealer;
    char *subject;
    bool rest;
    struct sealer_size before, gone;
    int64_t waiting_bytes;
    void *seal;
    struct error err;
};

static void free_round(struct round *r)
{
    r->sealer->type->free(r->seal);
    error_release(&r->err);
    free(r->subject);
    free(r);
}

static int64_t at_least(int64_t n, int64_t least)
{
    return n > least ? n : least;
}

/* Corrects the count of a subject's rows after a round. The rows that were sealed are subtracted, or the rows that were
 * counted but not found. If there may be more rows than are counted, at least one row is counted. */
static void settle_unsealed(struct sealer *s, struct unsealed *u, const struct round *r, bool failed)
{
    struct sealer_size gone = r->seal && !failed ? r->gone : r->before;
    bool maybe_more = failed || r->seal || !r->rest;
    set_size(s, u, at_least(u->size.rows - gone.rows, maybe_more), at_least(u->size.bytes - gone.bytes, 0));
    u->in_round = false;
    if (failed)
        u->last_us = clock_monotonic_us();
    else if (r->seal)
        u->rest |= r->rest;
    if (u->size.rows > 0)
        line_up_if_due(s, u);
    else
        forget_unsealed(s, u);
}

static void end_round(struct round *r, const struct error *err)
{
    struct sealer *s = r->sealer;
    struct unsealed *u = find_unsealed(s, r->subject);
    if (err)
        log_warning(s->type->failed, "%s=%s reason=%s action=later", s->type->subject, r->subject,
                    log_quote(error_msg(err)));
    else if (r->gone.rows > 0)
        s->stats.rounds++;
    s->stats.rows += (uint64_t)r->gone.rows;
    s->busy = false;
    if (u)
        settle_unsealed(s, u, r, err != NULL);
    free_round(r);
    start_round(s);
}

static int put_seal(struct store *db, void *job, struct error *err)
{
    struct round *r = job;
    r->gone = (struct sealer_size){0}; /* the job may be run again together with its group */
    return r->sealer->type->put(db, r->seal, &r->gone, err);
}

static void was_put(void *job, const struct error *err)
{
    struct round *r = job;
    if (err)
        r->gone = (struct sealer_size){0};
    end_round(r, err);
}

static void look_on_reader(void *worker, void *job)
{
    struct round *r = job;
    const struct sealer_look l = {r->subject, r->rest, r->waiting_bytes};
    r->sealer->type->look(worker, &l, &r->seal, &r->err);
}

static void has_looked(void *job)
{
    struct round *r = job;
    if (!r->seal || r->err.kind) {
        end_round(r, r->err.kind ? &r->err : NULL);
        return;
    }
    struct writer_job put_job = {.work = put_seal, .done = was_put, .arg = r};
    writer_submit(r->sealer->writer, &put_job, 1);
}

static void start_round(struct sealer *s)
{
    struct unsealed *u = TAILQ_FIRST(&s->line);
    if (s->busy || s->stopping || !u)
        return;
    struct round *r = must_calloc(1, sizeof(*r));
    r->subject = must_strdup(u->subject);
    r->sealer = s;
    r->rest = u->rest;
    r->before = u->size;
    r->waiting_bytes = s->stats.waiting_bytes;
    if (pool_submit(s->readers, look_on_reader, has_looked, r, &r->err) < 0) {
        free_round(r); /* the readers' queue is full: the next row or the timer begins the round again */
        return;
    }
    TAILQ_REMOVE(&s->line, u, link);
    u->in_line = u->rest = false;
    u->in_round = s->busy = true;
}

/* ---- what an earlier master left --------------------------------------------------------------------------------- */

struct left {
    struct sealer *sealer;
    struct arena arena;
    const char *after;
    struct sealer_left *list;
    size_t n;
    struct error err;
};

static void read_left(void *worker, void *job)
{
    struct left *l = job;
    l->sealer->type->left(worker, l->after, &l->arena, &l->list, &l->n, &l->err);
}

static void look_for_left(struct sealer *s, const char *after);

/* Adds the rows that an earlier master has left to the counts. Rows that came since the start are counted twice; a look
 * corrects that. */
static void add_left(void *job)
{
    struct left *l = job;
    struct sealer *s = l->sealer;
    if (l->err.kind) {
        log_warning(s->type->failed, "reason=%s action=only_what_comes", log_quote(error_msg(&l->err)));
        l->n = 0;
    }
    for (size_t i = 0; i < l->n && !s->stopping; i++)
        add_rows(s, l->list[i].subject, l->list[i].size, l->list[i].rest);
    if (l->n > 0 && !s->stopping)
        look_for_left(s, l->list[l->n - 1].subject);
    arena_release(&l->arena);
    error_release(&l->err);
    free(l);
}

static void look_for_left(struct sealer *s, const char *after)
{
    struct left *l = must_calloc(1, sizeof(*l));
    l->sealer = s;
    l->after = arena_strdup(&l->arena, after);
    if (pool_submit(s->readers, read_left, add_left, l, &l->err) < 0)
        add_left(l);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

struct sealer *sealer_new(const struct sealer_type *type, struct loop *l, struct pool *readers, struct writer *w)
{
    struct sealer *s = must_calloc(1, sizeof(*s));
    *s = (struct sealer){.type = type, .readers = readers, .writer = w};
    TAILQ_INIT(&s->line);
    s->timer = loop_timer_new(l, on_time, s);
    loop_timer_arm(s->timer, type->period_us);
    look_for_left(s, "");
    return s;
}

void sealer_stop(struct sealer *s)
{
    if (s)
        s->stopping = true;
}

void sealer_free(struct sealer *s)
{
    struct unsealed *u, *next;
    if (!s)
        return;
    HASH_ITER(hh, s->by_subject, u, next)
        forget_unsealed(s, u);
    loop_timer_free(s->timer);
    free(s);
}

struct sealer_stats sealer_stats(const struct sealer *s)
{
    return s->stats;
}
