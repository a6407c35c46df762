#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "net/loop/loop_internal.h"
#include "net/streams/byte_stream_internal.h"

struct byte_streams *byte_streams_new(struct loop *l)
{
    struct byte_streams *all = must_calloc(1, sizeof(*all));
    all->loop = l;
    TAILQ_INIT(&all->list);
    TAILQ_INIT(&all->soon);
    TAILQ_INIT(&all->remnants);
    TAILQ_INIT(&all->joins);
    all->piece = must_malloc(PIECE_MAX);
    return all;
}

static void wake_streams(void *ctx)
{
    struct byte_streams *all = ctx;
    struct byte_stream *s;
    uint64_t turn = all->turn++;
    all->posted = false;
    while ((s = TAILQ_FIRST(&all->soon)) && s->soon_turn <= turn) {
        TAILQ_REMOVE(&all->soon, s, in_soon);
        s->soon = false;
        s->carrier->wake(s);
    }
}

void byte_streams_free(struct byte_streams *all)
{
    if (!all)
        return;
    struct byte_stream *s;
    all->ending = true;
    stream_joins_drop(all);
    while ((s = TAILQ_FIRST(&all->list)))
        byte_stream_drop(s);
    while ((s = TAILQ_FIRST(&all->remnants)))
        s->carrier->end_remnant(s);
    loop_unpost(all->loop, wake_streams, all);
    free(all->piece);
    free(all);
}

struct byte_streams_stats byte_streams_stats(const struct byte_streams *all)
{
    return all->stats;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static void leave_group(struct byte_stream *s)
{
    struct stream_group *g = s->group;
    s->group = NULL;
    if (!g || --g->n > 0)
        return;
    HASH_DEL(s->all->groups, g);
    free(g);
}

void byte_stream_join_group(struct byte_stream *s, const char *group)
{
    struct stream_group *g;
    leave_group(s);
    HASH_FIND_STR(s->all->groups, group, g);
    if (!g) {
        size_t n = strlen(group);
        g = must_calloc(1, sizeof(*g) + n + 1);
        memcpy(g->name, group, n);
        HASH_ADD_KEYPTR(hh, s->all->groups, g->name, n, g);
    }
    g->n++;
    s->group = g;
}

size_t byte_streams_count_group(const struct byte_streams *all, const char *group)
{
    const struct stream_group *g;
    HASH_FIND_STR(all->groups, group, g);
    return g ? g->n : 0;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

void stream_init(struct byte_stream *s, struct byte_streams *all, const struct byte_stream_carrier *carrier,
                 const struct byte_stream_handler *h)
{
    s->all = all;
    s->carrier = carrier;
    s->handler = *h;
    TAILQ_INSERT_TAIL(&all->list, s, in_all);
    all->stats.open++;
}

void stream_soon(struct byte_stream *s)
{
    struct byte_streams *all = s->all;
    if (s->soon || s->gone)
        return;
    s->soon = true;
    s->soon_turn = all->turn;
    TAILQ_INSERT_TAIL(&all->soon, s, in_soon);
    if (!all->posted)
        loop_post(all->loop, wake_streams, all);
    all->posted = true;
}

/* ---- the end of a stream ----------------------------------------------------------------------------------------- */

/* Takes a stream out of all lists. Its memory stays until no callback of its user is being called any more. */
static void take_away(struct byte_stream *s, const char *why)
{
    struct byte_streams *all = s->all;
    s->gone = true;
    TAILQ_REMOVE(&all->list, s, in_all);
    all->stats.open--;
    if (!s->opened)
        all->stats.failed++;
    leave_group(s);
    if (s->soon)
        TAILQ_REMOVE(&all->soon, s, in_soon);
    s->soon = false;
    s->carrier->leave(s, why);
}

void byte_stream_abort(struct byte_stream *s, const char *why)
{
    if (s->gone)
        return;
    take_away(s, why);
    if (s->telling == 0)
        s->carrier->release(s);
}

void byte_stream_drop(struct byte_stream *s)
{
    byte_stream_abort(s, "the other side has closed it");
}

void stream_tell_close(struct byte_stream *s, const char *why)
{
    take_away(s, NULL);
    s->telling++;
    if (s->handler.on_close)
        s->handler.on_close(s, why, s->handler.ctx);
    if (--s->telling == 0)
        s->carrier->release(s);
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

/* Returns whether the stream is still there after a callback. */
static bool told(struct byte_stream *s)
{
    s->telling--;
    if (!s->gone)
        return true;
    if (s->telling == 0)
        s->carrier->release(s);
    return false;
}

void stream_set_open(struct byte_stream *s)
{
    if (!s->opened)
        s->all->stats.opened++;
    s->opened = true;
}

bool stream_tell_open(struct byte_stream *s)
{
    stream_set_open(s);
    s->telling++;
    if (s->handler.on_open)
        s->handler.on_open(s, s->handler.ctx);
    return told(s);
}

bool stream_tell_data(struct byte_stream *s, const void *data, size_t n)
{
    s->all->stats.bytes_in += n;
    s->telling++;
    if (s->handler.on_data)
        s->handler.on_data(s, data, n, s->handler.ctx);
    return told(s);
}

bool stream_tell_drained(struct byte_stream *s)
{
    s->telling++;
    if (s->handler.on_drained)
        s->handler.on_drained(s, s->handler.ctx);
    return told(s);
}

bool stream_tell_end(struct byte_stream *s)
{
    s->telling++;
    if (s->handler.on_end)
        s->handler.on_end(s, s->handler.ctx);
    return told(s);
}

/* ---- the user's calls -------------------------------------------------------------------------------------------- */

bool byte_stream_timed_out(const struct byte_stream *s)
{
    return s->timed_out;
}

void byte_stream_set_handler(struct byte_stream *s, const struct byte_stream_handler *h)
{
    s->handler = *h;
}

void byte_stream_write(struct byte_stream *s, const void *data, size_t n)
{
    if (s->gone || n == 0)
        return;
    s->all->stats.bytes_out += n;
    s->carrier->write(s, data, n);
}

size_t byte_stream_pending(const struct byte_stream *s)
{
    return s->gone ? 0 : s->carrier->pending(s);
}

void byte_stream_hold(struct byte_stream *s, bool on)
{
    if (!s->gone)
        s->carrier->hold(s, on);
}

void byte_stream_end(struct byte_stream *s)
{
    if (!s->gone)
        s->carrier->end(s);
}
