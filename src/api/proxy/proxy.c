/* ANY /proxy/SERVICE/…: carries a request to a port of a task, and the answer back.
 *
 *     find the service (in memory, or in the store) → who asks (visitor.h) → what state its task is in → connect
 *
 * An unknown service is 404 before anybody is asked who they are. A task that does not answer yet is 503, and a small
 * page that loads itself again for a browser. The request's memory goes when the task has accepted; from then on the
 * relay, or the two joined streams, hold one `struct call`. */
#include "api/proxy/proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "api/pipeline/internal.h"
#include "api/pipeline/plain_page.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/proxy/proxy_headers.h"
#include "api/proxy/task_service.h"
#include "api/proxy/visitor.h"
#include "api/rights/origin.h"
#include "api/tasks/task_use.h"
#include "common/base/must.h"
#include "common/config/config.h"
#include "common/system/log.h"
#include "core/core.h"
#include "net/http/http.h"
#include "net/relay/relay.h"
#include "net/streams/byte_stream.h"
#include "net/streams/stream_join.h"
#include "net/streams/ws_stream.h"

enum { RELOAD_S = 2 };
/* characters of a token that may stand in a cookie as they are */
#define COOKIE_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

/* ---- what all requests share ------------------------------------------------------------------------------------- */

struct proxy_user {
    int32_t id; /* 0: visitors who are not logged in, all together */
    int n;
    UT_hash_handle hh;
};

struct proxy {
    struct core *core; /* for what happens on the loop without a request */
    struct relays *relays;
    struct service_cache *services;
    struct proxy_user *users;
    int n, max, max_per_user, idle_timeout_s;
    uint64_t tcp, tcp_passed[2], refused[PROXY_REFUSAL_NR];
    size_t header_max;
    bool keeps_apart; /* proxy.sandbox */
};

struct proxy *proxy_new(struct loop *l, struct core *core, const struct config *c)
{
    struct proxy *p = must_calloc(1, sizeof(*p));
    p->core = core;
    p->relays = relays_new(l);
    p->services = service_cache_new();
    if (!c)
        return p;
    p->max = (int)config_int(c, "proxy.connections");
    p->max_per_user = (int)config_int(c, "proxy.connections_per_user");
    p->header_max = (size_t)config_int(c, "proxy.header_size");
    p->idle_timeout_s = (int)((config_duration_us(c, "proxy.idle_timeout") + 999999) / 1000000);
    p->keeps_apart = strcmp(config_str(c, "proxy.sandbox"), "others") == 0;
    return p;
}

void proxy_free(struct proxy *p)
{
    if (!p)
        return;
    relays_free(p->relays);
    service_cache_free(p->services);
    struct proxy_user *u, *next;
    HASH_ITER(hh, p->users, u, next) {
        HASH_DEL(p->users, u);
        free(u);
    }
    free(p);
}

struct proxy_stats proxy_stats(const struct proxy *p)
{
    struct relays_stats relayed = relays_stats(p->relays);
    struct proxy_stats s = {.open = (size_t)p->n,
                            .requests = relayed.taken,
                            .tcp = p->tcp,
                            .broken = relayed.broken,
                            .to_task = relayed.to_program + p->tcp_passed[0],
                            .from_task = relayed.to_client + p->tcp_passed[1]};
    memcpy(s.refused, p->refused, sizeof(s.refused));
    return s;
}

const char *proxy_refusal_name(enum proxy_refusal why)
{
    static const char *const name[] = {
#define PROXY_REFUSAL(name, text) text,
        PROXY_REFUSALS(PROXY_REFUSAL)
#undef PROXY_REFUSAL
    };
    return name[why];
}

/* Notes why a request is not passed on. */
static void count_refusal(const struct req *r, enum proxy_refusal why)
{
    r->api->proxy->refused[why]++;
}

static struct proxy_user *count_user(struct proxy *p, int32_t id, struct error *err)
{
    struct proxy_user *u;
    HASH_FIND_INT(p->users, &id, u);
    if (p->n >= p->max) {
        error_set(err, ERR_UNAVAILABLE,
                  "the master has %d connections to tasks open, which is the most that proxy.connections allows; "
                  "close some",
                  p->n);
        return NULL;
    }
    if (u && u->n >= p->max_per_user) {
        error_set(err, ERR_TOO_MANY,
                  "%s have %d connections to tasks open, which is the most that proxy.connections_per_user allows; "
                  "close some",
                  id ? "you" : "visitors who are not logged in", u->n);
        return NULL;
    }
    if (!u) {
        u = must_calloc(1, sizeof(*u));
        u->id = id;
        HASH_ADD_INT(p->users, id, u);
    }
    u->n++;
    p->n++;
    return u;
}

static void uncount_user(struct proxy *p, struct proxy_user *u)
{
    p->n--;
    if (--u->n > 0)
        return;
    HASH_DEL(p->users, u);
    free(u);
}

/* ---- one request on its way -------------------------------------------------------------------------------------- */

struct call {
    struct api *api;
    struct proxy_user *user;
    struct req *r; /* until the task has accepted */
    struct relay *relay;
    struct byte_stream *tcp; /* to a port of TCP, until the task has accepted */
    char *task_id, *service, *container_id;
    char *path; /* "/proxy/ID/" as the browser has sent it */
    int port;
    bool wants_page, open, sandbox, is_opaque;
};

/* What a request keeps in its arena until the task has accepted. */
struct attempt {
    const char *name;
    struct task_service service;
    struct service_state state;
    struct visitor visitor;
    struct call *call; /* NULL: nothing is being opened */
    const char *why;   /* the port cannot be reached */
    bool late;         /* the port has not answered in time */
    bool wants_page, upgrade;
};

static void call_free(struct call *c)
{
    uncount_user(c->api->proxy, c->user);
    free(c->task_id);
    free(c->service);
    free(c->container_id);
    free(c->path);
    free(c);
}

static int open_stream(void *ctx, const struct byte_stream_handler *h, struct byte_stream **ret, struct error *err)
{
    struct call *c = ctx;
    const struct api_services *s = &c->api->services;
    return s->open_task_stream(s->ctx, c->container_id, c->port, h, ret, err);
}

/* ---- answers in place of the task's ------------------------------------------------------------------------------ */

static void reply_text(struct req *r, int status, const struct plain_page *page, bool as_page)
{
    r->reply.status = status;
    req_add_header(r, "Cache-Control", "no-store");
    if (page->reload_s)
        req_add_header(r, "Retry-After", "2");
    if (as_page) {
        r->reply.content_type = PLAIN_PAGE_TYPE;
        req_add_header(r, "Content-Security-Policy", PLAIN_PAGE_POLICY);
        plain_page(page, &r->reply.body);
        return;
    }
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, page->text);
    if (page->line)
        strbuf_addf(&text, "; the last line of its log: %s", page->line);
    strbuf_adds(&r->reply.body, "{\"message\":");
    strbuf_add_json(&r->reply.body, text.s, text.n);
    strbuf_adds(&r->reply.body, "}\n");
}

/* Says what the visitor is waiting for. Runs on a reader. The log is for those who may use the task, not for all
 * visitors of an open port. */
static int tell_state(struct req *r, struct store *db, struct error *err)
{
    struct attempt *t = r->state;
    const char *task = t->service.task_id, *text;
    bool sees_log = t->visitor.is_owner || r->who.admin;
    struct plain_page page = {.reload_s = RELOAD_S};
    int status = 503;
    if (t->state.stage == SERVICE_OVER) {
        page.title = "The task has ended";
        page.reload_s = 0;
        text = arena_printf(&r->arena, "service not found: %s: task %s %s", t->name, task,
                            task_service_end(db, &t->service, &r->arena));
        status = 404;
    } else if (t->why) {
        page.title = "Waiting for the task";
        text = arena_printf(&r->arena, "task %s runs, but no program answers at its port %d: %s", task, t->state.port,
                            t->why);
        status = t->late ? 504 : 502;
    } else {
        page.title = t->state.stage == SERVICE_STARTS ? "The task is starting" : "Waiting for the task";
        text = arena_printf(&r->arena, "task %s %s", task, t->state.text);
    }
    page.text = text;
    if (sees_log && (t->state.stage == SERVICE_STARTS || t->why))
        page.line = task_service_last_line(db, &t->service, &r->arena);
    reply_text(r, status, &page, t->wants_page);
    return 0;
}

/* The task has accepted, and then sent nothing that can be passed on. */
static void reply_broken(struct http_request *http, int status, const char *why, void *ctx)
{
    const struct call *c = ctx;
    cleanup_strbuf struct strbuf body = STRBUF_INIT, text = STRBUF_INIT;
    strbuf_addf(&text, "port %d of task %s %s", c->port, c->task_id, why);
    log_info("proxy.broken", "task=%s port=%d reason=%s", c->task_id, c->port, log_quote(why));
    http_add_header(http, "Cache-Control", "no-store");
    if (c->wants_page) {
        http_add_header(http, "Content-Security-Policy", PLAIN_PAGE_POLICY);
        plain_page(&(struct plain_page){.title = "The task does not answer as it should", .text = text.s}, &body);
    } else {
        strbuf_adds(&body, "{\"message\":");
        strbuf_add_json(&body, text.s, text.n);
        strbuf_adds(&body, "}\n");
    }
    http_reply(http, status, c->wants_page ? PLAIN_PAGE_TYPE : "application/json", body.s, body.n);
}

/* Bytes have passed: whoever counts the task's idle time learns of it. */
static void on_used(void *ctx)
{
    const struct call *c = ctx;
    api_task_used(c->api, c->api->proxy->core, c->task_id);
}

/* ---- the relay's callbacks --------------------------------------------------------------------------------------- */

static void add_header(void *ctx, const char *name, const char *value)
{
    http_add_header(ctx, name, value);
}

static void choose_headers(struct http_request *http, const struct http1_answer *answer, void *ctx)
{
    const struct call *c = ctx;
    const struct proxy_answer to = {.path = c->path, .open = c->open, .sandbox = c->sandbox, .is_opaque = c->is_opaque};
    proxy_answer_headers(answer->header, answer->header_n, &to, add_header, http);
}

static void cannot_reach(struct req *r, const char *why, bool late)
{
    struct attempt *t = r->state;
    t->why = arena_strdup(&r->arena, why);
    t->late = late;
    count_refusal(r, late ? PROXY_REFUSED_LATE : PROXY_REFUSED_UNREACHABLE);
    req_resume_read(r, tell_state);
}

/* The port has accepted (why is NULL), or cannot be reached: then the call goes with its relay. */
static void on_ready(void *ctx, int status, const char *why)
{
    struct call *c = ctx;
    struct req *r = c->r;
    struct attempt *t = r->state;
    t->call = NULL;
    c->r = NULL;
    if (why) {
        cannot_reach(r, why, /* late= */ status == 504);
        return;
    }
    struct http_request *http = r->http;
    r->http = NULL;
    relay_take(c->relay, http);
    req_finish(r, NULL);
}

static void on_done(void *ctx)
{
    call_free(ctx);
}

/* ---- ports of TCP ------------------------------------------------------------------------------------------------ */

static void tcp_over(void *ctx, int failed, const char *why)
{
    struct call *c = ctx;
    log_debug("proxy.tcp_over", "task=%s port=%d reason=%s", c->task_id, c->port, log_quote(why ? why : ""));
    call_free(c);
}

static void tcp_opened(struct byte_stream *s, void *ctx)
{
    struct call *c = ctx;
    struct req *r = c->r;
    struct attempt *t = r->state;
    struct byte_streams *all = c->api->streams;
    struct ws_handler handler;
    struct ws *ws;
    cleanup_error struct error err = ERROR_INIT;
    struct byte_stream *client = ws_stream_new(all, &(struct byte_stream_handler){0}, &handler);
    struct http_request *http = r->http;
    t->call = NULL;
    c->r = NULL;
    http_request_set_ctx(http, NULL, NULL);
    if (http_upgrade_ws(http, &handler, &ws, &err) < 0) {
        http_request_set_ctx(http, r, NULL);
        byte_stream_drop(client);
        byte_stream_drop(s);
        call_free(c);
        req_finish(r, &err);
        return;
    }
    ws_stream_begin(client, ws);
    stream_join_count(stream_join(all, client, s, tcp_over, c), c->api->proxy->tcp_passed);
    c->api->proxy->tcp++;
    on_used(c);
    log_info("proxy.open", "task=%s port=%d user=%s", c->task_id, c->port, r->who.username);
    r->http = NULL;
    req_finish(r, NULL);
}

static void tcp_refused(struct byte_stream *s, const char *why, void *ctx)
{
    struct call *c = ctx;
    struct req *r = c->r;
    struct attempt *t = r->state;
    t->call = NULL;
    call_free(c);
    cannot_reach(r, why ? why : "the connection ended", byte_stream_timed_out(s));
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static void on_gone(struct req *r)
{
    struct attempt *t = r->state;
    struct call *c = t->call;
    if (!c)
        return;
    t->call = NULL;
    if (c->relay) {
        relay_drop(c->relay);
    } else {
        byte_stream_drop(c->tcp);
        call_free(c);
    }
}

static struct call *call_new(struct req *r, struct proxy_user *user)
{
    const struct attempt *t = r->state;
    struct http_request *http = r->http;
    const char *path = http_request_path(http), *origin = http_request_header(http, "Origin");
    struct call *c = must_calloc(1, sizeof(*c));
    size_t path_n = strlen("/proxy/") + strcspn(path + strlen("/proxy/"), "/");
    c->api = r->api;
    c->user = user;
    c->r = r;
    c->task_id = must_strdup(t->service.task_id);
    c->service = must_strdup(t->service.name);
    c->container_id = must_strdup(t->state.container_id);
    c->path = must_calloc(1, path_n + 2);
    memcpy(c->path, path, path_n);
    c->path[path_n] = '/';
    c->port = t->state.port;
    c->wants_page = t->wants_page;
    c->open = t->service.open;
    c->sandbox = r->api->proxy->keeps_apart && !t->visitor.is_owner;
    c->is_opaque = origin && strcmp(origin, "null") == 0;
    return c;
}

static void write_head(struct req *r, struct strbuf *out)
{
    const struct attempt *t = r->state;
    struct address client;
    char client_text[ADDRESS_TEXT_MAX];
    struct proxy_visit v = {.method = http_method_name(http_request_method(r->http)),
                            .path = http_request_path(r->http),
                            .query = http_request_query(r->http),
                            .upgrade = t->upgrade,
                            .keeps_authorization = t->visitor.keeps_authorization,
                            .https = origin_is_https(r->api->proxies, r->http)};
    origin_client(r->api->proxies, r->http, &client);
    address_text(&client, client_text);
    v.client = client_text;
    v.header = http_request_headers(r->http, &v.header_n);
    v.framing = http_request_framing(r->http, &v.length);
    proxy_request_head(&v, out);
}

static int open_relay(struct req *r, struct call *c, struct error *err)
{
    const struct attempt *t = r->state;
    const struct proxy *p = r->api->proxy;
    cleanup_strbuf struct strbuf head = STRBUF_INIT;
    write_head(r, &head);
    const struct relay_options o = {.open = open_stream,
                                    .head = head.s,
                                    .head_n = head.n,
                                    .upgrade = t->upgrade,
                                    .head_max = p->header_max,
                                    .idle_timeout_s = p->idle_timeout_s,
                                    .ready = on_ready,
                                    .headers = choose_headers,
                                    .failed = reply_broken,
                                    .used = on_used,
                                    .done = on_done,
                                    .ctx = c};
    return relay_open(p->relays, &o, &c->relay, err);
}

/* A browser that has come with the task's token in the address keeps it in a cookie of its own, which is sent to this
 * task alone, so that what the page loads finds its way, too. */
static void keep_token(struct req *r, const struct call *c)
{
    const struct attempt *t = r->state;
    cleanup_strbuf struct strbuf cookie = STRBUF_INIT;
    if (!t->visitor.token || strspn(t->visitor.token, COOKIE_CHARACTERS) != strlen(t->visitor.token))
        return;
    strbuf_addf(&cookie, PROXY_TOKEN_COOKIE "=%s; Path=%s; HttpOnly; SameSite=Lax%s", t->visitor.token, c->path,
                origin_is_https(r->api->proxies, r->http) ? "; Secure" : "");
    http_add_header(r->http, "Set-Cookie", cookie.s);
}

static int connect_task(struct req *r, struct error *err)
{
    struct attempt *t = r->state;
    int32_t user_id = r->who.kind != PRINCIPAL_NONE ? r->who.user_id
                      : t->visitor.by_task_token    ? t->service.owner_id
                                                    : 0;
    struct proxy_user *user = count_user(r->api->proxy, user_id, err);
    if (!user) {
        count_refusal(r, PROXY_REFUSED_LIMIT);
        return -1;
    }
    struct call *c = call_new(r, user);
    static const struct byte_stream_handler tcp = {.on_open = tcp_opened, .on_close = tcp_refused};
    struct byte_stream_handler h = tcp;
    h.ctx = c;
    if ((t->service.tcp ? open_stream(c, &h, &c->tcp, err) : open_relay(r, c, err)) < 0) {
        count_refusal(r, PROXY_REFUSED_NOT_READY);
        call_free(c);
        return -1;
    }
    if (!t->service.tcp)
        keep_token(r, c);
    t->call = c;
    return req_wait(r, on_gone);
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

static const char *requested(struct req *r)
{
    const char *query = http_request_query(r->http);
    return arena_printf(&r->arena, "%s%s%s", http_request_path(r->http), *query ? "?" : "", query);
}

/* "/proxy/ID" without the slash behind it would make all relative links of the page wrong. */
static bool lacks_slash(const struct req *r)
{
    return !strchr(http_request_path(r->http) + strlen("/proxy/"), '/');
}

static int check_kind_of_request(struct req *r, struct error *err)
{
    struct attempt *t = r->state;
    uint64_t length;
    const char *upgrade = http_request_header(r->http, "Upgrade");
    t->upgrade = upgrade && http1_list_has(upgrade, "websocket") && http_request_method(r->http) == HTTP_GET;
    if (t->upgrade && http_request_framing(r->http, &length) != HTTP_NO_BODY)
        return error_set(err, ERR_INVALID, "a request for a WebSocket must not have a body");
    if (t->service.tcp && !t->upgrade)
        return error_set(
            err, ERR_INVALID,
            "port %d of task %s carries TCP (proxy_tcp) and is a WebSocket; connect with ws://, not with a "
            "plain request",
            t->service.port, t->service.task_id);
    return 0;
}

static int admit(struct req *r, struct core *core, struct error *err)
{
    struct attempt *t = r->state;
    if (!r->http)
        return error_set(err, ERR_CANCELED, "the client has left");
    if (visitor_check(r, &t->service, &t->visitor, err) < 0) {
        count_refusal(r, PROXY_REFUSED_VISITOR);
        if (err->kind != ERR_UNAUTHENTICATED || !t->wants_page)
            return -1;
        error_release(err);
        req_redirect_to_login(r, "/det/login", requested(r));
        return 0;
    }
    if (check_kind_of_request(r, err) < 0) {
        count_refusal(r, PROXY_REFUSED_VISITOR);
        return -1;
    }
    if (lacks_slash(r) && !t->upgrade) {
        const char *query = http_request_query(r->http);
        req_redirect(r, 308, arena_printf(&r->arena, "%s/%s%s", http_request_path(r->http), *query ? "?" : "", query));
        return 0;
    }
    task_service_state(core, &t->service, r->now_us, &r->arena, &t->state);
    if (t->state.stage == SERVICE_RUNS)
        return connect_task(r, err);
    count_refusal(r, PROXY_REFUSED_NOT_READY);
    return req_then_read(r, tell_state);
}

static int remember_service(struct req *r, struct core *core, struct error *err)
{
    struct attempt *t = r->state;
    service_cache_put(r->api->proxy->services, &t->service, r->now_us);
    return admit(r, core, err);
}

/* What is wrong with the name is for people who are logged in; strangers only learn that there is no such service. */
static int find_service(struct req *r, struct store *db, struct error *err)
{
    struct attempt *t = r->state;
    if (task_service_find(db, t->name, &r->arena, &t->service, err) == 0)
        return req_then_loop(r, remember_service);
    if (err->kind == ERR_NOT_FOUND && r->who.kind == PRINCIPAL_NONE) {
        error_release(err);
        error_set(err, ERR_NOT_FOUND, "service not found: %.200s", t->name);
    }
    return -1;
}

int raw_proxy(struct req *r, struct core *core, struct error *err)
{
    struct attempt *t = arena_new(&r->arena, struct attempt);
    r->state = t;
    t->name = req_raw_param(r, 0);
    t->wants_page = plain_page_is_wanted(r->http);
    visitor_identify(r);
    const struct task_service *known = service_cache_get(r->api->proxy->services, t->name, r->now_us);
    if (!known)
        return req_then_read(r, find_service);
    t->service = *known;
    t->service.name = t->name;
    t->service.task_id = arena_strdup(&r->arena, known->task_id);
    return admit(r, core, err);
}
