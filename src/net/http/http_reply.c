/* Answers: whole replies, streams, and the headers of both. */
#include "net/http/http_internal.h"

#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

/* below this size, one write of head and body is cheaper than queueing the body without a copy */
#define COPY_MAX (16 * 1024)
/* unsent bytes of a stream that the kernel may hold: a slow reader then sees recent data instead of old data */
#define UNSENT_IN_KERNEL_MAX (128 * 1024)

static const struct status_name {
    int status;
    const char *name;
} status_names[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {102, "Processing"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

static const char *status_name(int status)
{
    for (size_t i = 0; i < sizeof(status_names) / sizeof(*status_names); i++)
        if (status_names[i].status == status)
            return status_names[i].name;
    return "Status";
}

/* Adds a number. strbuf_addf() would cost as much as the rest of the head. */
static void add_number(struct strbuf *b, size_t value, unsigned base)
{
    char text[24], *p = text + sizeof(text);
    do
        *--p = "0123456789abcdef"[value % base];
    while (value /= base);
    strbuf_add(b, p, (size_t)(text + sizeof(text) - p));
}

static void add_date(struct http_server *s)
{
    time_t now = time(NULL);
    if (now != s->date_s) {
        struct tm tm;
        gmtime_r(&now, &tm);
        strftime(s->date, sizeof(s->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
        s->date_s = now;
    }
    strbuf_adds(&s->out, s->date);
}

/* Says in the head whether the connection goes on after this answer. It cannot if the rest of the request's body is
 * still to come, since nobody may take it. */
static void add_connection(struct http_request *r)
{
    struct conn *c = r->conn;
    if (r->body_coming)
        c->close_after = c->linger = true;
    if (c->close_after)
        strbuf_adds(&c->server->out, "Connection: close\r\n");
    else if (r->head.minor_version == 0)
        strbuf_adds(&c->server->out, "Connection: keep-alive\r\n");
}

static void reply_begin_head(struct http_request *r, int status, const char *content_type)
{
    struct conn *c = r->conn;
    struct strbuf *out = &c->server->out;
    strbuf_reset(out);
    strbuf_add(out, "HTTP/1.1 ", 9);
    add_number(out, (size_t)status, 10);
    strbuf_addc(out, ' ');
    strbuf_adds(out, status_name(status));
    strbuf_add(out, "\r\n", 2);
    add_date(c->server);
    add_connection(r);
    if (content_type) {
        strbuf_adds(out, "Content-Type: ");
        strbuf_adds(out, content_type);
        strbuf_add(out, "\r\n", 2);
    }
    strbuf_add(out, strbuf_str(&r->extra), r->extra.n);
}

/* Control characters in the value are replaced, so that a value which a handler passes on from a user cannot add
 * headers or bodies. */
void http_add_header(struct http_request *r, const char *name, const char *value)
{
    strbuf_adds(&r->extra, name);
    strbuf_add(&r->extra, ": ", 2);
    size_t at = r->extra.n;
    strbuf_adds(&r->extra, value);
    for (char *p = r->extra.s + at; *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\t')
            *p = ' ';
    strbuf_add(&r->extra, "\r\n", 2);
}

static bool has_no_length(int status)
{
    return status == 204 || status == 304;
}

static struct iovec reply_head(struct http_request *r, int status, const char *content_type, size_t n)
{
    struct strbuf *out = &r->conn->server->out;
    reply_begin_head(r, status, content_type);
    if (!has_no_length(status)) {
        strbuf_adds(out, "Content-Length: ");
        add_number(out, n, 10);
        strbuf_add(out, "\r\n", 2);
    }
    strbuf_add(out, "\r\n", 2);
    return (struct iovec){out->s, out->n};
}

static bool sends_body(const struct http_request *r, int status, size_t n)
{
    return n > 0 && r->head.method != HTTP_HEAD && !has_no_length(status);
}

void http_reply(struct http_request *r, int status, const char *content_type, const void *body, size_t n)
{
    struct iovec part[2] = {reply_head(r, status, content_type, n), {(void *)body, n}};
    conn_send(r->conn, part, sends_body(r, status, n) ? 2 : 1);
    request_finish(r);
}

void http_reply_take(struct http_request *r, int status, const char *content_type, void *body, size_t n)
{
    if (n <= COPY_MAX) {
        http_reply(r, status, content_type, body, n);
        free(body);
        return;
    }
    struct iovec part[2] = {reply_head(r, status, content_type, n), {body, n}};
    if (sends_body(r, status, n)) {
        conn_send_take(r->conn, part, 2, body);
    } else {
        conn_send(r->conn, part, 1);
        free(body);
    }
    request_finish(r);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static void begin_stream(struct http_request *r, int status, const char *content_type, const char *framing,
                         void (*on_drained)(struct http_request *r, void *ctx))
{
    struct conn *c = r->conn;
    r->streaming = true;
    r->on_drained = on_drained;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){UNSENT_IN_KERNEL_MAX}, sizeof(int));

    reply_begin_head(r, status, content_type);
    strbuf_adds(&c->server->out, framing);
    strbuf_reset(&r->stream_head);
    strbuf_add(&r->stream_head, c->server->out.s, c->server->out.n);
    conn_soon(c, SOON_DRAINED);
}

void http_stream_start(struct http_request *r, int status, const char *content_type,
                       void (*on_drained)(struct http_request *r, void *ctx))
{
    r->chunked = r->head.minor_version == 1;
    if (!r->chunked)
        r->conn->close_after = true; /* in HTTP/1.0 only the end of the connection shows the end of the body */
    begin_stream(r, status, content_type, r->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n", on_drained);
}

void http_stream_start_sized(struct http_request *r, int status, const char *content_type, uint64_t n,
                             void (*on_drained)(struct http_request *r, void *ctx))
{
    char framing[64];
    snprintf(framing, sizeof(framing), "Content-Length: %llu\r\n\r\n", (unsigned long long)n);
    r->chunked = false;
    begin_stream(r, status, content_type, framing, on_drained);
}

/* Begins the head of an answer that comes from elsewhere. */
static void relayed_begin_head(struct http_request *r, int status)
{
    struct conn *c = r->conn;
    struct strbuf *out = &c->server->out;
    strbuf_reset(out);
    strbuf_addf(out, "HTTP/1.1 %d %s\r\n", status, status_name(status));
    if (status != 101)
        add_connection(r);
    strbuf_add(out, strbuf_str(&r->extra), r->extra.n);
}

static void send_head_later(struct http_request *r, void (*on_drained)(struct http_request *r, void *ctx))
{
    struct strbuf *out = &r->conn->server->out;
    strbuf_adds(out, "\r\n");
    strbuf_reset(&r->stream_head);
    strbuf_add(&r->stream_head, out->s, out->n);
    r->streaming = true;
    r->on_drained = on_drained;
    conn_soon(r->conn, SOON_DRAINED);
}

void http_stream_start_relayed(struct http_request *r, int status, enum http_framing framing, uint64_t length,
                               void (*on_drained)(struct http_request *r, void *ctx))
{
    struct conn *c = r->conn;
    if (framing == HTTP_UNTIL_CLOSE && r->head.method == HTTP_HEAD)
        framing = HTTP_NO_BODY;
    else if (framing == HTTP_UNTIL_CLOSE)
        framing = HTTP_CHUNKED;
    r->chunked = framing == HTTP_CHUNKED && r->head.minor_version == 1;
    if (framing == HTTP_CHUNKED && !r->chunked)
        c->close_after = true;
    relayed_begin_head(r, status);
    if (r->chunked)
        strbuf_adds(&c->server->out, "Transfer-Encoding: chunked\r\n");
    else if (framing == HTTP_SIZED)
        strbuf_addf(&c->server->out, "Content-Length: %llu\r\n", (unsigned long long)length);
    send_head_later(r, on_drained);
}

void http_interim(struct http_request *r, int status)
{
    char line[64];
    int n = snprintf(line, sizeof(line), "HTTP/1.1 %d %s\r\n\r\n", status, status_name(status));
    if (r->head.minor_version == 1 && !r->streaming)
        conn_send(r->conn, &(struct iovec){line, (size_t)n}, 1);
}

void http_switch_protocols(struct http_request *r, void (*on_drained)(struct http_request *r, void *ctx))
{
    struct conn *c = r->conn;
    c->close_after = c->linger = true;
    relayed_begin_head(r, 101);
    send_head_later(r, on_drained);
    r->switched = true;
    r->chunked = false;
    http_stream_write(r, "", 0); /* the head */
    r->head.header_n = 0;
    r->head.path = r->head.query = "";
    free(c->head_text);
    c->head_text = NULL;
    c->head_cap = 0;
    strbuf_release(&r->stream_head);
    strbuf_release(&r->cookies);
    strbuf_release(&r->extra);
}

void http_stream_abort(struct http_request *r)
{
    r->conn->close_after = true;
    request_finish(r);
}

/* Sends the head if it was not sent yet, the chunk's size, the data and the chunk's end, in one write. */
static void stream_send(struct http_request *r, const char *before, size_t before_n, const void *data, size_t n,
                        const char *after)
{
    struct iovec part[4];
    int parts = 0;
    if (!r->stream_head_sent)
        part[parts++] = (struct iovec){r->stream_head.s, r->stream_head.n};
    r->stream_head_sent = true;
    if (r->head.method != HTTP_HEAD) {
        if (before_n)
            part[parts++] = (struct iovec){(char *)before, before_n};
        if (n)
            part[parts++] = (struct iovec){(void *)data, n};
        if (*after)
            part[parts++] = (struct iovec){(char *)after, strlen(after)};
    }
    if (parts)
        conn_send(r->conn, part, parts);
}

void http_stream_write(struct http_request *r, const void *data, size_t n)
{
    struct strbuf *size_line = &r->conn->server->out;
    strbuf_reset(size_line);
    if (r->chunked && n > 0) {
        add_number(size_line, n, 16);
        strbuf_add(size_line, "\r\n", 2);
    }
    stream_send(r, size_line->s, size_line->n, data, n, r->chunked && n > 0 ? "\r\n" : "");
    if (n > 0 && conn_unsent(r->conn) == 0)
        conn_soon(r->conn, SOON_DRAINED);
}

size_t http_stream_pending(const struct http_request *r)
{
    return conn_unsent(r->conn);
}

void http_stream_end(struct http_request *r)
{
    stream_send(r, NULL, 0, NULL, 0, r->chunked ? "0\r\n\r\n" : "");
    request_finish(r);
}
