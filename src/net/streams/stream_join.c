#include "net/streams/stream_join.h"

#include <stdlib.h>

#include "common/base/must.h"
#include "net/streams/byte_stream_internal.h"

enum {
    WAITS_MAX = 128 * 1024, /* bytes that wait for one side before the other one is held */
    LINGER_S = 30, /* how long a side whose other one is closed may stay without taking any of its last bytes */
};

struct stream_join {
    struct byte_streams *all;
    struct byte_stream *side[2]; /* NULL: closed */
    bool held[2];
    uint64_t *passed; /* NULL: nobody counts */
    stream_join_over_fn *over;
    void *ctx;
    int failed;
    char *why;                 /* why the first side was closed; NULL if both have ended well */
    struct loop_timer *linger; /* one side is closed; NULL: none */
    size_t waits;              /* bytes that waited for the other one when its timer was armed */
    TAILQ_ENTRY(stream_join) in_all;
};

static void join_free(struct stream_join *j)
{
    TAILQ_REMOVE(&j->all->joins, j, in_all);
    if (j->linger)
        loop_timer_free(j->linger);
    free(j->why);
    free(j);
}

static void join_over(struct stream_join *j)
{
    if (j->over)
        j->over(j->ctx, j->failed, j->why);
    join_free(j);
}

static int index_of(const struct stream_join *j, const struct byte_stream *s)
{
    return j->side[1] == s;
}

static void hold_side(struct stream_join *j, int i, bool on)
{
    if (j->side[i] && j->held[i] != on) {
        j->held[i] = on;
        byte_stream_hold(j->side[i], on);
    }
}

static void on_data(struct byte_stream *s, const void *data, size_t n, void *ctx)
{
    struct stream_join *j = ctx;
    int i = index_of(j, s);
    struct byte_stream *other = j->side[!i];
    if (!other) /* the other side is closed: this one only waits until its last bytes have left */
        return;
    byte_stream_write(other, data, n);
    if (j->passed)
        j->passed[i] += n;
    if (byte_stream_pending(other) > WAITS_MAX)
        hold_side(j, i, true);
}

static void on_drained(struct byte_stream *s, void *ctx)
{
    struct stream_join *j = ctx;
    int i = index_of(j, s);
    if (j->side[!i]) {
        hold_side(j, !i, false);
    } else if (j->why) { /* what has left were the last bytes of a side that has failed */
        j->side[i] = NULL;
        byte_stream_abort(s, j->why);
        join_over(j);
    }
}

static void on_end(struct byte_stream *s, void *ctx)
{
    struct stream_join *j = ctx;
    struct byte_stream *other = j->side[!index_of(j, s)];
    if (other)
        byte_stream_end(other);
}

static void linger_on(struct stream_join *j, const struct byte_stream *left)
{
    j->waits = byte_stream_pending(left);
    loop_timer_arm(j->linger, LINGER_S * 1000000ll);
}

static void out_of_patience(void *ctx)
{
    struct stream_join *j = ctx;
    struct byte_stream *left = j->side[0] ? j->side[0] : j->side[1];
    if (byte_stream_pending(left) < j->waits) { /* the peer is slow, but it reads */
        linger_on(j, left);
        return;
    }
    byte_stream_drop(left);
    join_over(j);
}

static void on_close(struct byte_stream *s, const char *why, void *ctx)
{
    struct stream_join *j = ctx;
    int i = index_of(j, s);
    struct byte_stream *other = j->side[!i];
    j->side[i] = NULL;
    if (why && !j->why) {
        j->why = must_strdup(why);
        j->failed = i;
    }
    if (other && why && byte_stream_pending(other) == 0) {
        j->side[!i] = NULL;
        byte_stream_abort(other, why);
        other = NULL;
    }
    if (!other) {
        join_over(j);
        return;
    }
    hold_side(j, !i, false);
    if (!why)
        byte_stream_end(other);
    j->linger = loop_timer_new(j->all->loop, out_of_patience, j);
    linger_on(j, other);
}

struct stream_join *stream_join(struct byte_streams *all, struct byte_stream *a, struct byte_stream *b,
                                stream_join_over_fn *over, void *ctx)
{
    struct stream_join *j = must_calloc(1, sizeof(*j));
    struct byte_stream_handler h = {
        .on_data = on_data, .on_drained = on_drained, .on_end = on_end, .on_close = on_close, .ctx = j};
    *j = (struct stream_join){.all = all, .side = {a, b}, .over = over, .ctx = ctx};
    TAILQ_INSERT_TAIL(&all->joins, j, in_all);
    byte_stream_set_handler(a, &h);
    byte_stream_set_handler(b, &h);
    return j;
}

void stream_join_count(struct stream_join *j, uint64_t passed[2])
{
    j->passed = passed;
}

void stream_join_drop(struct stream_join *j, const char *why)
{
    for (int i = 0; i < 2; i++)
        if (j->side[i])
            byte_stream_abort(j->side[i], why);
    join_free(j);
}

bool stream_join_finish(struct stream_join *j, const char *why)
{
    for (int i = 0; i < 2; i++)
        if (j->side[i] && byte_stream_pending(j->side[i]) > 0)
            return false;
    stream_join_drop(j, why);
    return true;
}

void stream_joins_drop(struct byte_streams *all)
{
    struct stream_join *j;
    while ((j = TAILQ_FIRST(&all->joins)))
        stream_join_drop(j, "this program ends");
}
