/* GET /proxy/TASK:PORT/: a WebSocket that carries TCP to a port of a running trial (det experiment create
 * --publish). The port must be one of environment.proxy_ports with proxy_tcp in the trial's configuration. Whoever
 * reaches such a port acts as the trial does, so only the trial's owner and admins may. If a trial has several
 * containers, the port is the first one's. */
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "common/json/json.h"
#include "common/system/log.h"
#include "core/core.h"
#include "gen/experiment_config.h"
#include "net/http/http.h"
#include "net/streams/stream_join.h"
#include "net/streams/ws_stream.h"
#include "store/cluster/tasks.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"

struct proxy {
    const char *service, *task_id, *container_id;
    int port;
    int32_t trial_id;
    struct byte_stream *stream; /* to the port, while it is being opened */
};

static int unknown_service(const struct proxy *p, const char *why, struct error *err)
{
    return error_set(err, ERR_NOT_FOUND, "service not found: %.200s: %s", p->service, why);
}

/* ---- finding the port: on a reader's thread ---------------------------------------------------------------------- */

static int parse_service(struct proxy *p, struct arena *a, struct error *err)
{
    const char *colon = strrchr(p->service, ':');
    char *end = NULL;
    long port = colon ? strtol(colon + 1, &end, 10) : 0;
    if (!colon || end == colon + 1 || *end || port < 1 || port > 65535)
        return unknown_service(p, "it must be TASK:PORT", err);
    p->task_id = arena_strndup(a, p->service, (size_t)(colon - p->service));
    p->port = (int)port;
    return 0;
}

static const struct exp_environment_proxy_ports *find_port(const struct exp_environment *e, int port)
{
    for (size_t i = 0; i < e->proxy_ports_n; i++)
        if (e->proxy_ports[i].proxy_port == port)
            return &e->proxy_ports[i];
    return NULL;
}

static int check_port(const struct proxy *p, const char *config_text, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    cleanup_arena struct arena a = ARENA_INIT;
    struct exp_values values;
    if (json_parse(config_text, strlen(config_text), &config, err) < 0)
        return -1;
    exp_values_read(config, &a, &values);
    const struct exp_environment_proxy_ports *one = find_port(&values.environment, p->port);
    if (!one)
        return unknown_service(p, "the port is not among environment.proxy_ports of its configuration", err);
    if (!one->proxy_tcp)
        return error_set(err, ERR_UNIMPLEMENTED,
                         "port %d of %.100s is forwarded as HTTP, which is planned, but not part of this "
                         "version; set proxy_tcp: true and use det experiment create --publish",
                         p->port, p->task_id);
    return 0;
}

static int dial_trial(struct req *r, struct core *core, struct error *err);

int raw_proxy(struct req *r, struct store *db, struct error *err)
{
    struct proxy *p = arena_new(&r->arena, struct proxy);
    struct store_task task;
    struct store_trial trial;
    struct store_experiment x;
    r->state = p;
    p->service = req_raw_param(r, 0);
    if (parse_service(p, &r->arena, err) < 0)
        return -1;
    if (store_task_get(db, p->task_id, &r->arena, &task, err) < 0)
        return err->kind == ERR_NOT_FOUND ? (error_release(err), unknown_service(p, "there is no such task", err)) : -1;
    if (!task.has_trial)
        return unknown_service(p, "it is no trial's task", err);
    if (store_trial_get(db, task.trial_id, /* full= */ false, &r->arena, &trial, err) < 0 ||
        store_experiment_get(db, trial.row.experiment_id, /* with_config= */ true, &r->arena, &x, err) < 0)
        return -1;
    if (access_may_change_of(r, ACCESS_TRIAL(trial.row.id), x.user_id, x.username, err) < 0 ||
        check_port(p, x.config, err) < 0)
        return -1;
    p->trial_id = trial.row.id;
    return req_then_loop(r, dial_trial);
}

/* ---- connecting: on the loop ------------------------------------------------------------------------------------- */

static int find_container(struct req *r, struct core *core, struct proxy *p, struct error *err)
{
    struct core_trial_view view;
    const struct container_row *chief = NULL;
    if (core_trial(core, p->trial_id, &view) && view.allocation_id && strcmp(view.row->task_id, p->task_id) == 0)
        chief = core_allocation_container(core, view.allocation_id, 0);
    if (!chief || chief->state != CONTAINER_RUNNING)
        return unknown_service(p, "the trial does not run at the moment", err);
    p->container_id = arena_strdup(&r->arena, chief->id);
    return 0;
}

/* Upgrades the request's connection to a WebSocket, and joins it with the stream to the port. From then on it belongs
 * to the two, and no reply is sent. */
static int upgrade_connection(struct req *r, struct error *err)
{
    static const struct byte_stream_handler none = {0};
    struct proxy *p = r->state;
    struct http_request *http = r->http;
    struct ws_handler h;
    struct ws *ws;
    struct byte_stream *client = ws_stream_new(r->api->streams, &none, &h);
    http_request_set_ctx(http, NULL, NULL);
    if (http_upgrade_ws(http, &h, &ws, err) < 0) {
        http_request_set_ctx(http, r, NULL);
        byte_stream_drop(client);
        byte_stream_drop(p->stream);
        return -1;
    }
    ws_stream_begin(client, ws);
    stream_join(r->api->streams, client, p->stream, /* over= */ NULL, NULL);
    r->http = NULL;
    log_info("proxy.open", "task=%s port=%d user=%s", p->task_id, p->port, r->who.username);
    return 0;
}

static void on_port_open(struct byte_stream *s, void *ctx)
{
    cleanup_error struct error err = ERROR_INIT;
    upgrade_connection(ctx, &err);
    req_finish(ctx, &err);
}

static void on_port_closed(struct byte_stream *s, const char *why, void *ctx)
{
    struct req *r = ctx;
    const struct proxy *p = r->state;
    cleanup_error struct error err = ERROR_INIT;
    error_set(&err, ERR_BAD_GATEWAY, "port %d of %s cannot be reached: %s", p->port, p->task_id,
              why ? why : "the task closed the connection");
    req_finish(r, &err);
}

static void on_gone(struct req *r)
{
    struct proxy *p = r->state;
    byte_stream_drop(p->stream);
}

static int dial_trial(struct req *r, struct core *core, struct error *err)
{
    struct proxy *p = r->state;
    const struct api_services *services = &r->api->services;
    const struct byte_stream_handler h = {.on_open = on_port_open, .on_close = on_port_closed, .ctx = r};
    if (!r->http)
        return error_set(err, ERR_CANCELED, "the client has left");
    if (find_container(r, core, p, err) < 0 ||
        services->open_task_stream(services->ctx, p->container_id, p->port, &h, &p->stream, err) < 0)
        return -1;
    return req_wait(r, on_gone);
}
