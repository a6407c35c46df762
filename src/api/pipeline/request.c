/* The stages of a request: accept → route → authenticate → authorise → decode → authorise → step(s) → commit →
 * encode → reply. What the credential may do with the route at all is decided before the body is read. Who owns the
 * object is checked after decoding (access.h).
 *
 * This file has the stages up to the first step. They run on the loop, except the decoding of big bodies. steps.c
 * has the other stages. */
#include "api/pipeline/request_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw_handlers.h"
#include "api/rights/origin.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "net/http/http.h"

enum {
    DECODE_ON_LOOP_MAX = 32 * 1024, /* bytes; a worker decodes larger bodies */
    SCALARS_MAX = 10000,            /* ids, names or states in one list */
    MESSAGES_MAX = 100000,          /* files, log lines or packages in one list or map */
    DECODED_MAX = 36 * 1024 *
        1024, /* bytes that the decoded message may have, not counting the content of files in it */
};

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

static int decode_request(struct req *r, struct error *err)
{
    const struct route *route = r->route;
    void *in = arena_alloc(&r->arena, route->request->size);
    r->in = in;
    r->ret = arena_alloc(&r->arena, route->response->size);
    if (route_bind(&r->run->match.rpc, r->run->query, r->run->body, r->run->body_n, &r->arena, in, err) < 0)
        return -1;
    return codec_check_lists(route->request, in, SCALARS_MAX, MESSAGES_MAX, err);
}

static enum req_place place_of(enum route_kind kind)
{
    switch (kind) {
    case ROUTE_READ:
        return REQ_READ;
    case ROUTE_LOOKUP:
        return REQ_LOOKUP;
    case ROUTE_WRITE:
        return REQ_WRITE;
    case ROUTE_WORK:
        return REQ_WORK;
    default:
        return REQ_LOOP;
    }
}

static enum req_place place_of_request(const struct req *r)
{
    return r->route ? place_of(r->route->kind) : r->run->match.raw->first.place;
}

/* ---- the first step, which is the handler ------------------------------------------------------------------------ */

static int first_on_loop(struct req *r, struct core *core, struct error *err)
{
    if (!r->route)
        return r->run->match.raw->first.loop(r, core, err);
    return route_handlers[r->route - routes].loop(r, core, r->in, r->ret, err);
}

static int first_with_store(struct req *r, struct store *db, struct error *err)
{
    if (r->run->access_open && access_check_stored(r, db, err) < 0)
        return -1;
    if (!r->route)
        return r->run->match.raw->first.store(r, db, err);
    return route_handlers[r->route - routes].store(r, db, r->in, r->ret, err);
}

static int first_with_neither(struct req *r, struct error *err)
{
    if (!r->route)
        return r->run->match.raw->first.work(r, err);
    return route_handlers[r->route - routes].work(r, r->in, r->ret, err);
}

static bool has_store(enum req_place place)
{
    return place == REQ_READ || place == REQ_LOOKUP || place == REQ_WRITE;
}

static int go_to_first(struct req *r)
{
    struct req_step step = {.place = place_of_request(r)};
    if (has_store(step.place))
        step.store = first_with_store;
    else if (step.place == REQ_LOOP)
        step.loop = first_on_loop;
    else
        step.work = first_with_neither;
    return req_go(r, step);
}

/* Runs on a reader if the first step runs without the store: checks who owns the object. */
static int authorise_step(struct req *r, struct store *db, struct error *err)
{
    r->run->access_open = false;
    return access_check_stored(r, db, err) < 0 ? -1 : go_to_first(r);
}

/* Starts the first step once the request is decoded. Runs on the loop. */
static int dispatch_request(struct req *r, struct core *core, struct error *err)
{
    enum req_place place = place_of_request(r);
    int access = access_check_object(r, core, err);
    if (access < 0)
        return -1;
    r->run->access_open = access == ACCESS_ASKS_STORE;
    bool changes = place == REQ_WRITE || (r->route && strcmp(r->route->method, "GET") != 0);
    if (changes && !r->api->services.admits_writes(r->api->services.ctx, err))
        return -1;
    return r->run->access_open && !has_store(place) ? req_then_read(r, authorise_step) : go_to_first(r);
}

static int decode_step(struct req *r, struct error *err)
{
    if (decode_request(r, err) < 0)
        return -1;
    req_drop_body(r);
    return req_then_loop(r, dispatch_request);
}

/* ---- accept, route, authenticate --------------------------------------------------------------------------------- */

static const char *bearer_token(const char *value)
{
    return value && strncmp(value, "Bearer ", 7) == 0 ? value + 7 : NULL;
}

const char *req_bearer(const struct req *r)
{
    return bearer_token(http_request_header(r->http, "Authorization"));
}

/* The token in the first of these headers that the request has; "" if that header has no token in it. NULL: none of
 * these headers is there. */
static const char *header_token(const struct http_request *http)
{
    const char *v;
    if ((v = http_request_header(http, "Grpc-Metadata-x-user-token")))
        return bearer_token(v) ? bearer_token(v) : v;
    if ((v = http_request_header(http, "Authorization")))
        return bearer_token(v) ? bearer_token(v) : "";
    if ((v = http_request_header(http, "Grpc-Metadata-x-allocation-token")))
        return bearer_token(v) ? bearer_token(v) : v;
    return NULL;
}

/* The request's token. A browser's cookie counts only if no header has a token. */
static const char *request_token(struct http_request *http)
{
    const char *token = header_token(http);
    return token ? token : http_request_cookie(http, "auth");
}

bool api_has_credentials(struct http_request *http, void *ctx)
{
    struct api *a = ctx;
    struct principal who;
    return identities_authenticate(a->identities, request_token(http), clock_now_us(), &who, NULL) == 0;
}

bool api_takes_early(struct http_request *http, void *ctx)
{
    return strncmp(http_request_path(http), "/proxy/", 7) == 0;
}

size_t api_body_max(struct http_request *http, void *ctx)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct route_match match;
    const char *path = http_request_path(http), *param[RAW_PARAM_MAX];
    if (route_find(routes, ROUTES_N, http_method_name(http_request_method(http)), path, strlen(path), &a, &match) == 0)
        return match.route->body_max;
    const struct raw_route *raw = raw_route_find(http, &a, param);
    /* among raw routes, only the one for logs in the older form of tasks takes a large body */
    return raw && raw->first.place == REQ_WORK && raw->first.work == raw_task_logs
               ? routes[ROUTE_ID_POST_TASK_LOGS].body_max
               : ROUTE_BODY_MAX_DEFAULT;
}

static int find_route(struct req *r, struct error *err)
{
    struct req_run *run = r->run;
    const char *path = http_request_path(r->http);
    const char *method = http_method_name(http_request_method(r->http));
    run->match.is_rpc_path = strncmp(path, "/api/v1/", 8) == 0;
    if (run->match.is_rpc_path &&
        route_find(routes, ROUTES_N, method, path, strlen(path), &r->arena, &run->match.rpc) == 0) {
        r->route = run->match.rpc.route;
        if (r->route->kind == ROUTE_PLANNED)
            return error_set(err, ERR_UNIMPLEMENTED,
                             "%s %s (%s) is planned; this version of the master does not serve it", r->route->method,
                             r->route->path, r->route->rpc);
        return 0;
    }
    run->match.raw = raw_route_find(r->http, &r->arena, run->match.raw_param);
    if (run->match.raw)
        return 0;
    if (run->match.is_rpc_path)
        return error_set(err, ERR_UNIMPLEMENTED, "Not Implemented");
    return error_set(err, ERR_NOT_FOUND, "api not found: %s %s", method, path);
}

/* Notes for which trial and experiment a task's session speaks. An allocation that has just ended speaks for none. */
static void know_task(struct req *r, const struct core *core)
{
    struct principal *who = &r->who;
    const struct allocation_row *a = who->kind == PRINCIPAL_TASK ? core_allocation(core, who->allocation_id) : NULL;
    struct core_trial_view trial;
    if (!a)
        return;
    snprintf(who->task_id, sizeof(who->task_id), "%s", a->task_id);
    who->trial_id = a->trial_id;
    if (a->trial_id && core_trial(core, a->trial_id, &trial))
        who->experiment_id = trial.row->experiment_id;
}

/* The handler compares the token with those of agents. Here a session that is known is refused, since it is no
 * agent's. */
static int authenticate_agent(struct req *r, const char *token, struct error *err)
{
    if (token && identities_authenticate(r->api->identities, token, r->now_us, &r->who, NULL) == 0)
        return access_check_credential(r, err);
    return 0;
}

static bool is_collector(const struct req *r, const struct access_row *access, const char *token)
{
    const struct api_services *s = &r->api->services;
    return access->collector.word != ACCESS_NO && token && s->collector_token_matches(s->ctx, token);
}

/* Whether the request is for a task, whose visitors are judged by src/api/proxy. */
static bool is_for_task(const struct req *r)
{
    const struct raw_route *raw = r->route ? NULL : r->run->match.raw;
    return raw && raw->first.place == REQ_LOOP && raw->first.loop == raw_proxy;
}

/* Pages of other sites may not even log in: that would log this browser in as somebody else. */
static int check_origin(struct req *r, bool open, struct error *err)
{
    if (is_for_task(r))
        return 0;
    bool by_cookie = !open && !header_token(r->http) && http_request_cookie(r->http, "auth");
    return open || by_cookie ? origin_check(r->api->proxies, r->http, by_cookie, err) : 0;
}

static int authenticate_request(struct req *r, const struct core *core, struct error *err)
{
    const struct access_row *access = r->route ? &route_access[r->route - routes] : &r->run->match.raw->access;
    bool is_planned = r->route && r->route->kind == ROUTE_PLANNED;
    bool open = is_planned ? r->route->unauth : access->none.word == ACCESS_OPEN;
    if (check_origin(r, open, err) < 0)
        return -1;
    if (open)
        return 0;
    const char *token = request_token(r->http);
    if (access->agent.word != ACCESS_NO)
        return authenticate_agent(r, token, err);
    if (is_collector(r, access, token))
        return 0;
    if (identities_authenticate(r->api->identities, token, r->now_us, &r->who, err) < 0)
        return -1;
    know_task(r, core);
    access_take_permissions(r);
    return is_planned ? 0 : access_check_credential(r, err);
}

static void on_client_gone(struct http_request *http, void *ctx)
{
    struct req *r = ctx;
    r->http = NULL;
    if (!r->run->waiting || !r->run->on_gone)
        return; /* somebody has taken the request over and will end it */
    r->run->waiting = false;
    r->run->on_gone(r);
    req_drop(r);
}

static int accept_request(struct req *r, struct core *core, struct error *err)
{
    int found = find_route(r, err);
    if (found < 0 && !r->route && !r->run->match.is_rpc_path) {
        /* Without a session, an unknown path outside of the API gets 401, not 404, so that strangers do not
         * learn which paths exist. */
        cleanup_error struct error unauth = ERROR_INIT;
        if (identities_authenticate(r->api->identities, request_token(r->http), r->now_us, &r->who, &unauth) < 0) {
            error_release(err);
            error_move(err, &unauth);
        }
        return -1;
    }
    if ((r->route || r->run->match.raw) && authenticate_request(r, core, err) < 0)
        return -1;
    if (found < 0)
        return -1;
    r->run->query = arena_strdup(&r->arena, http_request_query(r->http));
    if (r->route && http_request_method(r->http) == HTTP_GET)
        r->run->known_tag = arena_strdup(&r->arena, http_request_header(r->http, "If-None-Match"));
    r->run->body = http_request_take_body(r->http, &r->run->body_n);
    /* base64 shrinks to three quarters when it is decoded */
    r->arena.decoded_max = r->arena.total + DECODED_MAX + r->run->body_n / 4 * 3;
    if (!r->route)
        return dispatch_request(r, core, err);
    if (r->run->body_n > DECODE_ON_LOOP_MAX)
        return req_then_work(r, decode_step);
    if (decode_request(r, err) < 0)
        return -1;
    return dispatch_request(r, core, err);
}

static void add_security_headers(struct http_request *http)
{
    http_add_header(http, "X-XSS-Protection", "1; mode=block");
    http_add_header(http, "X-Content-Type-Options", "nosniff");
    http_add_header(http, "X-Frame-Options", "SAMEORIGIN");
}

void api_on_request(struct http_request *http, void *ctx)
{
    struct req *r = must_calloc(1, sizeof(*r));
    struct req_run *run = must_calloc(1, sizeof(*run));
    r->run = run;
    r->api = ctx;
    r->http = http;
    r->now_us = clock_now_us();
    http_request_set_ctx(http, r, on_client_gone);
    add_security_headers(http);
    cleanup_error struct error err = ERROR_INIT;
    run->rc = accept_request(r, r->api->live->core, &err);
    if (run->rc < 0)
        req_fail(r, &err);
    else
        req_run_step(r);
}
