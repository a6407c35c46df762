#include "net/streams/ws_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "net/streams/byte_stream_internal.h"

enum {
    MESSAGE_MAX = 1024 * 1024, /* bytes of one message that comes */
    SENT_MAX = 64 * 1024,      /* bytes of one message that we send */
    PING_S = 15,
    DEAD_S = 60,
    CLOSE_NORMAL = 1000,
    CLOSE_NO_STATUS = 1005, /* the peer's close frame is empty */
    CLOSE_ERROR = 1011,
};

struct ws_stream {
    struct byte_stream s;
    struct ws *ws;       /* NULL: not there yet, or closed */
    struct strbuf early; /* written before the WebSocket was open */
    bool open, ending, left;
    bool waits;        /* something has waited since the user was last told that nothing does */
    bool tell_drained; /* what was written early has left at once, of which the WebSocket says nothing */
};

static struct ws_stream *ws_of(const struct byte_stream *s)
{
    return (struct ws_stream *)s;
}

/* ---- the user's calls -------------------------------------------------------------------------------------------- */

static void send_messages(struct ws_stream *w, const char *data, size_t n)
{
    for (size_t piece; n > 0; data += piece, n -= piece) {
        piece = n < SENT_MAX ? n : SENT_MAX;
        ws_send(w->ws, data, piece, /* is_text= */ false);
    }
    w->waits = ws_pending(w->ws) > 0;
}

static void stream_write(struct byte_stream *s, const void *data, size_t n)
{
    struct ws_stream *w = ws_of(s);
    if (w->ending)
        return;
    if (w->open)
        send_messages(w, data, n);
    else
        strbuf_add(&w->early, data, n);
}

static size_t stream_pending(const struct byte_stream *s)
{
    const struct ws_stream *w = ws_of(s);
    return w->early.n + (w->ws ? ws_pending(w->ws) : 0);
}

static void stream_hold(struct byte_stream *s, bool on)
{
    struct ws_stream *w = ws_of(s);
    if (w->ws)
        ws_hold(w->ws, on);
}

static void stream_end(struct byte_stream *s)
{
    struct ws_stream *w = ws_of(s);
    if (w->ending)
        return;
    w->ending = true;
    /* The peer's close frame has to be read. A WebSocket that closes has five seconds, so it begins to close only when
     * everything has left. */
    if (w->open && stream_pending(s) == 0) {
        ws_hold(w->ws, false);
        ws_close(w->ws, CLOSE_NORMAL, "");
    }
}

static void stream_wake(struct byte_stream *s)
{
    struct ws_stream *w = ws_of(s);
    if (w->tell_drained) {
        w->tell_drained = false;
        stream_tell_drained(s);
    }
}

static void send_early(struct ws_stream *w)
{
    if (w->early.n == 0)
        return;
    send_messages(w, w->early.s, w->early.n);
    strbuf_release(&w->early);
    w->tell_drained = !w->waits;
    if (w->tell_drained)
        stream_soon(&w->s);
}

/* The WebSocket stays until its closing handshake is over; the stream's memory stays with it. */
static void stream_leave(struct byte_stream *s, const char *why)
{
    struct ws_stream *w = ws_of(s);
    strbuf_release(&w->early);
    if (w->ws && why) {
        ws_hold(w->ws, false);
        ws_close(w->ws, CLOSE_ERROR, why);
    }
}

static void stream_release(struct byte_stream *s)
{
    struct ws_stream *w = ws_of(s);
    if (!w->ws) {
        free(w);
        return;
    }
    w->left = true;
    TAILQ_INSERT_TAIL(&s->all->remnants, s, in_all);
    if (s->all->ending)
        ws_drop(w->ws); /* which frees w */
}

static void stream_end_remnant(struct byte_stream *s)
{
    ws_drop(ws_of(s)->ws);
}

static const struct byte_stream_carrier carrier = {.write = stream_write,
                                                   .pending = stream_pending,
                                                   .hold = stream_hold,
                                                   .end = stream_end,
                                                   .wake = stream_wake,
                                                   .leave = stream_leave,
                                                   .release = stream_release,
                                                   .end_remnant = stream_end_remnant};

/* ---- the WebSocket's callbacks ----------------------------------------------------------------------------------- */

static void on_open(struct ws *ws, void *ctx)
{
    struct ws_stream *w = ctx;
    w->open = true;
    if (w->s.gone || !stream_tell_open(&w->s))
        return;
    send_early(w);
    if (w->ending && stream_pending(&w->s) == 0)
        ws_close(w->ws, CLOSE_NORMAL, "");
}

static void on_message(struct ws *ws, const void *data, size_t n, bool is_text, void *ctx)
{
    struct ws_stream *w = ctx;
    if (!w->s.gone && n > 0)
        stream_tell_data(&w->s, data, n);
}

static void on_drained(struct ws *ws, void *ctx)
{
    struct ws_stream *w = ctx;
    if (w->s.gone)
        return;
    if (w->ending) {
        ws_hold(w->ws, false);
        ws_close(w->ws, CLOSE_NORMAL, "");
    }
    if (w->waits) {
        w->waits = false;
        stream_tell_drained(&w->s);
    }
}

static void on_close(struct ws *ws, int code, const char *why, void *ctx)
{
    struct ws_stream *w = ctx;
    char text[200];
    w->ws = NULL;
    if (w->left) {
        TAILQ_REMOVE(&w->s.all->remnants, &w->s, in_all);
        free(w);
        return;
    }
    if (w->s.gone) /* the stream's user is being called; the memory is freed after that */
        return;
    bool clean = w->open && (code == CLOSE_NORMAL || code == CLOSE_NO_STATUS);
    if (why && *why)
        snprintf(text, sizeof(text), "%s", why);
    else
        snprintf(text, sizeof(text), "the WebSocket was closed with code %d", code);
    stream_tell_close(&w->s, clean ? NULL : text);
}

static struct ws_handler handler_of(struct ws_stream *w)
{
    return (struct ws_handler){.on_open = on_open,
                               .on_message = on_message,
                               .on_drained = on_drained,
                               .on_close = on_close,
                               .ctx = w,
                               .message_max = MESSAGE_MAX,
                               .ping_s = PING_S,
                               .dead_s = DEAD_S};
}

/* ---- beginnings -------------------------------------------------------------------------------------------------- */

static struct ws_stream *stream_new(struct byte_streams *all, const struct byte_stream_handler *h)
{
    struct ws_stream *w = must_calloc(1, sizeof(*w));
    stream_init(&w->s, all, &carrier, h);
    return w;
}

struct byte_stream *ws_stream_new(struct byte_streams *all, const struct byte_stream_handler *h, struct ws_handler *ret)
{
    struct ws_stream *w = stream_new(all, h);
    *ret = handler_of(w);
    return &w->s;
}

void ws_stream_begin(struct byte_stream *s, struct ws *ws)
{
    struct ws_stream *w = ws_of(s);
    w->ws = ws;
    w->open = true;
    stream_set_open(s);
    send_early(w);
}

int ws_stream_connect(struct byte_streams *all, const struct ws_client_options *o, const struct byte_stream_handler *h,
                      struct byte_stream **ret, struct error *err)
{
    struct ws_stream *w = stream_new(all, h);
    struct ws_handler handler = handler_of(w);
    if (ws_connect(all->loop, o, &handler, &w->ws, err) < 0) {
        w->ws = NULL;
        byte_stream_drop(&w->s);
        return -1;
    }
    *ret = &w->s;
    return 0;
}
