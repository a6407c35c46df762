/* Frames, pings and the closing handshake, for both ends. wslay reads from and writes to the buffers of the
 * bufferevent.
 *
 * Whole binary messages, of which byte streams consist, take a shorter way. Without TLS the socket is read by an event
 * of our own into memory that all connections share, as many bytes at a time as there are, and messages are handed to
 * the user where they lie; what is sent is written to the socket at once, and only what the kernel does not take is
 * queued. A bufferevent of libevent 2.1 would read 4 KiB and write 16 KiB at a time, and allocate memory for them. */
#include "net/websocket/ws.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sha1.h>
#include <wslay/wslay.h>

#include "common/base/base64.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "net/loop/loop_internal.h"
#include "net/websocket/ws_head.h"
#include "net/websocket/ws_internal.h"

/* Limits of what a peer can make us queue by pings, which ask for pongs. Our own ends send a ping every 15 s. */
/* answers queued in wslay; when there are so many they are moved to the output */
#define ANSWERS_QUEUED_MAX 32
/* answers in the output; beyond it nothing is read until the peer has taken them */
#define ANSWER_BYTES_MAX (64 * 1024)
#define CONTROL_FRAMES_MAX 1000 /* in one second; a peer that sends more is cut off */
#define FRAGMENTS_MAX 16384     /* of one message; each takes memory of its own */
#define SECOND_US 1000000ll
#define CLOSE_WAIT_US (5 * 1000000ll) /* how long to wait for the peer's close frame */
#define NOT_SENT_MAX (128 * 1024)
#define WHOLE_MAX (128 * 1024)  /* bytes of a binary message that is handled without wslay */
#define READ_MAX (256 * 1024)   /* bytes that are read at once */
#define WRITE_MAX (1024 * 1024) /* bytes of the queue that are written at once */
#define CLOSE_GOING_AWAY 1001
#define CLOSE_ABNORMAL 1006
#define CLOSE_POLICY 1008

/*  DIALLING (client) ──> OPEN ──> CLOSING (a close frame was sent or received) ──> GONE
 *      └───────────────────┴──────────────── connection lost ───────────────────────^    on_close at the last arrow */
enum ws_state { WS_DIALLING, WS_OPEN, WS_CLOSING, WS_GONE };

/* What is read and written at once; all connections of a loop share it. */
struct pieces {
    uint8_t read[WS_HEAD_MAX + READ_MAX], written[WS_HEAD_MAX + WHOLE_MAX];
};

struct ws {
    struct ws_handler handler;
    struct pieces *pieces;
    struct bufferevent *bev;
    struct event *readable; /* reads the socket; NULL with TLS, where the bufferevent does */
    wslay_event_context_ptr frames;
    struct ws_dial *dial;
    struct loop_timer *timer; /* starts dialling, then sends pings while open, then limits the wait while closing */
    enum ws_state state;
    bool server, tls;
    uint64_t frame_left; /* bytes of the frame at hand that wslay has not been given yet; 0: a head comes next */
    uint8_t *begun;      /* a whole binary message of which the end is still to come; NULL: none */
    size_t begun_n, begun_size;
    bool held;           /* ws_hold(): nothing is read */
    bool stalled;        /* nothing is read until the peer has taken its answers */
    size_t answer_bytes; /* bytes of answers queued since the output was empty */
    int control_n;       /* control frames that came in the present second */
    int64_t control_since_us;
    int fragments;     /* fragments of the message that is being received */
    bool receiving;    /* wslay is receiving: what callbacks queue is sent afterwards */
    bool close_after;  /* ws_close() was called while receiving */
    bool dialled_away; /* ws_close() was called before the connection was open */
    int64_t heard_us;
    int close_code;
    char close_why[124]; /* as many bytes as a close frame holds */
    ws_gone_fn *on_gone;
    void *owner;
};

void ws_random(void *ret, size_t n)
{
    if (getentropy(ret, n) < 0) /* the kernel has it, and n is small */
        abort();
}

void ws_accept_key(const char *key, char ret[WS_ACCEPT_MAX])
{
    char text[128];
    unsigned char digest[SHA1_DIGEST_LENGTH];
    cleanup_strbuf struct strbuf coded = STRBUF_INIT;
    SHA1_CTX ctx;
    int n = snprintf(text, sizeof(text), "%.64s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    SHA1Init(&ctx);
    SHA1Update(&ctx, (const uint8_t *)text, (size_t)n);
    SHA1Final(digest, &ctx);
    base64_encode(digest, sizeof(digest), &coded);
    snprintf(ret, WS_ACCEPT_MAX, "%s", strbuf_str(&coded));
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void ws_free(struct ws *w)
{
    if (w->readable)
        event_free(w->readable);
    free(w->begun);
    if (w->frames)
        wslay_event_context_free(w->frames);
    if (w->bev)
        bufferevent_free(w->bev);
    ws_dial_free(w->dial);
    loop_timer_free(w->timer);
    free(w);
}

/* Ends the connection. Called only from the loop (libevent's callbacks, the timer), never from within a call by the
 * user. */
static void ws_end(struct ws *w, int code, const char *why)
{
    if (w->state == WS_GONE)
        return;
    w->state = WS_GONE;
    w->handler.on_close(w, code, why, w->handler.ctx);
    if (w->on_gone)
        w->on_gone(w, w->owner);
    ws_free(w);
}

void ws_drop(struct ws *w)
{
    ws_end(w, CLOSE_GOING_AWAY, "shutting down");
}

static void remember_close(struct ws *w, int code, const char *why, size_t n)
{
    w->close_code = code;
    snprintf(w->close_why, sizeof(w->close_why), "%.*s", (int)(n < sizeof(w->close_why) ? n : sizeof(w->close_why) - 1),
             why);
}

/* ---- wslay's callbacks ------------------------------------------------------------------------------------------- */

static ssize_t take_input(wslay_event_context_ptr frames, uint8_t *buf, size_t n, int flags, void *ctx)
{
    struct ws *w = ctx;
    bool answers_first = wslay_event_get_queued_msg_count(frames) >= ANSWERS_QUEUED_MAX;
    if (n > w->frame_left) /* not a byte of the next frame, which may be one for take_whole() */
        n = (size_t)w->frame_left;
    int got = answers_first ? 0 : evbuffer_remove(bufferevent_get_input(w->bev), buf, n);
    if (got > 0) {
        w->frame_left -= (uint64_t)got;
        return got;
    }
    wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
    return -1;
}

static ssize_t add_output(wslay_event_context_ptr frames, const uint8_t *data, size_t n, int flags, void *ctx)
{
    struct ws *w = ctx;
    if (bufferevent_write(w->bev, data, n) == 0)
        return (ssize_t)n;
    wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static int make_mask(wslay_event_context_ptr frames, uint8_t *buf, size_t n, void *ctx)
{
    ws_random(buf, n);
    return 0;
}

static void cut_off(struct ws *w, const char *why)
{
    if (w->state != WS_OPEN)
        return;
    log_warning("ws.cut_off", "reason=%s", log_quote(why));
    ws_close(w, CLOSE_POLICY, why);
}

static void on_frame_start(wslay_event_context_ptr frames, const struct wslay_event_on_frame_recv_start_arg *f,
                           void *ctx)
{
    struct ws *w = ctx;
    if (!wslay_is_ctrl_frame(f->opcode)) {
        w->fragments = f->fin ? 0 : w->fragments + 1;
        if (w->fragments > FRAGMENTS_MAX)
            cut_off(w, "a message of too many fragments");
        return;
    }
    int64_t now_us = clock_monotonic_us();
    if (now_us - w->control_since_us >= SECOND_US) {
        w->control_since_us = now_us;
        w->control_n = 0;
    }
    if (++w->control_n > CONTROL_FRAMES_MAX)
        cut_off(w, "too many pings in one second");
    if (f->opcode == WSLAY_PING)
        w->answer_bytes += f->payload_length + 8;
}

static void on_frame_message(wslay_event_context_ptr frames, const struct wslay_event_on_msg_recv_arg *m, void *ctx)
{
    struct ws *w = ctx;
    if (m->opcode == WSLAY_TEXT_FRAME || m->opcode == WSLAY_BINARY_FRAME) {
        if (w->state == WS_OPEN)
            w->handler.on_message(w, m->msg, m->msg_length, m->opcode == WSLAY_TEXT_FRAME, w->handler.ctx);
    } else if (m->opcode == WSLAY_CONNECTION_CLOSE && !w->close_code) {
        /* The first two bytes are the code. A close frame without them has the code 1005, "no status". */
        bool has_code = m->msg_length >= 2;
        remember_close(w, has_code ? m->status_code : 1005, has_code ? (const char *)m->msg + 2 : "",
                       has_code ? m->msg_length - 2 : 0);
    }
}

static int frames_init(struct ws *w, bool server)
{
    struct wslay_event_callbacks callbacks = {
        .recv_callback = take_input,
        .send_callback = add_output,
        .genmask_callback = make_mask,
        .on_frame_recv_start_callback = on_frame_start,
        .on_msg_recv_callback = on_frame_message,
    };
    int rc = server ? wslay_event_context_server_init(&w->frames, &callbacks, w)
                    : wslay_event_context_client_init(&w->frames, &callbacks, w);
    if (rc == 0)
        wslay_event_config_set_max_recv_msg_length(w->frames, w->handler.message_max);
    return rc;
}

/* ---- reading and writing ----------------------------------------------------------------------------------------- */

static bool frames_finished(const struct ws *w)
{
    return !wslay_event_want_read(w->frames) && !wslay_event_want_write(w->frames);
}

/* Notes that wslay has queued a close frame of its own (1002, 1007, 1009) and stopped reading, because the peer broke
 * the protocol. */
static void note_own_close(struct ws *w)
{
    if (w->state == WS_OPEN && (wslay_event_get_close_sent(w->frames) || wslay_event_get_close_received(w->frames))) {
        w->state = WS_CLOSING;
        loop_timer_arm(w->timer, CLOSE_WAIT_US);
    }
    if (!w->close_code && wslay_event_get_close_sent(w->frames)) {
        int code = wslay_event_get_status_code_sent(w->frames);
        const char *why = code == 1009   ? "a message over the limit"
                          : code == 1007 ? "text that is not UTF-8"
                                         : "broken frames";
        remember_close(w, code, why, strlen(why));
    }
}

static void ws_flush(struct ws *w)
{
    if (w->receiving || w->state == WS_DIALLING || w->state == WS_GONE)
        return;
    if (wslay_event_send(w->frames) < 0)
        remember_close(w, CLOSE_ABNORMAL, "no memory", 9);
    note_own_close(w);
}

/* Sends the close frame. wslay sends control frames first and nothing after a close frame, so messages that were queued
 * before must have left wslay by then. */
static void say_goodbye(struct ws *w)
{
    w->close_after = false;
    wslay_event_queue_close(w->frames, (uint16_t)w->close_code, (const uint8_t *)w->close_why, strlen(w->close_why));
    ws_flush(w);
}

/* Returns true when the closing handshake is done and everything was sent. */
static bool ws_finish(struct ws *w)
{
    if (w->state != WS_CLOSING || w->close_after || !frames_finished(w) ||
        evbuffer_get_length(bufferevent_get_output(w->bev)) > 0)
        return false;
    ws_end(w, w->close_code, w->close_why);
    return true;
}

static bool input_waits(const struct ws *w)
{
    return evbuffer_get_length(bufferevent_get_input(w->bev)) > 0;
}

/* Hands a whole binary message to the user, where it lies. */
static void hand_over(struct ws *w, const struct ws_head *h, uint8_t *frame)
{
    uint8_t *body = frame + h->head_n;
    size_t n = (size_t)h->body_n;
    if (h->masked)
        ws_mask_copy(body, body, n, h->mask);
    if (w->state == WS_OPEN)
        w->handler.on_message(w, body, n, /* is_text= */ false, w->handler.ctx);
}

static void take_whole(struct ws *w, const struct ws_head *h)
{
    struct evbuffer *in = bufferevent_get_input(w->bev);
    size_t n = h->head_n + (size_t)h->body_n;
    hand_over(w, h, evbuffer_pullup(in, (ssize_t)n));
    evbuffer_drain(in, n);
}

/* Whether a frame is handled here; all other frames are left to wslay. */
static bool is_ours(const struct ws *w, const struct ws_head *h)
{
    return h->whole_binary && h->masked == w->server && h->body_n <= WHOLE_MAX && h->body_n <= w->handler.message_max &&
           w->state == WS_OPEN && w->fragments == 0;
}

/* Looks at the head of the next frame in the input buffer, and handles the frame once all of it is there. */
static void begin_frame(struct ws *w)
{
    struct evbuffer *in = bufferevent_get_input(w->bev);
    uint8_t text[WS_HEAD_MAX];
    struct ws_head h;
    ssize_t n = evbuffer_copyout(in, text, sizeof(text));
    if (n < 0 || !ws_head_read(text, (size_t)n, &h))
        return;
    if (!is_ours(w, &h))
        w->frame_left = h.body_n > INT64_MAX ? UINT64_MAX : h.head_n + h.body_n; /* wslay refuses such a length */
    else if (evbuffer_get_length(in) >= h.head_n + h.body_n)
        take_whole(w, &h);
}

static int receive_some(struct ws *w)
{
    if (w->frame_left == 0)
        begin_frame(w);
    if (w->frame_left == 0)
        return 0;
    w->receiving = true;
    int rc = wslay_event_recv(w->frames);
    w->receiving = false;
    if (rc == 0)
        ws_flush(w);
    return rc;
}

static void set_reading(struct ws *w)
{
    bool on = !w->held && !w->stalled;
    if (w->readable && on)
        event_add(w->readable, NULL);
    else if (w->readable)
        event_del(w->readable);
    else if (on)
        bufferevent_enable(w->bev, EV_READ);
    else
        bufferevent_disable(w->bev, EV_READ);
}

/* Stops reading from a peer that sends pings and does not read the answers. */
static void stall_on_answers(struct ws *w)
{
    if (w->answer_bytes <= ANSWER_BYTES_MAX || w->stalled)
        return;
    w->stalled = true;
    set_reading(w);
}

/* Handles what has been read, all of it unless the user has held the connection: also while closing, so that a peer
 * that goes on sending does not fill the memory. */
static void ws_receive(struct ws *w)
{
    w->heard_us = clock_monotonic_us();
    size_t before = SIZE_MAX, n;
    while (!w->stalled && !w->held && (n = evbuffer_get_length(bufferevent_get_input(w->bev))) < before) {
        before = n;
        if (receive_some(w) < 0) {
            ws_end(w, CLOSE_ABNORMAL, "no memory");
            return;
        }
        stall_on_answers(w);
    }
    if (w->close_after)
        say_goodbye(w);
    ws_finish(w);
}

static void on_readable(struct bufferevent *bev, void *ctx)
{
    ws_receive(ctx);
}

/* ---- reading without the bufferevent ----------------------------------------------------------------------------- */

static void begin_message(struct ws *w, const struct ws_head *h, const uint8_t *p, size_t n)
{
    w->begun_size = h->head_n + (size_t)h->body_n;
    w->begun = must_malloc(w->begun_size);
    memcpy(w->begun, p, n);
    w->begun_n = n;
}

/* Handles whole binary messages where they were read, up to the first frame that is not one. Returns the number of
 * bytes that are done with. */
static size_t take_messages(struct ws *w, uint8_t *p, size_t n)
{
    size_t at = 0;
    struct ws_head h;
    while (!w->held && !w->stalled && ws_head_read(p + at, n - at, &h) && is_ours(w, &h)) {
        if (n - at < h.head_n + h.body_n) {
            begin_message(w, &h, p + at, n - at);
            return n;
        }
        hand_over(w, &h, p + at);
        at += h.head_n + (size_t)h.body_n;
    }
    return at;
}

/* Takes the n bytes that have come for the message that has begun. */
static void go_on_with_message(struct ws *w, size_t n)
{
    struct ws_head h;
    w->begun_n += n;
    if (w->begun_n < w->begun_size)
        return;
    uint8_t *frame = w->begun;
    w->begun = NULL;
    if (ws_head_read(frame, w->begun_n, &h))
        hand_over(w, &h, frame);
    free(frame);
}

/* A bufferevent lets nobody but itself add to its input. */
static void add_input(struct evbuffer *in, const uint8_t *data, size_t n)
{
    evbuffer_unfreeze(in, /* at_front= */ 0);
    if (evbuffer_add(in, data, n) < 0)
        abort();
    evbuffer_freeze(in, /* at_front= */ 0);
}

static void connection_lost(struct ws *w)
{
    if (w->close_code)
        ws_end(w, w->close_code, w->close_why);
    else
        ws_end(w, CLOSE_ABNORMAL, "the connection broke off without a goodbye");
}

/* Reads what has come: the rest of a message that has begun, and then what follows, behind the few bytes that may be
 * left of the last read. */
static void on_socket(evutil_socket_t fd, short what, void *ctx)
{
    struct ws *w = ctx;
    uint8_t *piece = w->pieces->read;
    struct evbuffer *in = bufferevent_get_input(w->bev);
    bool few = w->frame_left == 0 && evbuffer_get_length(in) < WS_HEAD_MAX;
    size_t rest = w->begun ? w->begun_size - w->begun_n : 0;
    struct iovec room[2] = {{w->begun ? w->begun + w->begun_n : NULL, rest}, {piece + WS_HEAD_MAX, READ_MAX}};
    ssize_t got = readv(fd, room, 2);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        connection_lost(w);
        return;
    }
    size_t n = (size_t)got, kept = 0;
    if (rest) {
        rest = n < rest ? n : rest;
        n -= rest;
        go_on_with_message(w, rest);
    } else if (few) {
        kept = evbuffer_get_length(in);
        evbuffer_remove(in, piece + WS_HEAD_MAX - kept, kept);
    }
    uint8_t *p = piece + WS_HEAD_MAX - kept;
    n += kept;
    size_t used = few ? take_messages(w, p, n) : 0;
    if (used < n)
        add_input(in, p + used, n - used);
    ws_receive(w);
}

static void resume_reading(struct ws *w)
{
    set_reading(w);
    if (w->held || w->stalled)
        return;
    w->heard_us = clock_monotonic_us();
    if (input_waits(w))
        bufferevent_trigger(w->bev, EV_READ, BEV_TRIG_DEFER_CALLBACKS);
}

static void on_writable(struct bufferevent *bev, void *ctx)
{
    struct ws *w = ctx;
    if (ws_finish(w))
        return;
    if (w->state == WS_OPEN && ws_pending(w) == 0) {
        w->answer_bytes = 0;
        if (w->stalled) {
            w->stalled = false;
            resume_reading(w);
        }
    }
    if (w->state == WS_OPEN && w->handler.on_drained && ws_pending(w) == 0)
        w->handler.on_drained(w, w->handler.ctx);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    connection_lost(ctx);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void arm_tick(struct ws *w)
{
    int every_s = w->handler.ping_s ? w->handler.ping_s : w->handler.dead_s;
    if (every_s)
        loop_timer_arm(w->timer, every_s * 1000000ll);
}

static void ws_tick(struct ws *w)
{
    int64_t silent_us = clock_monotonic_us() - w->heard_us;
    if (w->handler.dead_s && !w->held && silent_us >= w->handler.dead_s * 1000000ll) {
        char why[64];
        snprintf(why, sizeof(why), "no word from the peer for %d s", w->handler.dead_s);
        ws_end(w, CLOSE_ABNORMAL, why);
        return;
    }
    if (w->handler.ping_s) {
        wslay_event_queue_msg(w->frames, &(struct wslay_event_msg){.opcode = WSLAY_PING});
        ws_flush(w);
    }
    if (w->state == WS_OPEN)
        arm_tick(w);
}

static void on_timer(void *ctx)
{
    struct ws *w = ctx;
    if (w->state == WS_OPEN)
        ws_tick(w);
    else if (w->state == WS_CLOSING || w->dialled_away)
        ws_end(w, w->close_code, w->close_why);
    else
        ws_dial_start(w->dial); /* the dial may end w */
}

/* ---- the user's side --------------------------------------------------------------------------------------------- */

static struct ws *ws_new(struct loop *l, const struct ws_handler *h)
{
    struct ws *w = must_calloc(1, sizeof(*w));
    w->handler = *h;
    w->pieces = loop_shared_memory(l, sizeof(*w->pieces));
    w->timer = loop_timer_new(l, on_timer, w);
    return w;
}

static void ws_open(struct ws *w, struct bufferevent *bev, bool server, bool tls)
{
    if (frames_init(w, server) < 0)
        abort();
    w->bev = bev;
    w->server = server;
    w->tls = tls;
    w->state = WS_OPEN;
    w->heard_us = clock_monotonic_us();
    bufferevent_setcb(bev, on_readable, on_writable, on_event, w);
    bufferevent_set_max_single_write(bev, WRITE_MAX);
    bufferevent_enable(bev, EV_WRITE);
    if (!w->tls) {
        bufferevent_disable(bev, EV_READ);
        w->readable = must(
            event_new(bufferevent_get_base(bev), bufferevent_getfd(bev), EV_READ | EV_PERSIST, on_socket, w));
    }
    set_reading(w);
    arm_tick(w);
}

struct ws *ws_adopt(struct loop *l, struct bufferevent *bev, bool tls, const struct ws_handler *h, ws_gone_fn *on_gone,
                    void *owner)
{
    struct ws *w = ws_new(l, h);
    w->on_gone = on_gone;
    w->owner = owner;
    ws_open(w, bev, /* server= */ true, tls);
    if (evbuffer_get_length(bufferevent_get_input(bev)) > 0)
        bufferevent_trigger(bev, EV_READ, BEV_TRIG_DEFER_CALLBACKS);
    return w;
}

int ws_connect(struct loop *l, const struct ws_client_options *o, const struct ws_handler *h, struct ws **ret,
               struct error *err)
{
    struct ws *w = ws_new(l, h);
    w->dial = ws_dial_new(w, l, o, h->ctx, err);
    if (!w->dial) {
        ws_free(w);
        return -1;
    }
    loop_timer_arm(w->timer, 0); /* so that on_close is never called within this call */
    *ret = w;
    return 0;
}

void ws_dialled(struct ws *w, struct bufferevent *bev, bool tls)
{
    ws_dial_free(w->dial);
    w->dial = NULL;
    ws_open(w, bev, /* server= */ false, tls);
    if (w->handler.on_open)
        w->handler.on_open(w, w->handler.ctx);
    if (evbuffer_get_length(bufferevent_get_input(bev)) > 0)
        ws_receive(w);
}

void ws_dial_failed(struct ws *w, int code, const char *why)
{
    ws_end(w, code, why);
}

/* A message to be sent, in two parts. */
struct message {
    const void *part[2];
    size_t n[2];
    bool is_text;
};

/* Writes to the socket, if nothing waits. Returns how many bytes the kernel has taken. A failure is found again by the
 * bufferevent, which is given what was not taken. */
static size_t write_now(struct ws *w, const struct iovec *v, int parts)
{
    const struct msghdr m = {.msg_iov = (struct iovec *)v, .msg_iovlen = (size_t)parts};
    if (w->tls || evbuffer_get_length(bufferevent_get_output(w->bev)) > 0)
        return 0;
    ssize_t n = sendmsg(bufferevent_getfd(w->bev), &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n > 0 ? (size_t)n : 0;
}

static void write_or_queue(struct ws *w, const struct iovec *v, int parts)
{
    size_t sent = write_now(w, v, parts);
    for (int i = 0; i < parts; i++) {
        size_t skip = sent < v[i].iov_len ? sent : v[i].iov_len;
        sent -= skip;
        if (v[i].iov_len > skip && bufferevent_write(w->bev, (char *)v[i].iov_base + skip, v[i].iov_len - skip) < 0)
            abort();
    }
}

/* Masks head, first and second part into `to`. */
static void mask_message(uint8_t *to, const struct message *m, const uint8_t mask[4])
{
    uint8_t turned[4];
    for (size_t i = 0; i < 4; i++)
        turned[i] = mask[(i + m->n[0]) % 4]; /* the mask goes on where it has stopped */
    ws_mask_copy(to, m->part[0], m->n[0], mask);
    ws_mask_copy(to + m->n[0], m->part[1], m->n[1], turned);
}

/* Sends a client's message: it is masked while it is copied, into shared memory if it can be written now. */
static void send_masked(struct ws *w, const struct message *m)
{
    uint8_t *piece = w->pieces->written;
    struct evbuffer *out = bufferevent_get_output(w->bev);
    uint8_t head[WS_HEAD_MAX], mask[4];
    size_t n = m->n[0] + m->n[1];
    struct evbuffer_iovec room;
    ws_random(mask, sizeof(mask));
    size_t head_n = ws_head_write(head, m->is_text, n, mask);
    if (n <= WHOLE_MAX && evbuffer_get_length(out) == 0) {
        memcpy(piece, head, head_n);
        mask_message(piece + head_n, m, mask);
        write_or_queue(w, &(struct iovec){piece, head_n + n}, 1);
        return;
    }
    if (evbuffer_add(out, head, head_n) < 0 || evbuffer_reserve_space(out, (ssize_t)n, &room, 1) != 1)
        abort();
    mask_message(room.iov_base, m, mask);
    room.iov_len = n;
    evbuffer_commit_space(out, &room, 1);
}

/* Sends a message without wslay. */
static void send_whole(struct ws *w, const struct message *m)
{
    uint8_t head[WS_HEAD_MAX];
    if (!w->server) {
        send_masked(w, m);
        return;
    }
    size_t head_n = ws_head_write(head, m->is_text, m->n[0] + m->n[1], NULL);
    write_or_queue(w, (struct iovec[]){{head, head_n}, {(void *)m->part[0], m->n[0]}, {(void *)m->part[1], m->n[1]}},
                   m->n[1] ? 3 : 2);
}

/* Gives a message to wslay, which has others that wait before it. */
static void queue_message(struct ws *w, const struct message *m)
{
    size_t n = m->n[0] + m->n[1];
    uint8_t *whole = must_malloc(n + 1);
    if (m->n[0]) /* an empty part may have no address */
        memcpy(whole, m->part[0], m->n[0]);
    if (m->n[1])
        memcpy(whole + m->n[0], m->part[1], m->n[1]);
    wslay_event_queue_msg(w->frames,
                          &(struct wslay_event_msg){.opcode = m->is_text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME,
                                                    .msg = whole,
                                                    .msg_length = n});
    free(whole);
    ws_flush(w);
}

/* Cuts off a peer for which too much waits. */
static bool is_cut_off(struct ws *w)
{
    size_t waits = ws_pending(w);
    if (!w->handler.pending_max || waits <= w->handler.pending_max)
        return false;
    log_warning("ws.cut_off", "reason=\"the peer does not take what it is sent\" bytes=%zu", waits);
    remember_close(w, CLOSE_ABNORMAL, "the peer does not take what it is sent", 38);
    w->state = WS_CLOSING;
    loop_timer_arm(w->timer, 0); /* not within this call by the user */
    return true;
}

static void send_message(struct ws *w, const struct message *m)
{
    if (w->state != WS_OPEN || is_cut_off(w))
        return;
    if (w->receiving || m->n[0] + m->n[1] == 0 || wslay_event_get_queued_msg_count(w->frames) > 0)
        queue_message(w, m);
    else
        send_whole(w, m);
}

void ws_send(struct ws *w, const void *data, size_t n, bool is_text)
{
    send_message(w, &(struct message){.part = {data, ""}, .n = {n, 0}, .is_text = is_text});
}

void ws_send_parts(struct ws *w, const void *head, size_t head_n, const void *body, size_t body_n)
{
    send_message(w, &(struct message){.part = {head, body}, .n = {head_n, body_n}});
}

size_t ws_pending(const struct ws *w)
{
    if (!w->bev || !w->frames)
        return 0;
    return evbuffer_get_length(bufferevent_get_output(w->bev)) + wslay_event_get_queued_msg_length(w->frames);
}

void ws_keep_queue_short(struct ws *w)
{
    if (w->bev)
        setsockopt(bufferevent_getfd(w->bev), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){NOT_SENT_MAX}, sizeof(int));
}

void ws_set_patience(struct ws *w, int ping_s, int dead_s)
{
    w->handler.ping_s = ping_s;
    w->handler.dead_s = dead_s;
    if (w->state == WS_OPEN)
        arm_tick(w);
}

void ws_hold(struct ws *w, bool on)
{
    if (w->state != WS_OPEN || w->held == on)
        return;
    w->held = on;
    if (on)
        set_reading(w);
    else
        resume_reading(w);
}

void ws_close(struct ws *w, int code, const char *why)
{
    if (w->state != WS_OPEN && w->state != WS_DIALLING)
        return;
    if (!w->close_code)
        remember_close(w, code, why, strlen(why));
    if (w->state == WS_DIALLING) {
        w->dialled_away = true;
        loop_timer_arm(w->timer, 0);
        return;
    }
    w->state = WS_CLOSING;
    loop_timer_arm(w->timer, CLOSE_WAIT_US);
    w->close_after = w->receiving;
    if (!w->receiving)
        say_goodbye(w);
}
