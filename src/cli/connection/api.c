#include "cli/connection/api_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "common/base/cleanup.h"

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static int call_route(struct cli *cli, const struct route *r, const char *url, const void *body, size_t body_n,
                      const struct http_fetch *extra, struct http_fetch_reply *reply, struct error *err)
{
    struct session *s;
    if (cli_session(cli, &s, err) < 0 || (!r->unauth && api_log_in(cli, s, err) < 0))
        return -1;
    struct exchange x = {.method = r->method,
                         .url = url,
                         .body = body,
                         .body_n = body_n,
                         .with_token = s->token != NULL,
                         .extra = extra};
    if (api_fetch(cli, &x, reply, err) < 0)
        return -1;
    return reply->status < 300 && !api_is_page(&reply->body) ? 0
                                                             : api_status_error(cli, reply->status, &reply->body, err);
}

static int call_with_request(struct cli *cli, enum route_id id, const void *request, struct http_fetch_reply *reply,
                             struct error *err)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT, body = STRBUF_INIT;
    api_build_url(cli, &routes[id], request, &url);
    api_build_body(&routes[id], request, &body);
    return call_route(cli, &routes[id], url.s, body.n ? body.s : NULL, body.n, NULL, reply, err);
}

static int decode_reply(struct cli *cli, enum route_id id, const struct http_fetch_reply *reply, void *ret,
                        struct error *err)
{
    if (!ret)
        return 0;
    memset(ret, 0, routes[id].response->size); /* a master of another version may leave out what this one has */
    if (codec_decode(routes[id].response, strbuf_str(&reply->body), reply->body.n, &cli->arena, ret, err) < 0)
        return error_wrap(err, "the master's reply to %s", routes[id].rpc);
    return 0;
}

int api_call(struct cli *cli, enum route_id id, const void *request, void *ret, struct error *err)
{
    struct http_fetch_reply reply = {0};
    int rc = call_with_request(cli, id, request, &reply, err);
    if (rc == 0)
        rc = decode_reply(cli, id, &reply, ret, err);
    http_fetch_reply_release(&reply);
    return rc;
}

/* The reply as JSON, in which absent fields are null. */
static int parse_reply(enum route_id id, const struct http_fetch_reply *reply, struct json_object **ret,
                       struct error *err)
{
    if (json_parse(strbuf_str(&reply->body), reply->body.n, ret, err) < 0)
        return error_wrap(err, "the master's reply to %s", routes[id].rpc);
    output_fill_absent(routes[id].response, *ret);
    return 0;
}

int api_call_url(struct cli *cli, enum route_id id, const char *url, const char *body, struct json_object **ret,
                 struct error *err)
{
    struct http_fetch_reply reply = {0};
    int rc = call_route(cli, &routes[id], url, body, body ? strlen(body) : 0, NULL, &reply, err);
    if (rc == 0)
        rc = parse_reply(id, &reply, ret, err);
    http_fetch_reply_release(&reply);
    return rc;
}

int api_call_document(struct cli *cli, enum route_id id, const void *request, struct json_object **ret,
                      struct error *err)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT, body = STRBUF_INIT;
    api_build_url(cli, &routes[id], request, &url);
    api_build_body(&routes[id], request, &body);
    return api_call_url(cli, id, url.s, body.n ? body.s : NULL, ret, err);
}

static int call_path(struct cli *cli, const struct api_path *at, struct http_fetch_reply *reply, struct error *err)
{
    struct session *s;
    if (cli_session(cli, &s, err) < 0 || api_log_in(cli, s, err) < 0)
        return -1;
    struct exchange x = {.method = at->method,
                         .url = arena_printf(&cli->arena, "%s%s", cli->master, at->path),
                         .body = at->body,
                         .body_n = at->body ? strlen(at->body) : 0,
                         .with_token = true};
    if (api_fetch(cli, &x, reply, err) < 0)
        return -1;
    return reply->status < 300 && !api_is_page(&reply->body) ? 0
                                                             : api_status_error(cli, reply->status, &reply->body, err);
}

int api_path_document(struct cli *cli, const struct api_path *at, struct json_object **ret, struct error *err)
{
    struct http_fetch_reply reply = {0};
    int rc = call_path(cli, at, &reply, err);
    if (rc == 0 && reply.body.n == 0)
        *ret = NULL;
    else if (rc == 0 && (rc = json_parse(strbuf_str(&reply.body), reply.body.n, ret, err)) < 0)
        error_wrap(err, "the master's reply to %s %s", at->method, at->path);
    http_fetch_reply_release(&reply);
    return rc;
}

int api_path_text(struct cli *cli, const struct api_path *at, struct strbuf *ret, struct error *err)
{
    struct http_fetch_reply reply = {0};
    int rc = call_path(cli, at, &reply, err);
    if (rc == 0)
        strbuf_add(ret, strbuf_str(&reply.body), reply.body.n);
    http_fetch_reply_release(&reply);
    return rc;
}

int api_look(struct cli *cli, const char *path, int *ret_status, const char **ret_why, struct error *err)
{
    struct session *s;
    struct http_fetch_reply reply = {0};
    if (cli_session(cli, &s, err) < 0 || api_log_in(cli, s, err) < 0)
        return -1;
    struct exchange x = {.method = "GET",
                         .url = arena_printf(&cli->arena, "%s%s", cli->master, path),
                         .with_token = true,
                         .no_retry = true};
    int rc = api_fetch(cli, &x, &reply, err);
    if (rc == 0) {
        *ret_status = reply.status;
        *ret_why = api_error_text(cli, &reply.body, reply.status);
    }
    http_fetch_reply_release(&reply);
    return rc;
}

struct download {
    int fd;
    uint64_t n;      /* number of bytes received so far */
    uint64_t before; /* number of bytes that were there when this part began */
    int restarts;
    struct progress bar;
    struct error failed;
};

static void draw_download(size_t received, size_t total, void *ctx)
{
    enum { WORTH_A_BAR = 1 << 20 };
    struct download *d = ctx;
    if (d->before + total >= WORTH_A_BAR)
        progress_draw(&d->bar, (size_t)d->before + received, (size_t)d->before + total);
}

static int download_data(const void *data, size_t n, void *ctx)
{
    struct download *d = ctx;
    for (size_t done = 0; done < n;) {
        ssize_t written = write(d->fd, (const char *)data + done, n - done);
        if (written < 0 && errno != EINTR)
            return error_errno(&d->failed, "writing the download");
        done += written > 0 ? (size_t)written : 0;
    }
    d->n += n;
    return 0;
}

/* Starts the download from the beginning. Needed if the archive has changed, or if it comes from an object store, of
 * which parts cannot be requested. */
static int download_again(struct download *d, struct error *err)
{
    enum { RESTARTS_MAX = 3 };
    if (d->restarts++ == RESTARTS_MAX)
        return error_set(err, ERR_UNAVAILABLE, "the download broke off %d times; try again", RESTARTS_MAX + 1);
    if (ftruncate(d->fd, 0) < 0 || lseek(d->fd, 0, SEEK_SET) < 0)
        return error_errno(err, "starting the download again");
    d->n = 0;
    return 1;
}

/* 0: everything is received. 1: the connection broke and the download should be tried again. */
static int download_part(struct cli *cli, const char *path, struct download *d, struct error *err)
{
    struct http_fetch_reply reply = {0};
    cleanup_error struct error broke = ERROR_INIT;
    struct http_fetch extra = {.on_data = download_data, .on_download = draw_download, .ctx = d};
    uint64_t before = d->before = d->n;
    struct exchange x = {.method = "GET",
                         .url = arena_printf(&cli->arena, "%s%s", cli->master, path),
                         .with_token = true,
                         .extra = &extra,
                         .from = d->n};
    int rc = api_fetch(cli, &x, &reply, &broke);
    if (rc == 0 && reply.status >= 300)
        rc = api_status_error(cli, reply.status, &reply.body, err);
    else if (rc == 0 && before && reply.status != 206)
        rc = download_again(d, err);
    else if (rc < 0 && d->failed.kind)
        error_copy(err, &d->failed);
    else if (rc < 0 && d->n > before)
        rc = 1;
    else if (rc < 0)
        error_copy(err, &broke);
    http_fetch_reply_release(&reply);
    return rc;
}

int api_download(struct cli *cli, const char *path, int fd, struct error *err)
{
    struct session *s;
    struct download d = {.fd = fd, .failed = ERROR_INIT, .bar = {.cli = cli, .what = "Downloading"}};
    int rc = 1;
    if (cli_session(cli, &s, err) < 0 || api_log_in(cli, s, err) < 0)
        return -1;
    while (rc > 0)
        rc = download_part(cli, path, &d, err);
    progress_end(&d.bar);
    error_release(&d.failed);
    return rc;
}

static void draw_upload(size_t sent, size_t total, void *ctx)
{
    progress_draw(ctx, sent, total);
}

static int send_body(struct cli *cli, enum route_id id, const void *body, size_t body_n, struct http_fetch_reply *reply,
                     struct error *err)
{
    enum { WORTH_A_BAR = 1 << 20 };
    struct progress bar = {.cli = cli, .what = "Uploading"};
    struct http_fetch extra = {.ctx = &bar, .on_upload = body_n >= WORTH_A_BAR ? draw_upload : NULL};
    const char *url = arena_printf(&cli->arena, "%s%s", cli->master, routes[id].path);
    int rc = call_route(cli, &routes[id], url, body, body_n, &extra, reply, err);
    progress_end(&bar);
    return rc;
}

int api_call_body(struct cli *cli, enum route_id id, const void *body, size_t body_n, void *ret, struct error *err)
{
    struct http_fetch_reply reply = {0};
    int rc = send_body(cli, id, body, body_n, &reply, err);
    if (rc == 0)
        rc = decode_reply(cli, id, &reply, ret, err);
    http_fetch_reply_release(&reply);
    return rc;
}

int api_call_body_document(struct cli *cli, enum route_id id, const void *body, size_t body_n, struct json_object **ret,
                           struct error *err)
{
    struct http_fetch_reply reply = {0};
    int rc = send_body(cli, id, body, body_n, &reply, err);
    if (rc == 0)
        rc = parse_reply(id, &reply, ret, err);
    http_fetch_reply_release(&reply);
    return rc;
}

/* ---- streams: bytes come in, records go out ---------------------------------------------------------------------- */

struct stream {
    struct cli *cli;
    struct strbuf pending;
    api_record_fn *on_record;
    void *ctx;
    struct error err; /* an error of a record, or the error that ended the stream */
};

static int stream_line(struct stream *s, const char *line, size_t n)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *record;
    if (n == 0)
        return 0;
    if (json_parse(line, n, &v, &s->err) < 0)
        return error_wrap(&s->err, "a record of the stream");
    if (json_object_object_get_ex(v, "result", &record))
        return s->on_record(record, s->ctx, &s->err);
    struct strbuf text = STRBUF_INIT;
    strbuf_add(&text, line, n);
    api_status_error(s->cli, 500, &text, &s->err);
    strbuf_release(&text);
    return -1;
}

static int stream_data(const void *data, size_t n, void *ctx)
{
    struct stream *s = ctx;
    size_t from = 0;
    strbuf_add(&s->pending, data, n);
    for (;;) {
        const char *start = s->pending.s + from, *end = memchr(start, '\n', s->pending.n - from);
        if (!end)
            break;
        if (stream_line(s, start, (size_t)(end - start)) < 0)
            return -1;
        from += (size_t)(end - start) + 1;
    }
    strbuf_consume(&s->pending, from);
    return 0;
}

int api_stream_url(struct cli *cli, enum route_id id, const char *url, const char *body, api_record_fn *on_record,
                   void *ctx, bool *ret_dropped, struct error *err)
{
    struct stream s = {.cli = cli, .on_record = on_record, .ctx = ctx};
    struct http_fetch extra = {.on_data = stream_data, .ctx = &s};
    struct http_fetch_reply reply = {0};
    cleanup_error struct error why = ERROR_INIT;
    int rc = call_route(cli, &routes[id], url, body, body ? strlen(body) : 0, &extra, &reply, &why);
    *ret_dropped = false;
    if (rc == 0 && s.pending.n)
        rc = stream_line(&s, s.pending.s, s.pending.n);
    if (s.err.kind) {
        error_move(err, &s.err);
        rc = -1;
    } else if (rc < 0) {
        *ret_dropped = why.kind == ERR_UNAVAILABLE;
        error_move(err, &why);
    }
    strbuf_release(&s.pending);
    http_fetch_reply_release(&reply);
    return rc;
}

int api_stream(struct cli *cli, enum route_id id, const void *request, api_record_fn *on_record, void *ctx,
               bool *ret_dropped, struct error *err)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT, body = STRBUF_INIT;
    api_build_url(cli, &routes[id], request, &url);
    api_build_body(&routes[id], request, &body);
    return api_stream_url(cli, id, url.s, body.n ? body.s : NULL, on_record, ctx, ret_dropped, err);
}
