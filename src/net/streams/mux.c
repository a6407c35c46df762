#include "net/streams/mux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/base/utf8.h"

enum {
    CREDIT_BYTES = 4,
    CREDIT_MAX = 1 << 30, /* what a peer may let us send in all; ours never let more than MUX_WINDOW_MAX */
    /* Streams of which the peer's side is still to be told that they are gone. A peer that opens so many more than it
     * may does not listen to refusals. */
    LEFTOVERS_MAX = 4096,
    OUT_MOVED = 256 * 1024, /* bytes that have left before those that wait are moved to their place */
    OUT_KEPT = 64 * 1024,   /* memory that a stream keeps for its next bytes once its last ones have left */
};

/* Frames without data that a stream is still to send. Each is sent at most once, CREDIT with the sum of all credit, so
 * that a carrier that stands still does not make them pile up. They are sent in the order of these bits. */
enum {
    DUE_OPEN = 1 << 0,
    DUE_ACCEPT = 1 << 1,
    DUE_CREDIT = 1 << 2,
    DUE_REFUSE = 1 << 3,
    DUE_CLOSE = 1 << 4,
};

/*  opener:    ASKED (OPEN was sent) ──ACCEPT──▶ OPEN ──both END, or CLOSE──▶ gone
 *  accepter:  ASKED (OPEN has come) ──mux_accept()──▶ OPEN …
 *  LEAVING: our side has closed or refused it, and the frame that says so is still to be sent; what comes for it is
 *  ignored. */
enum mux_state { MUX_ASKED, MUX_OPENED, MUX_LEAVING };

struct mux_stream {
    struct mux *mux;
    void *owner;
    uint32_t id;
    enum mux_state state;
    unsigned due;
    char *text;      /* the name of an OPEN, or the reason of a REFUSE or CLOSE, that is due */
    bool in_control; /* in the list of those that have frames due */
    bool in_ready;   /* in the list of those that may send data or END */

    struct strbuf out; /* written, from out_at on not yet in a frame */
    size_t out_at;
    uint32_t credit; /* bytes that the peer lets us send */
    bool finishing, end_sent;

    uint32_t window;     /* bytes that the peer may have on the way or with us */
    uint32_t granted;    /* of them, bytes that it may still send */
    uint32_t unconsumed; /* of them, bytes that our user has not taken yet */
    uint32_t credit_due;
    bool end_received;

    TAILQ_ENTRY(mux_stream) control, ready;
    UT_hash_handle hh;
};

TAILQ_HEAD(mux_list, mux_stream);

struct mux {
    struct mux_handler handler;
    bool opens, ended;
    size_t streams_max, leaving_n;
    uint32_t last_id;          /* the newest stream's */
    size_t growth;             /* bytes by which all windows together have grown */
    struct mux_stream *passed; /* the stream of which the last frame's body is; NULL: none */
    char text[MUX_REASON_MAX]; /* the body of the last frame, if it was a text */
    uint8_t credit[CREDIT_BYTES];
    struct mux_stream *by_id;
    struct mux_list control, ready;
};

/* ---- the table --------------------------------------------------------------------------------------------------- */

struct mux *mux_new(bool opens, size_t streams_max, const struct mux_handler *h)
{
    struct mux *m = must_calloc(1, sizeof(*m));
    m->handler = *h;
    m->opens = opens;
    m->streams_max = streams_max;
    TAILQ_INIT(&m->control);
    TAILQ_INIT(&m->ready);
    return m;
}

static struct mux_stream *stream_new(struct mux *m, uint32_t id)
{
    struct mux_stream *s = must_calloc(1, sizeof(*s));
    s->mux = m;
    s->id = id;
    s->credit = s->window = s->granted = MUX_WINDOW_FIRST;
    HASH_ADD(hh, m->by_id, id, sizeof(s->id), s);
    return s;
}

static void stream_free(struct mux_stream *s)
{
    struct mux *m = s->mux;
    if (m->passed == s)
        m->passed = NULL;
    HASH_DEL(m->by_id, s);
    if (s->in_control)
        TAILQ_REMOVE(&m->control, s, control);
    if (s->in_ready)
        TAILQ_REMOVE(&m->ready, s, ready);
    if (s->state == MUX_LEAVING)
        m->leaving_n--;
    m->growth -= s->window - MUX_WINDOW_FIRST;
    strbuf_release(&s->out);
    free(s->text);
    free(s);
}

static struct mux_stream *find_stream(const struct mux *m, uint32_t id)
{
    struct mux_stream *s;
    HASH_FIND(hh, m->by_id, &id, sizeof(id), s);
    return s;
}

void mux_free(struct mux *m)
{
    if (!m)
        return;
    while (m->by_id)
        stream_free(m->by_id);
    free(m);
}

void mux_end(struct mux *m, const char *why)
{
    m->ended = true;
    while (m->by_id) {
        struct mux_stream *s = m->by_id;
        void *owner = s->owner;
        bool leaving = s->state == MUX_LEAVING;
        stream_free(s);
        if (!leaving && owner)
            m->handler.on_closed(owner, why);
    }
}

size_t mux_count(const struct mux *m)
{
    return HASH_COUNT(m->by_id);
}

bool mux_has_frames(const struct mux *m)
{
    return !TAILQ_EMPTY(&m->control) || !TAILQ_EMPTY(&m->ready);
}

/* ---- what is due ------------------------------------------------------------------------------------------------- */

static void set_due(struct mux_stream *s, unsigned what)
{
    s->due |= what;
    if (!s->in_control)
        TAILQ_INSERT_TAIL(&s->mux->control, s, control);
    s->in_control = true;
}

static void clear_due(struct mux_stream *s, unsigned what)
{
    s->due &= ~what;
    if (s->in_control && !s->due) {
        TAILQ_REMOVE(&s->mux->control, s, control);
        s->in_control = false;
    }
}

static size_t out_n(const struct mux_stream *s)
{
    return s->out.n - s->out_at;
}

static bool may_send(const struct mux_stream *s)
{
    if (s->state != MUX_OPENED || s->end_sent)
        return false;
    return out_n(s) > 0 ? s->credit > 0 : s->finishing;
}

static void update_ready(struct mux_stream *s)
{
    bool ready = may_send(s);
    if (ready && !s->in_ready)
        TAILQ_INSERT_TAIL(&s->mux->ready, s, ready);
    else if (!ready && s->in_ready)
        TAILQ_REMOVE(&s->mux->ready, s, ready);
    s->in_ready = ready;
}

/* ---- frames out -------------------------------------------------------------------------------------------------- */

static void put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_frame(struct mux_frame *f, enum mux_kind kind, uint32_t id, const void *body, size_t n)
{
    memset(f->head, 0, MUX_HEAD);
    f->head[0] = (uint8_t)kind;
    put_u32(f->head + 4, id);
    f->body = body;
    f->body_n = n;
}

static void put_text(struct mux_frame *f, enum mux_kind kind, const struct mux_stream *s)
{
    size_t n = s->text ? strlen(s->text) : 0;
    memcpy(s->mux->text, s->text ? s->text : "", n); /* the stream may be gone before the frame is sent */
    put_frame(f, kind, s->id, s->mux->text, n);
}

static void put_due(struct mux_stream *s, struct mux_frame *f)
{
    struct mux *m = s->mux;
    if (s->due & DUE_OPEN) {
        put_text(f, MUX_OPEN, s);
        free(s->text);
        s->text = NULL;
        clear_due(s, DUE_OPEN);
    } else if (s->due & DUE_ACCEPT) {
        put_frame(f, MUX_ACCEPT, s->id, NULL, 0);
        clear_due(s, DUE_ACCEPT);
    } else if (s->due & DUE_CREDIT) {
        put_u32(m->credit, s->credit_due);
        s->credit_due = 0;
        put_frame(f, MUX_CREDIT, s->id, m->credit, CREDIT_BYTES);
        clear_due(s, DUE_CREDIT);
    } else {
        put_text(f, s->due & DUE_REFUSE ? MUX_REFUSE : MUX_CLOSE, s);
        stream_free(s);
    }
}

/* Frees the memory of bytes that were sent with the last frame. */
static void drop_passed(struct mux *m)
{
    struct mux_stream *s = m->passed;
    m->passed = NULL;
    if (!s)
        return;
    if (out_n(s) > 0) {
        if (s->out_at >= OUT_MOVED) { /* moved rarely, so that each byte is moved about once */
            strbuf_consume(&s->out, s->out_at);
            s->out_at = 0;
        }
        return;
    }
    s->out_at = 0;
    if (s->out.cap > OUT_KEPT)
        strbuf_release(&s->out);
    else
        strbuf_reset(&s->out);
}

/* How many of n bytes may go into one frame. */
static size_t data_n(const struct mux_stream *s, size_t n)
{
    n = n < s->credit ? n : s->credit;
    return n < MUX_DATA_MAX ? n : MUX_DATA_MAX;
}

static void put_data(struct mux_stream *s, struct mux_frame *f, struct mux_sent *ret)
{
    size_t n = data_n(s, out_n(s));
    put_frame(f, MUX_DATA, s->id, s->out.s + s->out_at, n);
    s->out_at += n;
    s->credit -= (uint32_t)n;
    s->mux->passed = s;
    TAILQ_REMOVE(&s->mux->ready, s, ready); /* to the end of the line */
    s->in_ready = false;
    update_ready(s);
    if (out_n(s) == 0)
        *ret = (struct mux_sent){.owner = s->owner, .emptied = true};
}

static void put_end(struct mux_stream *s, struct mux_frame *f, struct mux_sent *ret)
{
    put_frame(f, MUX_END, s->id, NULL, 0);
    s->end_sent = true;
    update_ready(s);
    if (s->end_received) {
        *ret = (struct mux_sent){.owner = s->owner, .over = true};
        stream_free(s);
    }
}

bool mux_next(struct mux *m, struct mux_frame *ret, struct mux_sent *ret_sent)
{
    drop_passed(m);
    struct mux_stream *s = TAILQ_FIRST(&m->control);
    *ret_sent = (struct mux_sent){0};
    if (s) {
        put_due(s, ret);
        return true;
    }
    s = TAILQ_FIRST(&m->ready);
    if (!s)
        return false;
    if (out_n(s) > 0)
        put_data(s, ret, ret_sent);
    else
        put_end(s, ret, ret_sent);
    return true;
}

size_t mux_pass(struct mux_stream *s, const void *data, size_t n, struct mux_frame *ret)
{
    if (mux_has_frames(s->mux) || s->state != MUX_OPENED || s->finishing || out_n(s) > 0 || s->credit == 0)
        return 0;
    n = data_n(s, n);
    put_frame(ret, MUX_DATA, s->id, data, n);
    s->credit -= (uint32_t)n;
    return n;
}

/* ---- frames in --------------------------------------------------------------------------------------------------- */

static int broken(struct error *err, const char *what, uint32_t id)
{
    return error_set(err, ERR_INVALID, "stream %u: %s", (unsigned)id, what);
}

/* Makes a text of the peer fit to be shown and logged on one line. */
static char *clean_text(const uint8_t *body, size_t n)
{
    char *text = must_strndup((const char *)body, n);
    if (utf8_check(text, strlen(text)) != strlen(text))
        for (char *p = text; *p; p++)
            if ((unsigned char)*p >= 0x80)
                *p = '?';
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
    return text;
}

static bool is_name(const uint8_t *body, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (body[i] <= ' ' || body[i] >= 0x7f)
            return false;
    return n > 0 && n <= MUX_NAME_MAX;
}

static int receive_open(struct mux *m, uint32_t id, const uint8_t *body, size_t n, struct error *err)
{
    if (m->opens)
        return broken(err, "OPEN is for the other side to send", id);
    if (id <= m->last_id)
        return broken(err, "its number was used before", id);
    if (!is_name(body, n))
        return broken(err, "OPEN without a name, or with a bad one", id);
    if (HASH_COUNT(m->by_id) >= m->streams_max + LEFTOVERS_MAX)
        return broken(err, "far too many streams are being opened", id);
    bool full = HASH_COUNT(m->by_id) - m->leaving_n >= m->streams_max;
    struct mux_stream *s = stream_new(m, id);
    m->last_id = id;
    if (full) {
        char why[120];
        snprintf(why, sizeof(why), "%zu streams are open on this machine, which is the most it allows", m->streams_max);
        mux_refuse(s, why);
        return 0;
    }
    char *name = must_strndup((const char *)body, n);
    m->handler.on_asked(m->handler.ctx, s, name);
    free(name);
    return 0;
}

static int receive_accept(struct mux *m, struct mux_stream *s, size_t n, struct error *err)
{
    if (!m->opens || s->state != MUX_ASKED || n != 0)
        return broken(err, "ACCEPT at the wrong time", s->id);
    s->state = MUX_OPENED;
    update_ready(s);
    m->handler.on_accepted(s->owner);
    return 0;
}

/* Handles the end of a stream by the peer: REFUSE and CLOSE. */
static int receive_close(struct mux *m, struct mux_stream *s, const uint8_t *body, size_t n, bool refused,
                         struct error *err)
{
    if (refused && (!m->opens || s->state != MUX_ASKED))
        return broken(err, "REFUSE at the wrong time", s->id);
    if (n > MUX_REASON_MAX)
        return broken(err, "a reason that is too long", s->id);
    char *why = n > 0 ? clean_text(body, n) : must_strdup("the other side has closed it");
    void *owner = s->owner;
    stream_free(s);
    if (owner)
        m->handler.on_closed(owner, why);
    free(why);
    return 0;
}

static int receive_data(struct mux *m, struct mux_stream *s, const uint8_t *body, size_t n, struct error *err)
{
    if (s->end_received)
        return broken(err, "DATA after END", s->id);
    if (n == 0 || n > s->granted)
        return broken(err, n ? "more data than its window has room for" : "DATA without data", s->id);
    s->granted -= (uint32_t)n;
    s->unconsumed += (uint32_t)n;
    m->handler.on_data(s->owner, body, n);
    return 0;
}

static int receive_credit(struct mux_stream *s, const uint8_t *body, size_t n, struct error *err)
{
    uint32_t more = n == CREDIT_BYTES ? get_u32(body) : 0;
    if (more == 0 || more > CREDIT_MAX - s->credit)
        return broken(err, "CREDIT of a wrong amount", s->id);
    s->credit += more;
    update_ready(s);
    return 0;
}

static int receive_end(struct mux *m, struct mux_stream *s, size_t n, struct error *err)
{
    void *owner = s->owner;
    if (s->end_received || n != 0)
        return broken(err, n ? "END with a body" : "END twice", s->id);
    s->end_received = true;
    if (!s->end_sent) {
        m->handler.on_end(owner);
        return 0;
    }
    stream_free(s);
    m->handler.on_closed(owner, NULL);
    return 0;
}

static int receive_for(struct mux *m, struct mux_stream *s, enum mux_kind kind, const uint8_t *body, size_t n,
                       struct error *err)
{
    if (kind == MUX_ACCEPT)
        return receive_accept(m, s, n, err);
    if (kind == MUX_REFUSE || kind == MUX_CLOSE)
        return receive_close(m, s, body, n, kind == MUX_REFUSE, err);
    if (s->state != MUX_OPENED)
        return broken(err, "DATA, CREDIT or END before ACCEPT", s->id);
    if (kind == MUX_DATA)
        return receive_data(m, s, body, n, err);
    return kind == MUX_CREDIT ? receive_credit(s, body, n, err) : receive_end(m, s, n, err);
}

int mux_receive(struct mux *m, const void *frame, size_t frame_n, struct error *err)
{
    const uint8_t *p = frame;
    if (frame_n < MUX_HEAD || frame_n > MUX_FRAME_MAX)
        return error_set(err, ERR_INVALID, "a frame of %zu bytes, allowed are %d to %d", frame_n, MUX_HEAD,
                         MUX_FRAME_MAX);
    enum mux_kind kind = p[0];
    uint32_t id = get_u32(p + 4);
    const uint8_t *body = p + MUX_HEAD;
    size_t n = frame_n - MUX_HEAD;
    if (kind < MUX_OPEN || kind > MUX_CLOSE || p[1] || p[2] || p[3] || id == 0)
        return error_set(err, ERR_INVALID, "a frame of the unknown kind %d", (int)p[0]);
    if (kind == MUX_OPEN)
        return receive_open(m, id, body, n, err);
    if (id > m->last_id)
        return broken(err, "it was never opened", id);
    struct mux_stream *s = find_stream(m, id);
    if (!s) /* the stream has gone on our side while this frame was on its way */
        return 0;
    if (s->state != MUX_LEAVING)
        return receive_for(m, s, kind, body, n, err);
    if (kind == MUX_CLOSE || kind == MUX_REFUSE) /* the peer knows already that it is gone */
        stream_free(s);
    return 0;
}

/* ---- the user's side --------------------------------------------------------------------------------------------- */

int mux_open(struct mux *m, const char *name, void *owner, struct mux_stream **ret, struct error *err)
{
    if (m->ended || m->last_id == UINT32_MAX)
        return error_set(err, ERR_UNAVAILABLE,
                         m->ended ? "the connection has ended"
                                  : "the connection has no number left for another stream");
    struct mux_stream *s = stream_new(m, ++m->last_id);
    s->owner = owner;
    s->text = must_strndup(name, MUX_NAME_MAX);
    set_due(s, DUE_OPEN);
    *ret = s;
    return 0;
}

void mux_set_owner(struct mux_stream *s, void *owner)
{
    s->owner = owner;
}

void mux_accept(struct mux_stream *s)
{
    s->state = MUX_OPENED;
    set_due(s, DUE_ACCEPT);
    update_ready(s);
}

static void leave(struct mux_stream *s, unsigned due, const char *why)
{
    struct mux *m = s->mux;
    if (m->ended || (s->due & DUE_OPEN)) { /* the peer does not know of it */
        stream_free(s);
        return;
    }
    s->state = MUX_LEAVING;
    s->owner = NULL;
    m->leaving_n++;
    update_ready(s);
    drop_passed(m);
    strbuf_release(&s->out);
    s->out_at = 0;
    clear_due(s, DUE_ACCEPT | DUE_CREDIT);
    free(s->text);
    s->text = must_strndup(why, MUX_REASON_MAX);
    set_due(s, due);
}

void mux_refuse(struct mux_stream *s, const char *why)
{
    leave(s, DUE_REFUSE, why);
}

void mux_close(struct mux_stream *s, const char *why)
{
    leave(s, s->state == MUX_ASKED && !s->mux->opens ? DUE_REFUSE : DUE_CLOSE, why);
}

void mux_write(struct mux_stream *s, const void *data, size_t n)
{
    if (s->finishing || s->state == MUX_LEAVING || n == 0)
        return;
    drop_passed(s->mux);
    strbuf_add(&s->out, data, n);
    update_ready(s);
}

size_t mux_pending(const struct mux_stream *s)
{
    return out_n(s);
}

void mux_finish(struct mux_stream *s)
{
    s->finishing = true;
    update_ready(s);
}

/* Lets the window of a stream that carries much grow, and returns by how much. */
static uint32_t grow_window(struct mux_stream *s)
{
    uint32_t by = s->window < MUX_WINDOW_MAX ? s->window : 0;
    if (by > MUX_WINDOW_MAX - s->window)
        by = MUX_WINDOW_MAX - s->window;
    if (s->mux->growth + by > MUX_GROWTH_MAX)
        by = 0;
    s->mux->growth += by;
    s->window += by;
    return by;
}

void mux_consumed(struct mux_stream *s, size_t n)
{
    s->unconsumed -= n < s->unconsumed ? (uint32_t)n : s->unconsumed;
    uint32_t free_n = s->window - s->granted - s->unconsumed;
    if (s->state != MUX_OPENED || s->end_received || free_n < s->window / 4) /* not a CREDIT for every few bytes */
        return;
    free_n += grow_window(s);
    s->granted += free_n;
    s->credit_due += free_n;
    set_due(s, DUE_CREDIT);
}
