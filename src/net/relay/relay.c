#include "net/relay/relay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"

enum {
    WAITS_MAX = BYTE_STREAM_WAITS, /* bytes that may wait for the client */
    INTERIM_MAX = 16,              /* interim answers to one request */
    DRAIN_S = 30,                  /* how long the last bytes of a client that has left may take to the program */
};
#define USED_EVERY_US 1000000ll

/*  OPENING ──> HEAD ──> BODY        the program's answer
 *                └────> SWITCHED    bytes both ways
 *                          └──────> DRAINING    the client has left, and its last bytes are on their way */
enum relay_state { RELAY_OPENING, RELAY_HEAD, RELAY_BODY, RELAY_SWITCHED, RELAY_DRAINING };

struct relay {
    struct relays *all;
    struct relay_options o;
    enum relay_state state;
    struct byte_stream *stream; /* NULL: gone */
    struct http_request *http;  /* NULL: not taken yet, or gone */
    bool client_held, stream_held;
    bool sends_chunks; /* the request's body goes to the program in chunks */
    int interim_n;
    struct strbuf head;        /* of the answer, until it is complete */
    enum http_framing framing; /* of the answer, as the program sends it */
    uint64_t left;
    struct http1_chunks chunks;
    int64_t passed_us, used_us;
    struct loop_timer *timer; /* for idle relays, and for draining ones; NULL: not needed so far */
    LIST_ENTRY(relay) in_all;
};

struct relays {
    struct loop *loop;
    size_t n;
    struct relays_stats stats;
    LIST_HEAD(, relay) list;
};

struct relays *relays_new(struct loop *l)
{
    struct relays *all = must_calloc(1, sizeof(*all));
    all->loop = l;
    LIST_INIT(&all->list);
    return all;
}

size_t relays_count(const struct relays *all)
{
    return all->n;
}

struct relays_stats relays_stats(const struct relays *all)
{
    return all->stats;
}

static void relay_free(struct relay *x)
{
    if (x->stream)
        byte_stream_drop(x->stream);
    LIST_REMOVE(x, in_all);
    x->all->n--;
    strbuf_release(&x->head);
    loop_timer_free(x->timer);
    x->o.done(x->o.ctx);
    free(x);
}

void relay_drop(struct relay *x)
{
    relay_free(x);
}

void relays_free(struct relays *all)
{
    if (!all)
        return;
    while (!LIST_EMPTY(&all->list))
        relay_free(LIST_FIRST(&all->list));
    free(all);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* Gives the request up: nobody calls us about it any more. */
static struct http_request *release_request(struct relay *x)
{
    struct http_request *http = x->http;
    x->http = NULL;
    http_request_set_ctx(http, NULL, NULL);
    return http;
}

static void finish(struct relay *x)
{
    http_stream_end(release_request(x));
    relay_free(x);
}

/* The answer cannot be completed. */
static void end_with(struct relay *x, int status, const char *why)
{
    struct http_request *http = release_request(x);
    x->all->stats.broken++;
    if (x->state == RELAY_HEAD)
        x->o.failed(http, status, why, x->o.ctx);
    else
        http_stream_abort(http);
    relay_free(x);
}

static void break_off(struct relay *x, const char *why)
{
    end_with(x, 502, why);
}

/* The client has left. After a switch of protocols its last bytes are still sent. */
static void on_client_gone(struct http_request *http, void *ctx)
{
    struct relay *x = ctx;
    x->http = NULL;
    if (x->state != RELAY_SWITCHED || byte_stream_pending(x->stream) == 0) {
        relay_free(x);
        return;
    }
    x->state = RELAY_DRAINING;
    byte_stream_end(x->stream);
    loop_timer_arm(x->timer, DRAIN_S * 1000000ll);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void on_time(void *ctx)
{
    struct relay *x = ctx;
    int64_t idle_us = x->o.idle_timeout_s * 1000000ll;
    int64_t since_us = clock_monotonic_us() - x->passed_us;
    if (x->state == RELAY_DRAINING)
        relay_free(x);
    else if (idle_us && since_us < idle_us)
        loop_timer_arm(x->timer, idle_us - since_us);
    else if (idle_us && x->state == RELAY_SWITCHED)
        finish(x);
    else if (idle_us && x->http)
        end_with(x, 504, "has sent nothing for longer than proxy.idle_timeout allows");
}

static void start_timer(struct relay *x)
{
    if (x->o.idle_timeout_s)
        loop_timer_arm(x->timer, x->o.idle_timeout_s * 1000000ll);
}

static void note_passed(struct relay *x)
{
    x->passed_us = clock_monotonic_us();
    if (x->passed_us - x->used_us < USED_EVERY_US)
        return;
    x->used_us = x->passed_us;
    if (x->o.used)
        x->o.used(x->o.ctx);
}

/* ---- from the client to the program ------------------------------------------------------------------------------ */

static void on_client_data(struct http_request *http, const void *data, size_t n, void *ctx)
{
    struct relay *x = ctx;
    if (x->sends_chunks) {
        char size[24];
        byte_stream_write(x->stream, size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", n));
    }
    byte_stream_write(x->stream, data, n);
    if (x->sends_chunks)
        byte_stream_write(x->stream, "\r\n", 2);
    x->all->stats.to_program += n;
    note_passed(x);
    if (!x->client_held && byte_stream_pending(x->stream) > BYTE_STREAM_WAITS) {
        x->client_held = true;
        http_receive_hold(http, true);
    }
}

static void on_client_end(struct http_request *http, void *ctx)
{
    struct relay *x = ctx;
    if (x->sends_chunks)
        byte_stream_write(x->stream, "0\r\n\r\n", 5);
}

static const struct http_receiver from_client = {.on_data = on_client_data, .on_end = on_client_end};

static void on_stream_drained(struct byte_stream *s, void *ctx)
{
    struct relay *x = ctx;
    if (x->state == RELAY_DRAINING) {
        relay_free(x);
    } else if (x->client_held && x->http) {
        x->client_held = false;
        http_receive_hold(x->http, false);
    }
}

void relay_take(struct relay *x, struct http_request *http)
{
    uint64_t length;
    enum http_framing framing = http_request_framing(http, &length);
    x->http = http;
    x->all->stats.taken++;
    x->state = RELAY_HEAD;
    x->sends_chunks = framing == HTTP_CHUNKED;
    http_request_set_ctx(http, x, on_client_gone);
    if (framing != HTTP_NO_BODY)
        http_receive(http, &from_client);
    start_timer(x);
}

/* ---- from the program to the client: the body -------------------------------------------------------------------- */

static void on_client_drained(struct http_request *http, void *ctx)
{
    struct relay *x = ctx;
    if (!x->stream_held || !x->stream)
        return;
    x->stream_held = false;
    byte_stream_hold(x->stream, false);
}

static void hold_if_client_is_slow(struct relay *x)
{
    if (x->stream_held || http_stream_pending(x->http) <= WAITS_MAX)
        return;
    x->stream_held = true;
    byte_stream_hold(x->stream, true);
}

/* Returns true when the body has ended. What comes after it belongs to nobody. */
static bool pass_counted(struct relay *x, const char *data, size_t n)
{
    size_t part = n < x->left ? n : (size_t)x->left;
    if (part)
        http_stream_write(x->http, data, part);
    x->left -= part;
    return x->left == 0;
}

/* Returns 1 when the body has ended, -1 if its framing is broken. */
static int pass_chunked(struct relay *x, const char *data, size_t n)
{
    while (n > 0 && x->chunks.state != CHUNK_END) {
        size_t used, span_n;
        const char *span;
        if (http1_chunks_next(&x->chunks, data, n, &used, &span, &span_n) < 0)
            return -1;
        if (span_n)
            http_stream_write(x->http, span, span_n);
        data += used;
        n -= used;
    }
    return x->chunks.state == CHUNK_END;
}

static void pass_body(struct relay *x, const char *data, size_t n)
{
    int over = 0;
    x->all->stats.to_client += n;
    note_passed(x);
    if (x->framing == HTTP_SIZED)
        over = pass_counted(x, data, n);
    else if (x->framing == HTTP_CHUNKED)
        over = pass_chunked(x, data, n);
    else if (n > 0)
        http_stream_write(x->http, data, n);
    if (over < 0)
        break_off(x, "has sent broken chunks");
    else if (over)
        finish(x);
    else
        hold_if_client_is_slow(x);
}

/* ---- from the program to the client: the head -------------------------------------------------------------------- */

/* Passes on what came behind the head, and the head itself at the latest now: streams of events may say nothing for
 * long. */
static void pass_first(struct relay *x, const char *rest, size_t rest_n)
{
    if (rest_n == 0)
        http_stream_write(x->http, "", 0);
    pass_body(x, rest, rest_n);
}

static enum http_framing framing_of(const struct relay *x, const struct http1_answer *a)
{
    if (a->status == 204 || a->status == 304)
        return HTTP_NO_BODY;
    return a->chunked ? HTTP_CHUNKED : a->has_length ? HTTP_SIZED : HTTP_UNTIL_CLOSE;
}

static void begin_answer(struct relay *x, const struct http1_answer *a, const char *rest, size_t rest_n)
{
    bool to_head = http_request_method(x->http) == HTTP_HEAD;
    x->framing = framing_of(x, a);
    x->left = a->length;
    x->o.headers(x->http, a, x->o.ctx);
    http_stream_start_relayed(x->http, a->status, x->framing, a->length, on_client_drained);
    x->state = RELAY_BODY;
    if (to_head || x->framing == HTTP_NO_BODY || (x->framing == HTTP_SIZED && x->left == 0))
        finish(x);
    else
        pass_first(x, rest, rest_n);
}

static void switch_protocols(struct relay *x, const struct http1_answer *a, const char *rest, size_t rest_n)
{
    for (size_t i = 0; i < a->header_n; i++)
        if (strcasecmp(a->header[i].name, "Upgrade") == 0)
            http_add_header(x->http, "Upgrade", a->header[i].value);
    http_add_header(x->http, "Connection", "Upgrade");
    x->o.headers(x->http, a, x->o.ctx);
    x->framing = HTTP_UNTIL_CLOSE;
    x->state = RELAY_SWITCHED;
    if (!x->timer)
        x->timer = loop_timer_new(x->all->loop, on_time, x);
    http_switch_protocols(x->http, on_client_drained);
    http_receive(x->http, &from_client);
    if (rest_n > 0)
        pass_body(x, rest, rest_n);
}

/* Takes a complete head. Returns false if the head was the last one, or the relay is gone. */
static bool take_head(struct relay *x, char *head, size_t head_n, const char *rest, size_t rest_n)
{
    struct http1_answer a;
    cleanup_error struct error err = ERROR_INIT;
    if (http1_parse_answer(head, head_n, &a, &err) < 0) {
        cleanup_strbuf struct strbuf why = STRBUF_INIT;
        strbuf_addf(&why, "has sent broken HTTP: %s", error_msg(&err));
        break_off(x, why.s);
    } else if (a.status == 101 && x->o.upgrade) {
        switch_protocols(x, &a, rest, rest_n);
    } else if (a.status == 101) {
        break_off(x, "has switched protocols although nobody asked it to");
    } else if (a.status >= 200) {
        begin_answer(x, &a, rest, rest_n);
    } else if (++x->interim_n > INTERIM_MAX) {
        break_off(x, "has sent too many interim answers");
    } else {
        if (a.status == 100 || a.status == 102)
            http_interim(x->http, a.status);
        return true;
    }
    return false;
}

/* Where the head in `s` ends; 0: it is not complete. `from` bytes were searched before. */
static size_t find_end(const struct strbuf *s, size_t from)
{
    from = from > 3 ? from - 3 : 0;
    const char *end = s->n > from ? memmem(s->s + from, s->n - from, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end + 4 - s->s) : 0;
}

/* Adds to the head as much as it may have, and passes on what is behind its end without a copy. */
static void take_head_data(struct relay *x, const char *data, size_t n)
{
    struct strbuf head = x->head; /* kept here, since the relay may be gone when the head was taken */
    x->head = (struct strbuf)STRBUF_INIT;
    bool more = true;
    while (more && n > 0) {
        size_t before = head.n, room = x->o.head_max - head.n, part = n < room ? n : room;
        strbuf_add(&head, data, part);
        size_t head_n = find_end(&head, before);
        if (head_n == 0) {
            more = head.n < x->o.head_max;
            if (!more)
                break_off(x, "has sent headers over the limit (proxy.header_size)");
            else
                x->head = head;
            head = more ? (struct strbuf)STRBUF_INIT : head;
            break;
        }
        size_t used = head_n - before;
        data += used;
        n -= used;
        more = take_head(x, head.s, head_n, data, n);
        strbuf_reset(&head);
    }
    strbuf_release(&head);
}

/* ---- the stream's callbacks -------------------------------------------------------------------------------------- */

static void on_stream_open(struct byte_stream *s, void *ctx)
{
    struct relay *x = ctx;
    x->passed_us = clock_monotonic_us();
    x->o.ready(x->o.ctx, 200, NULL);
}

static void on_stream_data(struct byte_stream *s, const void *data, size_t n, void *ctx)
{
    struct relay *x = ctx;
    if (x->state == RELAY_HEAD)
        take_head_data(x, data, n);
    else if (x->state == RELAY_BODY || x->state == RELAY_SWITCHED)
        pass_body(x, data, n);
}

/* The program sends no more. why: its side has failed. */
static void program_ended(struct relay *x, const char *why)
{
    if (!x->http)
        relay_free(x);
    else if (x->state == RELAY_HEAD)
        break_off(x, why ? why : "has closed the connection without an answer");
    else if (x->framing == HTTP_UNTIL_CLOSE && (!why || x->state == RELAY_SWITCHED))
        finish(x);
    else
        break_off(x, "has closed the connection within its answer");
}

static void on_stream_end(struct byte_stream *s, void *ctx)
{
    struct relay *x = ctx;
    if (x->state != RELAY_DRAINING)
        program_ended(x, NULL);
}

static void on_stream_close(struct byte_stream *s, const char *why, void *ctx)
{
    struct relay *x = ctx;
    x->stream = NULL;
    if (x->state == RELAY_OPENING) {
        x->o.ready(x->o.ctx, byte_stream_timed_out(s) ? 504 : 502, why ? why : "the connection ended");
        relay_free(x);
    } else {
        cleanup_strbuf struct strbuf text = STRBUF_INIT;
        if (why)
            strbuf_addf(&text, "has sent no answer: %s", why);
        program_ended(x, why ? text.s : NULL);
    }
}

int relay_open(struct relays *all, const struct relay_options *o, struct relay **ret, struct error *err)
{
    struct relay *x = must_calloc(1, sizeof(*x));
    struct byte_stream_handler h = {.on_open = on_stream_open,
                                    .on_data = on_stream_data,
                                    .on_drained = on_stream_drained,
                                    .on_end = on_stream_end,
                                    .on_close = on_stream_close,
                                    .ctx = x};
    x->all = all;
    x->o = *o;
    if (o->open(o->ctx, &h, &x->stream, err) < 0) {
        free(x);
        return -1;
    }
    if (o->idle_timeout_s)
        x->timer = loop_timer_new(all->loop, on_time, x);
    byte_stream_write(x->stream, o->head, o->head_n);
    x->o.head = NULL;
    LIST_INSERT_HEAD(&all->list, x, in_all);
    all->n++;
    *ret = x;
    return 0;
}
