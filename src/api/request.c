/* The way of a request: accept → route → authenticate → decode → step(s) → commit → encode → reply.
 *
 * The phases before the first step run on the loop, but for the decoding of big bodies. A step runs at its place (api.h);
 * when one finishes, the reply is encoded right there if that is a worker's thread, and sent from the loop. */
#include "api/request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/identity.h"
#include "api/internal.h"
#include "api/raw.h"
#include "common/clock.h"
#include "common/log.h"
#include "gen/handlers.h"
#include "net/http.h"
#include "net/pool.h"

enum {
    DECODE_ON_LOOP_MAX = 32 * 1024, /* bytes; bigger bodies are decoded by a worker */
};

struct req_run {
    struct {
        bool is_rpc_path;
        struct route_match rpc;
        const struct raw_route *raw;
        const char *raw_param[RAW_PARAM_MAX];
    } match;
    char *query;
    void *body;
    size_t body_n;
    req_step_fn *next;
    enum req_place next_place;
    req_step_fn *write_step; /* kept: a group that met a full disk runs it again */
    void (*on_gone)(struct req *r);
    uint64_t ticket; /* of the last write this request caused; 0 if none */
    struct error err;
    int rc;
    bool waiting, encoded;
};

static void run_step(struct req *r);

/* ---- end of a request ---- */

static void req_free(struct req *r)
{
    if (r->on_end)
        r->on_end(r);
    free(r->run->body);
    error_release(&r->run->err);
    free(r->run);
    strbuf_release(&r->reply.body);
    arena_release(&r->arena);
    free(r);
}

void req_drop(struct req *r)
{
    req_free(r);
}

void req_error_body(const struct error *err, enum req_error_form form, struct strbuf *out)
{
    static const char *const opening[] = {[REQ_ERROR_RPC] = ",\"error\":", [REQ_ERROR_STREAM] = ",\"message\":"};
    if (form == REQ_ERROR_RPC)
        strbuf_addf(out, "{\"error\":{\"code\":%d,\"reason\":\"%s\"", error_rpc_code(err->kind), error_rpc_name(err->kind));
    else if (form == REQ_ERROR_STREAM)
        strbuf_addf(out, "{\"error\":{\"grpcCode\":%d,\"httpCode\":%d", error_rpc_code(err->kind), error_http_status(err->kind));
    strbuf_adds(out, form == REQ_ERROR_RAW ? "{\"message\":" : opening[form]);
    strbuf_add_json(out, error_msg(err), strlen(error_msg(err)));
    if (form == REQ_ERROR_STREAM)
        strbuf_addf(out, ",\"httpStatus\":\"%s\",\"details\":[]", error_http_text(err->kind));
    strbuf_adds(out, form == REQ_ERROR_RAW ? "}\n" : "}}\n");
}

static enum req_error_form error_form(const struct req *r)
{
    if (r->route)
        return r->route->stream ? REQ_ERROR_STREAM : REQ_ERROR_RPC;
    return r->run->match.is_rpc_path ? REQ_ERROR_RPC : REQ_ERROR_RAW;
}

/* Whatever thread the last step ran on: turns the filled response into bytes. */
static void encode_reply(struct req *r)
{
    struct req_run *run = r->run;
    if (run->encoded)
        return;
    run->encoded = true;
    if (run->rc < 0) {
        strbuf_reset(&r->reply.body);
        r->reply.status = error_http_status(run->err.kind);
        r->reply.content_type = NULL;
        req_error_body(&run->err, error_form(r), &r->reply.body);
    } else if (r->route) {
        codec_encode(r->route->response, r->ret, &r->reply.body);
    }
}

static void send_reply(void *arg)
{
    struct req *r = arg;
    struct http_request *http = r->http;
    if (http) {
        r->http = NULL;
        http_request_set_ctx(http, NULL, NULL);
        if (r->run->err.kind == ERR_UNAVAILABLE || r->run->err.kind == ERR_NO_MEMORY)
            http_add_header(http, "Retry-After", "1");
        for (size_t i = 0; i < REPLY_HEADERS_MAX && r->reply.header[i][0]; i++)
            http_add_header(http, r->reply.header[i][0], r->reply.header[i][1]);
        http_reply(http, r->reply.status ? r->reply.status : 200,
                   r->reply.content_type ? r->reply.content_type : "application/json", strbuf_str(&r->reply.body),
                   r->reply.body.n);
    }
    req_free(r);
}

static void end_request(struct req *r)
{
    encode_reply(r);
    if (r->run->rc < 0 && r->run->err.kind == ERR_INTERNAL)
        log_error("api.internal", "route=%s reason=%s", r->route ? r->route->rpc : "raw", log_quote(error_msg(&r->run->err)));
    if (r->run->ticket)
        r->api->services.when_committed(r->api->services.ctx, r->run->ticket, send_reply, r);
    else
        send_reply(r);
}

static void fail_request(struct req *r, struct error *err)
{
    r->run->rc = -1;
    error_move(&r->run->err, err);
    end_request(r);
}

/* ---- steps ---- */

int req_then(struct req *r, enum req_place place, req_step_fn *step)
{
    r->run->next = step;
    r->run->next_place = place;
    return REQ_CONTINUES;
}

int req_wait(struct req *r, void (*on_gone)(struct req *r))
{
    r->run->waiting = true;
    r->run->on_gone = on_gone;
    return REQ_CONTINUES;
}

void req_finish(struct req *r, struct error *err)
{
    r->run->waiting = false;
    r->run->rc = err && err->kind ? -1 : 0;
    if (r->run->rc < 0)
        error_move(&r->run->err, err);
    end_request(r);
}

void req_resume(struct req *r, enum req_place place, req_step_fn *step)
{
    r->run->waiting = false;
    req_then(r, place, step);
    run_step(r);
}

static int step_first(struct req *r, struct error *err)
{
    if (!r->route)
        return r->run->match.raw->handler(r, err);
    return route_handlers[r->route - routes](r, r->in, r->ret, err);
}

/* On whichever thread: runs the step and encodes if that was the last one. */
static void step_off_loop(struct req *r)
{
    req_step_fn *step = r->run->next;
    r->run->next = NULL;
    r->run->rc = step(r, &r->run->err);
    if (r->run->rc <= 0)
        encode_reply(r);
}

static void after_step(struct req *r)
{
    if (r->run->rc <= 0)
        end_request(r);
    else if (r->run->next)
        run_step(r);
    /* else it waits or streams, and somebody will finish it */
}

static void read_work(void *worker, void *job)
{
    struct req *r = job;
    r->db = worker;
    step_off_loop(r);
    r->db = NULL;
}

static void work_work(void *worker, void *job)
{
    step_off_loop(job);
}

static void pool_done(void *job)
{
    after_step(job);
}

static int write_work(struct store *db, void *job, struct error *err)
{
    struct req *r = job;
    r->db = db;
    r->run->next = NULL;
    r->run->rc = r->run->write_step(r, err);
    r->db = NULL;
    return r->run->rc < 0 ? -1 : 0;
}

static void write_done(void *job, const struct error *err)
{
    struct req *r = job;
    if (err) {
        r->run->rc = -1;
        error_set(&r->run->err, err->kind, "%s", error_msg(err));
    }
    after_step(r);
}

static void run_on_loop(struct req *r)
{
    const struct api_services *s = &r->api->services;
    req_step_fn *step = r->run->next;
    r->run->next = NULL;
    uint64_t before = s->ticket(s->ctx);
    r->run->rc = step(r, &r->run->err);
    uint64_t after = s->ticket(s->ctx);
    if (after != before)
        r->run->ticket = after;
    after_step(r);
}

static void run_step(struct req *r)
{
    cleanup_error struct error err = ERROR_INIT;
    const struct api_services *s = &r->api->services;
    switch (r->run->next_place) {
    case REQ_LOOP:
        run_on_loop(r);
        return;
    case REQ_WRITE:
        r->run->write_step = r->run->next;
        s->submit_write(s->ctx, write_work, write_done, r);
        return;
    case REQ_READ:
        if (pool_submit(s->readers, read_work, pool_done, r, &err) < 0)
            fail_request(r, &err);
        return;
    case REQ_WORK:
        if (pool_submit(s->workers, work_work, pool_done, r, &err) < 0)
            fail_request(r, &err);
        return;
    }
}

/* ---- decode ---- */

static int decode(struct req *r, struct error *err)
{
    const struct route *route = r->route;
    void *in = arena_alloc(&r->arena, route->request->size);
    r->in = in;
    r->ret = arena_alloc(&r->arena, route->response->size);
    return route_bind(&r->run->match.rpc, r->run->query, r->run->body, r->run->body_n, &r->arena, in, err);
}

static enum req_place place_of(enum route_kind kind)
{
    switch (kind) {
    case ROUTE_READ:
        return REQ_READ;
    case ROUTE_WRITE:
        return REQ_WRITE;
    case ROUTE_WORK:
        return REQ_WORK;
    default:
        return REQ_LOOP;
    }
}

/* The request is decoded; on the loop again if it was not all the time. */
static int dispatch(struct req *r, struct error *err)
{
    enum req_place place = r->route ? place_of(r->route->kind) : r->run->match.raw->place;
    bool changes = place == REQ_WRITE || (r->route && strcmp(r->route->method, "GET") != 0);
    if (changes && !r->api->services.admits_writes(r->api->services.ctx, err))
        return -1;
    return req_then(r, place, step_first);
}

static int decode_step(struct req *r, struct error *err)
{
    if (decode(r, err) < 0)
        return -1;
    return req_then(r, REQ_LOOP, dispatch);
}

/* ---- accept, route, authenticate ---- */

static const char *bearer(const char *value)
{
    return value && strncmp(value, "Bearer ", 7) == 0 ? value + 7 : NULL;
}

/* Order: user token header, Authorization, allocation token header, cookie. */
static const char *request_token(struct http_request *http)
{
    const char *v;
    if ((v = http_request_header(http, "Grpc-Metadata-x-user-token")))
        return bearer(v) ? bearer(v) : v;
    if ((v = http_request_header(http, "Authorization")))
        return bearer(v);
    if ((v = http_request_header(http, "Grpc-Metadata-x-allocation-token")))
        return bearer(v) ? bearer(v) : v;
    return http_request_cookie(http, "auth");
}

bool api_has_credentials(struct http_request *http, void *ctx)
{
    struct api *a = ctx;
    struct principal who;
    return identities_authenticate(a->identities, request_token(http), clock_now_us(), &who, NULL) == 0;
}

static int find_route(struct req *r, struct error *err)
{
    struct req_run *run = r->run;
    const char *path = http_request_path(r->http);
    const char *method = http_method_name(http_request_method(r->http));
    run->match.is_rpc_path = strncmp(path, "/api/v1/", 8) == 0;
    if (run->match.is_rpc_path && route_find(routes, ROUTES_N, method, path, strlen(path), &r->arena, &run->match.rpc) == 0) {
        r->route = run->match.rpc.route;
        if (r->route->kind == ROUTE_PLANNED)
            return error_set(err, ERR_UNIMPLEMENTED, "%s %s (%s) is planned; this version of the master does not serve it",
                             r->route->method, r->route->path, r->route->rpc);
        return 0;
    }
    run->match.raw = raw_route_find(r->http, &r->arena, run->match.raw_param);
    if (run->match.raw)
        return 0;
    if (run->match.is_rpc_path)
        return error_set(err, ERR_UNIMPLEMENTED, "Not Implemented");
    return error_set(err, ERR_NOT_FOUND, "api not found: %s %s", method, path);
}

static int authenticate(struct req *r, struct error *err)
{
    bool open = r->route ? r->route->unauth : r->run->match.raw && r->run->match.raw->open;
    if (open)
        return 0;
    const char *token = request_token(r->http);
    if (identities_authenticate(r->api->identities, token, r->now_us, &r->who, err) < 0)
        return -1;
    if (r->who.kind == PRINCIPAL_TASK && !r->route && !r->run->match.raw->for_tasks)
        return error_set(err, ERR_UNAUTHENTICATED, "a task's token works below /api/v1 only");
    return 0;
}

static void on_client_gone(struct http_request *http, void *ctx)
{
    struct req *r = ctx;
    r->http = NULL;
    if (!r->run->waiting || !r->run->on_gone)
        return; /* something is on its way and will end the request */
    r->run->waiting = false;
    r->run->on_gone(r);
    req_free(r);
}

static int accept_request(struct req *r, struct error *err)
{
    int found = find_route(r, err);
    if (found < 0 && !r->route && !r->run->match.is_rpc_path) {
        /* Unknown paths outside the API tell nothing to strangers: 401 comes before 404. */
        cleanup_error struct error unauth = ERROR_INIT;
        if (identities_authenticate(r->api->identities, request_token(r->http), r->now_us, &r->who, &unauth) < 0) {
            error_release(err);
            error_move(err, &unauth);
        }
        return -1;
    }
    if (r->route || r->run->match.raw)
        if (authenticate(r, err) < 0) {
            return -1;
        }
    if (found < 0)
        return -1;
    r->run->query = arena_strdup(&r->arena, http_request_query(r->http));
    r->run->body = http_request_take_body(r->http, &r->run->body_n);
    if (!r->route)
        return dispatch(r, err);
    if (r->run->body_n > DECODE_ON_LOOP_MAX)
        return req_then(r, REQ_WORK, decode_step);
    if (decode(r, err) < 0)
        return -1;
    return dispatch(r, err);
}

static void add_security_headers(struct http_request *http)
{
    http_add_header(http, "X-XSS-Protection", "1; mode=block");
    http_add_header(http, "X-Content-Type-Options", "nosniff");
    http_add_header(http, "X-Frame-Options", "SAMEORIGIN");
}

void api_on_request(struct http_request *http, void *ctx)
{
    struct req *r = calloc(1, sizeof(*r));
    struct req_run *run = calloc(1, sizeof(*run));
    if (!r || !run) {
        free(r);
        free(run);
        http_reply(http, 503, NULL, NULL, 0);
        return;
    }
    r->run = run;
    r->api = ctx;
    r->http = http;
    r->now_us = clock_now_us();
    http_request_set_ctx(http, r, on_client_gone);
    add_security_headers(http);
    cleanup_error struct error err = ERROR_INIT;
    run->rc = accept_request(r, &err);
    if (run->rc < 0)
        fail_request(r, &err);
    else
        run_step(r);
}

/* ---- small services to handlers ---- */

const char *req_raw_param(const struct req *r, int index)
{
    return r->run->match.raw_param[index];
}

const void *req_body(const struct req *r, size_t *ret_n)
{
    *ret_n = r->run->body_n;
    return r->run->body ? r->run->body : "";
}

const char *req_bearer(const struct req *r)
{
    return bearer(http_request_header(r->http, "Authorization"));
}

void req_add_header(struct req *r, const char *name, const char *value)
{
    for (size_t i = 0; i < REPLY_HEADERS_MAX; i++) {
        if (r->reply.header[i][0])
            continue;
        r->reply.header[i][0] = name;
        r->reply.header[i][1] = value;
        return;
    }
    assert(!"more reply headers than REPLY_HEADERS_MAX");
}

struct query_search {
    const char *name;
    struct arena *arena;
    const char *value;
};

static int query_match(const char *name, const char *value, void *ctx, struct error *err)
{
    struct query_search *q = ctx;
    if (!q->value && strcmp(name, q->name) == 0)
        q->value = arena_strdup(q->arena, value);
    return 0;
}

int req_query_param(struct req *r, const char *name, const char **ret, struct error *err)
{
    struct query_search q = {.name = name, .arena = &r->arena};
    if (http_query_each(r->run->query, query_match, &q, err) < 0)
        return -1;
    *ret = q.value;
    return 0;
}

struct core *api_core(struct api *a)
{
    return a->core;
}

struct identities *api_identities(struct api *a)
{
    return a->identities;
}

const struct api_info *api_info(const struct api *a)
{
    return &a->info;
}

int api_core_step(struct api *a, const struct core_event *ev, const struct companion *companion, struct error *err)
{
    return a->services.core_step(a->services.ctx, ev, companion, err);
}

int req_need_admin(const struct req *r, const char *what, struct error *err)
{
    if (r->who.kind == PRINCIPAL_USER && r->who.admin)
        return 0;
    return error_set(err, ERR_FORBIDDEN, "only an admin may %s, and user '%s' is none", what, r->who.username);
}

int req_need_user(const struct req *r, struct error *err)
{
    if (r->who.kind == PRINCIPAL_USER)
        return 0;
    return error_set(err, ERR_FORBIDDEN, "a task's token can't do this; log in as a user");
}
