#include "api/pipeline/stream.h"

#include <stdlib.h>
#include <string.h>

#include "api/pipeline/internal.h"
#include "api/pipeline/request.h"
#include "api/pipeline/topics.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "net/http/http.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

/* A stream is in exactly one of these states: fetching (a thread of `pool` has it), sending (its bytes are on their
 * way to the client), sleeping (it waits for its topic). `gone` while fetching means that the client has left; the
 * completion of the fetch then frees the stream. */
struct stream {
    struct topic_member member; /* must be first: stream_wake() casts the member to its stream */
    struct req *r;
    struct http_request *http;
    stream_fetch_fn *fetch;             /* of a stream of lines or of a text; else NULL */
    stream_bytes_fn *fetch_bytes;       /* of a stream of bytes; else NULL */
    const struct stream_memory *memory; /* NULL: the stream reads from the store only */
    const struct stream_head *head;     /* of a stream of bytes or of a text; NULL: a stream of lines */
    struct pool *pool;
    struct strbuf batch;
    struct error err;
    enum stream_next next;
    int rc;
    bool fetching, sleeping, gone, started;
    bool woken; /* the topic was woken during the fetch, which may have missed what happened: fetch again before
                   sleeping */
};

static void stream_free(struct stream *s)
{
    struct req *r = s->r;
    topic_leave(r->api->topics, &s->member);
    strbuf_release(&s->batch);
    error_release(&s->err);
    free(s);
    r->stream = NULL;
    req_drop(r);
}

static void start_fetch(struct stream *s);

static void on_drained(struct http_request *http, void *ctx)
{
    struct req *r = ctx;
    struct stream *s = r->stream;
    if (s && !s->fetching && !s->sleeping)
        start_fetch(s);
}

static void on_client_gone(struct http_request *http, void *ctx)
{
    struct req *r = ctx;
    struct stream *s = r->stream;
    s->http = NULL;
    s->gone = true;
    if (!s->fetching)
        stream_free(s);
}

static void start_reply(struct stream *s)
{
    s->started = true;
    for (size_t i = 0; s->head && i < REPLY_HEADERS_MAX && s->r->reply.header[i][0]; i++)
        http_add_header(s->http, s->r->reply.header[i][0], s->r->reply.header[i][1]);
    if (!s->head)
        http_stream_start(s->http, 200, "application/json", on_drained);
    else if (s->head->has_length)
        http_stream_start_sized(s->http, s->head->status, s->head->content_type, s->head->length, on_drained);
    else
        http_stream_start(s->http, s->head->status, s->head->content_type, on_drained);
}

static void stream_end(struct stream *s)
{
    if (!s->started && s->rc == 0 && s->head)
        start_reply(s);
    struct http_request *http = s->http;
    s->http = NULL;
    http_request_set_ctx(http, NULL, NULL);
    if (s->started && s->rc < 0 && s->head) {
        log_warning("stream.aborted", "reason=%s", log_quote(error_msg(&s->err)));
        http_stream_abort(http);
    } else if (s->started) {
        http_stream_end(http);
    } else if (s->rc < 0) {
        struct strbuf body = STRBUF_INIT;
        req_error_body(&s->err, s->head ? REQ_ERROR_RAW : REQ_ERROR_STREAM, &body);
        http_reply(http, error_http_status(s->err.kind), "application/json", body.s, body.n);
        strbuf_release(&body);
    } else {
        http_reply(http, 200, "application/json", "", 0);
    }
    stream_free(s);
}

static void stream_send(struct stream *s)
{
    if (!s->started)
        start_reply(s);
    http_stream_write(s->http, s->batch.s, s->batch.n);
    strbuf_release(&s->batch); /* there are many streams, and most of them sleep now without needing the memory */
}

static void after_fetch(void *job)
{
    struct stream *s = job;
    s->fetching = false;
    if (s->memory)
        s->memory->after(s->r);
    if (s->gone) {
        stream_free(s);
        return;
    }
    if (s->rc < 0 && s->started && !s->head)
        req_error_body(&s->err, REQ_ERROR_STREAM, &s->batch);
    bool sent = s->batch.n > 0 && (s->rc == 0 || s->started);
    if (sent)
        stream_send(s);
    if (s->rc < 0 || s->next == STREAM_END) {
        stream_end(s);
        return;
    }
    bool again = s->next == STREAM_MORE || s->woken;
    s->woken = false;
    if (sent && again)
        return; /* on_drained() starts the next fetch */
    if (again)
        start_fetch(s);
    else
        s->sleeping = true;
}

static void fetch_work(void *worker, void *job)
{
    struct stream *s = job;
    s->rc = s->fetch_bytes ? s->fetch_bytes(s->r, &s->next, &s->err) : s->fetch(s->r, worker, &s->next, &s->err);
}

/* Does what memory->before() has decided instead of a fetch. */
static void go_without_fetch(struct stream *s, enum stream_next next)
{
    s->woken = false;
    s->sleeping = next == STREAM_WAIT;
    if (next == STREAM_WAIT)
        return;
    s->fetching = true;
    s->next = next;
    s->rc = 0;
    loop_post(s->r->api->loop, after_fetch, s); /* posted, since a request must not end inside its own step */
}

static void start_fetch(struct stream *s)
{
    enum stream_next next = s->memory ? s->memory->before(s->r) : STREAM_MORE;
    if (next != STREAM_MORE) {
        go_without_fetch(s, next);
        return;
    }
    s->fetching = true;
    s->sleeping = false;
    if (pool_submit(s->pool, fetch_work, after_fetch, s, &s->err) == 0)
        return;
    s->rc = -1;
    loop_post(s->r->api->loop, after_fetch, s); /* posted, since a request must not end inside its own step */
}

static void stream_wake(struct topic_member *m)
{
    struct stream *s = (struct stream *)m;
    if (s->fetching)
        s->woken = true;
    else if (s->sleeping && http_stream_pending(s->http) > 0)
        s->sleeping = false; /* this client is slow: on_drained() fetches once it has taken what was sent */
    else if (s->sleeping)
        start_fetch(s);
}

int req_stream(struct req *r, const char *topic, stream_fetch_fn *fetch)
{
    return req_stream_fed(r, topic, fetch, NULL);
}

static int begin_stream(struct req *r, const char *topic, const struct stream *as)
{
    loop_assert();
    if (!r->http) /* the client left before the first step, so that nobody will see the error */
        return -1;
    struct stream *s = must_calloc(1, sizeof(*s));
    *s = *as;
    s->member.wake = stream_wake;
    s->r = r;
    s->http = r->http;
    r->stream = s;
    r->http = NULL;
    http_request_set_ctx(s->http, r, on_client_gone);
    if (topic)
        topic_join(r->api->topics, topic, &s->member);
    start_fetch(s);
    return REQ_CONTINUES;
}

int req_stream_fed(struct req *r, const char *topic, stream_fetch_fn *fetch, const struct stream_memory *memory)
{
    return begin_stream(r, topic, &(struct stream){.fetch = fetch, .memory = memory, .pool = r->api->services.readers});
}

int req_stream_bytes(struct req *r, const struct stream_head *head, stream_bytes_fn *fetch)
{
    struct stream_head *kept = arena_new(&r->arena, struct stream_head);
    *kept = *head;
    return begin_stream(r, NULL,
                        &(struct stream){.fetch_bytes = fetch, .head = kept, .pool = r->api->services.transfers});
}

int req_stream_text(struct req *r, const struct stream_head *head, stream_fetch_fn *fetch)
{
    struct stream_head *kept = arena_new(&r->arena, struct stream_head);
    *kept = *head;
    return begin_stream(r, NULL, &(struct stream){.fetch = fetch, .head = kept, .pool = r->api->services.readers});
}

struct strbuf *stream_batch(struct req *r)
{
    return &r->stream->batch;
}

void stream_add(struct req *r, const void *response)
{
    strbuf_adds(&r->stream->batch, "{\"result\":");
    codec_encode(r->route->response, response, &r->stream->batch);
    strbuf_adds(&r->stream->batch, "}\n");
}

size_t stream_batch_bytes(const struct req *r)
{
    return r->stream->batch.n;
}
