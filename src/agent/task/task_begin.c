#include "agent/task/task_internal.h"

#include <stdlib.h>
#include <string.h>

#include "agent/task/ready_watch.h"
#include "agent/task/taskfiles.h"
#include "common/base/cleanup.h"
#include "common/codec/codec.h"
#include "common/system/log.h"

#define RENDEZVOUS_WAIT_US 2000000

static const char *master_url(const struct task *t, const char *path)
{
    return arena_printf(&t->rt->arena, "%s/api/v1/allocations/%s/%s",
                        agent_config_master_url(t->agent->config, &t->rt->arena), t->allocation_id, path);
}

struct http_fetch_handle *task_fetch(struct task *t, const char *method, const char *path, const struct strbuf *body,
                                     http_fetch_done_fn *done, void *ctx)
{
    const struct agent_config *c = t->agent->config;
    const char *token = taskenv_get(&t->rt->env, "DET_SESSION_TOKEN");
    const char *header[] = {arena_printf(&t->rt->arena, "Authorization: Bearer %s", token ? token : ""),
                            "Content-Type: application/json", NULL};
    struct http_fetch f = {.method = method,
                           .url = master_url(t, path),
                           .header = header,
                           .body = body ? body->s : NULL,
                           .body_n = body ? body->n : 0,
                           .ca_file = *c->tls_cert ? c->tls_cert : NULL,
                           .tls_name = *c->tls_cert_name ? c->tls_cert_name : NULL,
                           .tls_skip_verify = c->tls_skip_verify};
    return http_fetch_start(t->agent->loop, &f, done, ctx);
}

/* Ends a task that could not be started. The master treats two cases differently: what was submitted is wrong
 * (REFUSED), or this machine cannot start the task now (START_FAILED). */
void task_end_unstarted(struct task *t, const struct error *err)
{
    bool by_task = err->kind == ERR_INVALID || err->kind == ERR_TOO_LARGE || err->kind == ERR_FORBIDDEN;
    task_end_here(t, by_task ? TASK_EXIT_REFUSED : TASK_EXIT_START_FAILED, by_task ? 126 : 0, 0, error_msg(err));
}

static void on_started(struct task *t, const struct error *err)
{
    task_release_python(t);      /* the supervisor holds it now */
    loop_timer_disarm(t->timer); /* a kill that waited for the supervisor (task_kill_starting()) */
    if (err) {
        task_end_unstarted(t, err);
        return;
    }
    bool executed = t->rt->executed;
    t->has_supervisor = true;
    task_move_to(t, TASK_STATE_RUNNING);
    /* A task that could not be executed never ran: its supervisor is asked for the reason only. */
    if (executed)
        task_send_state(t, WIRE_CONTAINER_STATE_RUNNING);
    if (executed) {
        task_watch_profile(t);
        task_watch_use(t);
    }
    if (executed && t->rt->start->task_type == WIRE_TASK_TYPE_TRIAL && !t->discard)
        task_tell_record(t);
    if (link_is_up(t->agent->link))
        task_attach(t);
}

/* The first half of the start is done. The second one, if the runtime has one, asks an engine. */
static void on_files_started(struct task *t, const struct error *err)
{
    if (err || !t->rt->runtime->ask_start)
        on_started(t, err);
    else if (t->kill_wanted)
        task_end_killed(t);
    else
        task_start_container(t, on_started);
}

static void start_supervisor(struct task *t)
{
    task_move_to(t, TASK_STARTING);
    task_submit(t, t->agent->pool, t->rt->runtime->start, on_files_started);
}

static void on_rendezvous(void *ctx, struct http_fetch_reply *reply, const struct error *err)
{
    struct task *t = ctx;
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error e = ERROR_INIT;
    struct wire_allocation_rendezvous_info_response r = {0};
    t->fetch = NULL;
    if (!reply || reply->status >= 500) {
        /* the master is restarting, or cannot be reached; ask again later */
        loop_timer_arm(t->timer, RENDEZVOUS_WAIT_US);
        return;
    }
    int failed = reply->status != 200 ? error_set(&e, ERR_UNAVAILABLE, "the master answered %d: %.200s", reply->status,
                                                  strbuf_str(&reply->body))
                                      : codec_decode(&wire_msg_allocation_rendezvous_info_response, reply->body.s,
                                                     reply->body.n, &a, &r, &e);
    if (!failed && !r.rendezvous_info)
        failed = error_set(&e, ERR_INVALID, "the master's answer holds no rendezvousInfo");
    if (!failed)
        failed = taskfiles_write_rendezvous(&t->rt->dir, t->rt->start, r.rendezvous_info, &e);
    if (failed) {
        error_wrap(&e, "rendezvous");
        task_end_here(t, TASK_EXIT_START_FAILED, 0, 0, error_msg(&e));
    } else {
        start_supervisor(t);
    }
}

void task_ask_rendezvous(struct task *t)
{
    const char *path = arena_printf(&t->rt->arena, "resources/%s/rendezvous", t->container_id);
    t->fetch = task_fetch(t, "GET", path, NULL, on_rendezvous, t);
}

static void on_prepared(struct task *t, const struct error *err)
{
    if (t->kill_wanted) {
        task_end_killed(t);
    } else if (err) {
        task_end_unstarted(t, err);
    } else if (t->rt->start->rendezvous) {
        task_move_to(t, TASK_RENDEZVOUS);
        task_send_state(t, WIRE_CONTAINER_STATE_STARTING);
        task_ask_rendezvous(t);
    } else {
        task_send_state(t, WIRE_CONTAINER_STATE_STARTING);
        start_supervisor(t);
    }
}

static int prepare(struct runtime_task *rt, struct error *err)
{
    return rt->runtime->prepare(rt, err) < 0 ? -1 : task_order_keep(rt, err);
}

void task_prepare(struct task *t)
{
    task_close_log(t); /* from here on the spool is the supervisor's */
    task_submit(t, t->agent->pool, prepare, on_prepared);
}

void task_begin(struct task *t)
{
    if (t->rt->runtime == &runtime_process && task_wants_python(t))
        task_find_python(t, /* again= */ false);
    else
        task_prepare(t);
}

/* A copy of the order that lives as long as the task. */
static const struct wire_link_start_task *copy_start(const struct wire_link_start_task *start, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct wire_link_start_task *copy = arena_new(a, struct wire_link_start_task);
    codec_encode(&wire_msg_link_start_task, start, &text);
    return codec_decode(&wire_msg_link_start_task, text.s, text.n, a, copy, NULL) < 0 ? NULL : copy;
}

/* Whether the id can be the name of a directory. */
static bool is_container_id(const char *id)
{
    return id && *id && strlen(id) <= 64 &&
           strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == strlen(id);
}

void task_start(struct agent *a, const struct wire_link_start_task *message)
{
    if (!is_container_id(message->container_id)) {
        log_error("task.bad_order", "container=%s", log_quote(message->container_id ? message->container_id : ""));
        return;
    }
    struct task *t = task_find(a, message->container_id);
    if (t) {
        task_send_state(t, t->reported); /* the order came twice: report the state again */
        return;
    }
    struct runtime_task *rt = runtime_task_new(a, message->container_id);
    rt->start = rt->kept = copy_start(message, &rt->arena);
    t = task_new(a, rt);
    t->allocation_id = rt->start->allocation_id;
    t->task_id = rt->start->task_id;
    t->ready_watch = ready_watch_new(rt->start->ready_pattern, rt->start->waiting_pattern);
    log_info("task.order", "container=%s allocation=%s slots=%zu", t->container_id, t->allocation_id,
             rt->start->device_ids_n);
    task_send_state(t, WIRE_CONTAINER_STATE_PULLING);
    if (runtime_wants_container(a->config, rt->start))
        task_find_image(t);
    else
        task_begin(t);
}
