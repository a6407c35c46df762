#include "agent/engine/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/utf8.h"
#include "net/client/http_client.h"

enum {
    REPLY_MAX = 8 * 1024 * 1024,
    CONNECT_TIMEOUT_S = 5,
    GREETING_TIMEOUT_S = 10,
    QUOTE_MAX = 200,
    MESSAGE_MAX = 1000, /* what says the cause stands at the end, after long paths */
    API_NEWEST = 47,    /* 1.47: the newest version of the API that this agent was written for … */
    API_OLDEST = 30,    /* … and the oldest one that has all it needs (mounts with propagation) */
};

void engine_init(struct engine *e, struct loop *loop, const char *name, const char *socket)
{
    *e = (struct engine){.loop = loop, .name = name, .socket = socket};
}

/* ---- what is in a reply ------------------------------------------------------------------------------------------ */

static struct json_object *at_path(struct json_object *o, const char *path)
{
    char name[64];
    while (o && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof(name) || !json_object_is_type(o, json_type_object))
            return NULL;
        memcpy(name, path, n);
        name[n] = 0;
        o = json_object_object_get(o, name);
        path += n + (path[n] == '.');
    }
    return o;
}

const char *engine_text(struct json_object *o, const char *path)
{
    struct json_object *v = at_path(o, path);
    return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

bool engine_flag(struct json_object *o, const char *path)
{
    struct json_object *v = at_path(o, path);
    return json_object_is_type(v, json_type_boolean) && json_object_get_boolean(v);
}

/* The beginning of a text that somebody else wrote, on one line and of printable characters, for an error message. */
static void add_quote(struct strbuf *out, const char *s, size_t n, size_t most)
{
    size_t limit = out->n + most;
    for (size_t length; n > 0 && out->n < limit; s += length, n -= length) {
        size_t known = utf8_sequence(s, n);
        length = known ? known : 1;
        if (known > 1 || (known == 1 && (unsigned char)*s >= 32 && *s != 127))
            strbuf_add(out, s, length);
        else
            strbuf_addc(out, ' ');
    }
    if (n > 0)
        strbuf_adds(out, " …");
}

/* ---- one request ------------------------------------------------------------------------------------------------- */

struct engine_call {
    struct engine *engine;
    struct http_fetch_handle *fetch;
    engine_reply_fn *done;
    void *ctx;
};

static enum error_kind kind_of(int status)
{
    switch (status) {
    case 404:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    default:
        return status < 500 ? ERR_INVALID : ERR_BAD_GATEWAY;
    }
}

static int refused(const struct engine *e, const struct http_fetch_reply *reply, struct json_object *body,
                   struct error *err)
{
    cleanup_strbuf struct strbuf why = STRBUF_INIT;
    const char *message = engine_text(body, "message");
    if (*message)
        add_quote(&why, message, strlen(message), MESSAGE_MAX);
    else
        add_quote(&why, strbuf_str(&reply->body), reply->body.n, QUOTE_MAX);
    return error_set(err, kind_of(reply->status), "%s says: %s (status %d)", e->name, strbuf_str(&why), reply->status);
}

static int read_reply(const struct engine *e, const struct http_fetch_reply *reply, struct json_object **ret,
                      struct error *err)
{
    cleanup_error struct error no_json = ERROR_INIT;
    struct json_object *body = NULL;
    int parsed = reply->body.n ? json_parse(reply->body.s, reply->body.n, &body, &no_json) : 0;
    if (reply->status >= 400 || reply->status < 200) {
        int r = refused(e, reply, body, err);
        json_object_put(body);
        return r;
    }
    if (parsed < 0) {
        cleanup_strbuf struct strbuf quote = STRBUF_INIT;
        add_quote(&quote, reply->body.s, reply->body.n, QUOTE_MAX);
        return error_set(err, ERR_BAD_GATEWAY,
                         "what answers at the socket %s is no %s: its answer is not JSON, but \"%s\"", e->socket,
                         e->name, strbuf_str(&quote));
    }
    *ret = body;
    return 0;
}

static void on_reply(void *ctx, struct http_fetch_reply *reply, const struct error *err)
{
    struct engine_call *c = ctx;
    cleanup_error struct error e = ERROR_INIT;
    cleanup_json struct json_object *body = NULL;
    if (!reply)
        error_set(&e, ERR_UNAVAILABLE, "%s does not answer: %s", c->engine->name, error_msg(err));
    else
        read_reply(c->engine, reply, &body, &e);
    c->done(c->ctx, body, e.kind ? &e : NULL);
    free(c);
}

struct engine_call *engine_ask(struct engine *e, const struct engine_request *q, engine_reply_fn *done, void *ctx)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT, body = STRBUF_INIT;
    struct engine_call *c = must_calloc(1, sizeof(*c));
    *c = (struct engine_call){.engine = e, .done = done, .ctx = ctx};
    strbuf_adds(&url, "http://localhost");
    if (!q->unversioned)
        strbuf_addf(&url, "/v%s", e->api);
    strbuf_adds(&url, q->path);
    if (q->body)
        json_print(q->body, &body);
    const char *header[] = {q->body ? "Content-Type: application/json" : "Accept: application/json", q->header, NULL};
    struct http_fetch f = {.method = q->method,
                           .url = url.s,
                           .unix_socket = e->socket,
                           .header = header,
                           .body = q->body ? body.s : NULL,
                           .body_n = body.n,
                           .connect_timeout_s = CONNECT_TIMEOUT_S,
                           .timeout_s = q->timeout_s,
                           .reply_max = REPLY_MAX,
                           .on_data = q->on_data,
                           .ctx = q->data_ctx};
    c->fetch = http_fetch_start(e->loop, &f, on_reply, c);
    return c;
}

void engine_call_cancel(struct engine_call *c)
{
    if (!c)
        return;
    http_fetch_cancel(c->fetch);
    free(c);
}

/* ---- who the engine is ------------------------------------------------------------------------------------------- */

struct engine_greeting {
    struct engine *engine;
    struct engine_call *call;
    engine_done_fn *done;
    void *ctx;
};

static void end_greeting(struct engine_greeting *g, const struct error *err)
{
    g->done(g->ctx, err);
    free(g);
}

/* The second number of "1.41"; -1 if it is of another form. */
static int minor_of(const char *version)
{
    int major, minor;
    return sscanf(version, "%d.%d", &major, &minor) == 2 && major == 1 ? minor : -1;
}

static int agree(struct engine *e, struct json_object *version, struct error *err)
{
    int newest = minor_of(engine_text(version, "ApiVersion")), oldest = minor_of(engine_text(version, "MinAPIVersion"));
    if (newest < 0)
        return error_set(err, ERR_BAD_GATEWAY, "what answers at the socket %s is no %s: its answer names no ApiVersion",
                         e->socket, e->name);
    if (newest < API_OLDEST || oldest > API_NEWEST)
        return error_set(err, ERR_BAD_GATEWAY,
                         "%s at the socket %s speaks the versions 1.%d to 1.%d of Docker's API; this agent needs one "
                         "of 1.%d to 1.%d",
                         e->name, e->socket, oldest < 0 ? 0 : oldest, newest, API_OLDEST, API_NEWEST);
    snprintf(e->api, sizeof(e->api), "1.%d", newest < API_NEWEST ? newest : API_NEWEST);
    snprintf(e->arch, sizeof(e->arch), "%s", engine_text(version, "Arch"));
    snprintf(e->release, sizeof(e->release), "%s", engine_text(version, "Version"));
    return 0;
}

static bool has_option(struct json_object *info, const char *option)
{
    struct json_object *list = json_object_object_get(info, "SecurityOptions");
    for (size_t i = 0; json_object_is_type(list, json_type_array) && i < json_object_array_length(list); i++) {
        const char *s = json_object_get_string(json_object_array_get_idx(list, i));
        size_t n = strlen(option);
        if (s && strncmp(s, option, n) == 0 && (!s[n] || s[n] == ','))
            return true;
    }
    return false;
}

bool engine_info_has_proxy(struct json_object *info)
{
    return *engine_text(info, "HttpProxy") || *engine_text(info, "HttpsProxy");
}

static void on_info(void *ctx, struct json_object *body, const struct error *err)
{
    struct engine_greeting *g = ctx;
    struct engine *e = g->engine;
    g->call = NULL;
    if (!err && json_object_is_type(body, json_type_object)) {
        e->rootless = has_option(body, "name=rootless") ||
                      engine_flag(body, "Rootless"); /* Docker's way, and Podman's */
        e->remaps = has_option(body, "name=userns");
        e->limits_memory = engine_flag(body, "MemoryLimit");
        e->limits_processes = engine_flag(body, "PidsLimit");
        e->has_proxy = engine_info_has_proxy(body);
        e->known = e->has_proxy || !e->wants_proxy;
    }
    end_greeting(g, err);
}

static void on_version(void *ctx, struct json_object *body, const struct error *err)
{
    struct engine_greeting *g = ctx;
    cleanup_error struct error e = ERROR_INIT;
    g->call = NULL;
    if (err || agree(g->engine, body, &e) < 0) {
        g->engine->known = false;
        end_greeting(g, err ? err : &e);
        return;
    }
    if (g->engine->known) {
        end_greeting(g, NULL);
        return;
    }
    struct engine_request q = {.method = "GET", .path = "/info", .timeout_s = GREETING_TIMEOUT_S};
    g->call = engine_ask(g->engine, &q, on_info, g);
}

struct engine_greeting *engine_greet(struct engine *e, engine_done_fn *done, void *ctx)
{
    struct engine_greeting *g = must_calloc(1, sizeof(*g));
    struct engine_request q = {.method = "GET",
                               .path = "/version",
                               .unversioned = true,
                               .timeout_s = GREETING_TIMEOUT_S};
    *g = (struct engine_greeting){.engine = e, .done = done, .ctx = ctx};
    g->call = engine_ask(e, &q, on_version, g);
    return g;
}

void engine_tell(const struct engine_lines *to, const char *fmt, ...)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    to->take(to->ctx, text.s, text.n);
}

void engine_greeting_cancel(struct engine_greeting *g)
{
    if (!g)
        return;
    engine_call_cancel(g->call);
    free(g);
}
