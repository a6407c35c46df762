#include "net/streams/mux_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "net/loop/loop_internal.h"
#include "net/streams/byte_stream_internal.h"
#include "net/streams/mux.h"

enum {
    IN_KEPT = 64 * 1024,
};

struct mux_link {
    struct byte_streams *all;
    struct mux_link_options o;
    struct mux *mux;
    bool ended, sending;
};

/* One stream as its user sees it. It may outlive its part in the multiplexer, until the user has been told everything.
 */
struct linked {
    struct byte_stream s;
    struct mux_link *link; /* NULL: the multiplexer has no part of it any more */
    struct mux_stream *m;  /* NULL with link */
    struct strbuf in;      /* came while the user held the stream; from in_at on */
    size_t in_at;
    bool held, accepted;
    /* what the user is still to be told, in this order */
    bool tell_open, tell_drained, tell_end, tell_close;
    bool waits;               /* bytes have waited since the user was last told that none does */
    char *why;                /* with tell_close; NULL: a clean end */
    struct loop_timer *timer; /* until the peer has answered to OPEN; NULL: afterwards, and on the accepting side */
    int timeout_s;
};

static struct linked *linked_of(const struct byte_stream *s)
{
    return (struct linked *)s;
}

/* ---- frames out -------------------------------------------------------------------------------------------------- */

static void leave_link(struct linked *k)
{
    k->m = NULL;
    k->link = NULL;
}

static bool has_room(const struct mux_link *l)
{
    return l->o.waiting(l->o.ctx) < MUX_LINK_WAITS_MAX;
}

static void note_sent(const struct mux_sent *sent)
{
    struct linked *k = sent->owner;
    if (!k)
        return;
    if (sent->emptied && k->waits) {
        k->waits = false;
        k->tell_drained = true;
    }
    if (sent->over) {
        leave_link(k);
        k->tell_close = true;
    }
    if (k->tell_drained || k->tell_close)
        stream_soon(&k->s);
}

/* Sends frames while the carrier has room. */
static void send_frames(struct mux_link *l)
{
    struct mux_frame frame;
    struct mux_sent sent;
    if (l->sending || l->ended)
        return;
    l->sending = true;
    while (has_room(l) && mux_next(l->mux, &frame, &sent)) {
        l->o.send(l->o.ctx, &frame);
        note_sent(&sent);
    }
    l->sending = false;
}

/* Sends the first of n bytes straight from the user's memory, as many as possible. Returns how many were sent. */
static size_t pass_frames(struct linked *k, const char *data, size_t n)
{
    struct mux_link *l = k->link;
    struct mux_frame frame;
    size_t sent = 0, part;
    if (l->sending || l->ended)
        return 0;
    l->sending = true;
    while (sent < n && has_room(l) && (part = mux_pass(k->m, data + sent, n - sent, &frame)) > 0) {
        l->o.send(l->o.ctx, &frame);
        sent += part;
    }
    l->sending = false;
    return sent;
}

/* ---- to the user ------------------------------------------------------------------------------------------------- */

static size_t in_n(const struct linked *k)
{
    return k->in.n - k->in_at;
}

/* Hands over what came while the stream was held. Returns false if the stream is gone. */
static bool hand_over(struct linked *k)
{
    while (in_n(k) > 0 && !k->held) {
        size_t n = in_n(k) < MUX_DATA_MAX ? in_n(k) : MUX_DATA_MAX;
        const char *data = k->in.s + k->in_at;
        k->in_at += n;
        if (k->m)
            mux_consumed(k->m, n);
        if (!stream_tell_data(&k->s, data, n))
            return false;
    }
    if (in_n(k) == 0) {
        k->in_at = 0;
        if (k->in.cap > IN_KEPT)
            strbuf_release(&k->in);
        else
            strbuf_reset(&k->in);
    }
    return true;
}

/* Tells the user everything that is to be told. */
static void tell(struct linked *k)
{
    if (k->tell_open) {
        k->tell_open = false;
        if (!stream_tell_open(&k->s))
            return;
    }
    if (k->tell_drained) {
        k->tell_drained = false;
        if (!stream_tell_drained(&k->s))
            return;
    }
    if (!hand_over(k))
        return;
    if (k->link) /* credit for what was taken */
        send_frames(k->link);
    if (in_n(k) > 0) /* the user has held the stream: the rest follows later */
        return;
    if (k->tell_end) {
        k->tell_end = false;
        if (!stream_tell_end(&k->s))
            return;
    }
    if (k->tell_close)
        stream_tell_close(&k->s, k->why);
}

static void stop_timer(struct linked *k)
{
    loop_timer_free(k->timer);
    k->timer = NULL;
}

static void on_accepted(void *owner)
{
    struct linked *k = owner;
    stop_timer(k);
    k->accepted = k->tell_open = true;
    tell(k);
}

static void on_data(void *owner, const void *data, size_t n)
{
    struct linked *k = owner;
    if (k->held || in_n(k) > 0) {
        strbuf_add(&k->in, data, n);
        return;
    }
    mux_consumed(k->m, n);
    stream_tell_data(&k->s, data, n);
}

static void on_end(void *owner)
{
    struct linked *k = owner;
    k->tell_end = true;
    tell(k);
}

static void on_closed(void *owner, const char *why)
{
    struct linked *k = owner;
    leave_link(k);
    stop_timer(k);
    k->tell_close = true;
    k->tell_end = k->tell_end || !why;
    k->why = why ? must_strdup(why) : NULL;
    tell(k);
}

static void linked_wake(struct byte_stream *s)
{
    tell(linked_of(s));
}

/* ---- the user's calls -------------------------------------------------------------------------------------------- */

static size_t linked_pending(const struct byte_stream *s)
{
    const struct linked *k = linked_of(s);
    return k->m ? mux_pending(k->m) : 0;
}

static void linked_write(struct byte_stream *s, const void *data, size_t n)
{
    struct linked *k = linked_of(s);
    if (!k->link)
        return;
    size_t sent = pass_frames(k, data, n);
    if (sent == n)
        return;
    mux_write(k->m, (const char *)data + sent, n - sent);
    send_frames(k->link);
    k->waits = linked_pending(s) > 0;
}

static void linked_hold(struct byte_stream *s, bool on)
{
    struct linked *k = linked_of(s);
    k->held = on;
    if (!on && (in_n(k) > 0 || k->tell_end || k->tell_close))
        stream_soon(s);
}

static void linked_end(struct byte_stream *s)
{
    struct linked *k = linked_of(s);
    if (!k->m)
        return;
    mux_finish(k->m);
    send_frames(k->link);
}

static void linked_leave(struct byte_stream *s, const char *why)
{
    struct linked *k = linked_of(s);
    struct mux_link *l = k->link;
    stop_timer(k);
    if (!l)
        return;
    mux_close(k->m, why ? why : "");
    leave_link(k);
    send_frames(l);
}

static void linked_release(struct byte_stream *s)
{
    struct linked *k = linked_of(s);
    strbuf_release(&k->in);
    free(k->why);
    free(k);
}

static const struct byte_stream_carrier carrier = {.write = linked_write,
                                                   .pending = linked_pending,
                                                   .hold = linked_hold,
                                                   .end = linked_end,
                                                   .wake = linked_wake,
                                                   .leave = linked_leave,
                                                   .release = linked_release};

static struct linked *linked_new(struct mux_link *l, const struct byte_stream_handler *h)
{
    struct linked *k = must_calloc(1, sizeof(*k));
    k->link = l;
    stream_init(&k->s, l->all, &carrier, h);
    return k;
}

/* ---- beginnings -------------------------------------------------------------------------------------------------- */

/* The peer is told that nobody waits any more. */
static void on_time(void *ctx)
{
    struct linked *k = ctx;
    struct mux_link *l = k->link;
    char why[80];
    snprintf(why, sizeof(why), "the agent has not answered within %d s", k->timeout_s);
    k->s.timed_out = true;
    mux_close(k->m, why);
    leave_link(k);
    send_frames(l);
    stream_tell_close(&k->s, why);
}

int mux_link_open(struct mux_link *l, const char *name, int timeout_s, const struct byte_stream_handler *h,
                  struct byte_stream **ret, struct error *err)
{
    struct mux_stream *m;
    if (mux_open(l->mux, name, NULL, &m, err) < 0)
        return -1;
    struct linked *k = linked_new(l, h);
    k->m = m;
    k->timeout_s = timeout_s;
    k->timer = loop_timer_new(l->all->loop, on_time, k);
    loop_timer_arm(k->timer, timeout_s * 1000000ll);
    mux_set_owner(m, k);
    send_frames(l);
    *ret = &k->s;
    return 0;
}

static void on_asked(void *ctx, struct mux_stream *m, const char *name)
{
    struct mux_link *l = ctx;
    struct linked *k = linked_new(l, &(struct byte_stream_handler){0});
    k->m = m;
    mux_set_owner(m, k);
    l->o.on_asked(l->o.ctx, &k->s, name);
}

void mux_link_accept(struct byte_stream *s)
{
    struct linked *k = linked_of(s);
    if (!k->m || k->accepted)
        return;
    k->accepted = true;
    stream_set_open(s);
    mux_accept(k->m);
    send_frames(k->link);
}

void mux_link_refuse(struct byte_stream *s, const char *why)
{
    byte_stream_abort(s, why); /* mux_close() refuses a stream that was not accepted */
}

/* ---- the link ---------------------------------------------------------------------------------------------------- */

struct mux_link *mux_link_new(struct byte_streams *all, const struct mux_link_options *o)
{
    struct mux_handler h = {
        .on_asked = on_asked, .on_accepted = on_accepted, .on_data = on_data, .on_end = on_end, .on_closed = on_closed};
    struct mux_link *l = must_calloc(1, sizeof(*l));
    l->all = all;
    l->o = *o;
    h.ctx = l;
    l->mux = mux_new(o->opens, o->streams_max, &h);
    return l;
}

void mux_link_end(struct mux_link *l, const char *why)
{
    l->ended = true;
    mux_end(l->mux, why);
}

void mux_link_free(struct mux_link *l)
{
    if (!l)
        return;
    mux_free(l->mux);
    free(l);
}

int mux_link_receive(struct mux_link *l, const void *frame, size_t n, struct error *err)
{
    if (mux_receive(l->mux, frame, n, err) < 0)
        return -1;
    send_frames(l);
    return 0;
}

void mux_link_drained(struct mux_link *l)
{
    send_frames(l);
}

size_t mux_link_count(const struct mux_link *l)
{
    return mux_count(l->mux);
}
