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
#include "net/http/tunnel.h"
#include "store/cluster/tasks.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"

enum { DIAL_TIMEOUT_S = 10, TUNNELS_MAX = 1024 };

struct proxy {
    const char *service, *task_id, *address;
    int port;
    int32_t trial_id;
    struct tunnel *tunnel; /* while the connection to the trial is being made */
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

static int find_address(struct req *r, struct core *core, struct proxy *p, struct error *err)
{
    struct core_trial_view view;
    const struct container_row *chief = NULL;
    if (core_trial(core, p->trial_id, &view) && view.allocation_id && strcmp(view.row->task_id, p->task_id) == 0)
        chief = core_allocation_container(core, view.allocation_id, 0);
    if (!chief || chief->state != CONTAINER_RUNNING || !chief->address[0])
        return unknown_service(p, "the trial does not run at the moment", err);
    p->address = arena_strdup(&r->arena, chief->address);
    return 0;
}

/* Upgrades the request's connection to a WebSocket. From then on it belongs to the tunnel, and no reply is sent. */
static int upgrade_connection(struct req *r, struct error *err)
{
    struct proxy *p = r->state;
    struct http_request *http = r->http;
    http_request_set_ctx(http, NULL, NULL);
    if (tunnel_upgrade(p->tunnel, http, err) < 0) {
        http_request_set_ctx(http, r, NULL);
        return -1;
    }
    r->http = NULL;
    log_info("proxy.open", "task=%s port=%d user=%s", p->task_id, p->port, r->who.username);
    return 0;
}

static void trial_dialled(void *ctx, const char *why)
{
    struct req *r = ctx;
    struct proxy *p = r->state;
    cleanup_error struct error err = ERROR_INIT;
    if (why)
        error_set(&err, ERR_BAD_GATEWAY, "no program answers at port %d of %s (%s): %s", p->port, p->task_id,
                  p->address, why);
    else
        upgrade_connection(r, &err);
    req_finish(r, &err);
}

static void on_gone(struct req *r)
{
    struct proxy *p = r->state;
    tunnel_drop(p->tunnel);
}

static int dial_trial(struct req *r, struct core *core, struct error *err)
{
    struct proxy *p = r->state;
    if (tunnels_count(r->api->tunnels) >= TUNNELS_MAX)
        return error_set(err, ERR_UNAVAILABLE,
                         "the master has %d connections to tasks open, which is the most it allows; close some",
                         TUNNELS_MAX);
    if (!r->http)
        return error_set(err, ERR_CANCELED, "the client has left");
    if (find_address(r, core, p, err) < 0 ||
        tunnel_dial(r->api->tunnels, p->address, p->port, DIAL_TIMEOUT_S, trial_dialled, r, &p->tunnel, err) < 0)
        return -1;
    return req_wait(r, on_gone);
}
