#include "agent/task.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/supervisor.h"
#include "agent/taskfiles.h"
#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/codec.h"
#include "common/files.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/taskspec.h"
#include "net/http_client.h"

#define SPEC_MAX (16 * 1024 * 1024)
#define ATTACH_TRIES 5
#define ATTACH_WAIT_US 500000
#define RENDEZVOUS_WAIT_US 2000000

static const struct sm_state task_states[TASK_STATE_NR] = {
    [TASK_PREPARING] = {"PREPARING", SM_TO(TASK_RENDEZVOUS) | SM_TO(TASK_STARTING) | SM_TO(TASK_ENDED), SM_INITIAL},
    [TASK_RENDEZVOUS] = {"RENDEZVOUS", SM_TO(TASK_STARTING) | SM_TO(TASK_ENDED), 0},
    [TASK_STARTING] = {"STARTING", SM_TO(TASK_STATE_RUNNING) | SM_TO(TASK_ENDED), 0},
    [TASK_STATE_RUNNING] = {"RUNNING", SM_TO(TASK_ENDED), 0},
    [TASK_ENDED] = {"ENDED", SM_TO(TASK_REMOVING), 0},
    [TASK_REMOVING] = {"REMOVING", 0, SM_FINAL},
};
const struct sm_type task_sm_type = {.name = "task", .state = task_states, .state_n = TASK_STATE_NR};

struct task {
    struct agent *agent;
    struct sm sm;
    struct runtime_task *rt; /* with the worker threads while `busy` */
    const char *container_id, *allocation_id, *task_id; /* in rt's arena */
    bool busy;
    enum wire_container_state reported;
    bool kill_wanted, discard;
    int pending_signal;

    struct supervisor *supervisor; /* connected only while the link is up */
    uint64_t acked;                /* newest line that the master has stored */
    int attach_failures;
    struct loop_timer *timer; /* the next attempt to attach, or to ask for the rendezvous */
    struct http_fetch_handle *fetch;

    bool has_supervisor; /* there is, or was, one: the exit comes from it, and goes back to it when acknowledged */
    struct task_exit exit;
    char *exit_text;
    UT_hash_handle hh;
};

/* ---- the table --------------------------------------------------------------------------------------------------- */

struct task *task_find(struct agent *a, const char *container_id)
{
    struct task *t;
    HASH_FIND_STR(a->tasks, container_id, t);
    return t;
}

size_t task_count(const struct agent *a)
{
    return HASH_COUNT(a->tasks);
}

struct task *task_next(struct task *t)
{
    return t->hh.next;
}

const char *task_container_id(const struct task *t)
{
    return t->container_id;
}

static void runtime_task_free(struct runtime_task *rt)
{
    struct arena a = rt->arena; /* which holds rt itself */
    arena_release(&a);
}

static struct runtime_task *runtime_task_new(struct agent *a, const char *container_id)
{
    struct arena arena = ARENA_INIT;
    struct runtime_task *rt = arena_new(&arena, struct runtime_task);
    rt->arena = arena;
    rt->config = a->config;
    rt->slots = &a->slots;
    rt->runtime = a->runtime;
    rt->container_id = arena_strdup(&rt->arena, container_id);
    rt->master_id = arena_strdup(&rt->arena, link_master_id(a->link));
    rt->cluster_id = arena_strdup(&rt->arena, link_cluster_id(a->link));
    taskdir_init(&rt->dir, a->config->run_root, container_id, &rt->arena);
    return rt;
}

static void on_timer(void *ctx);

static struct task *task_new(struct agent *a, struct runtime_task *rt)
{
    struct task *t = calloc(1, sizeof(*t));
    if (!t)
        abort();
    t->agent = a;
    t->rt = rt;
    t->container_id = rt->container_id;
    t->allocation_id = t->task_id = "";
    t->timer = loop_timer_new(a->loop, on_timer, t);
    sm_init(&t->sm, &task_sm_type, 0);
    HASH_ADD_KEYPTR(hh, a->tasks, t->container_id, strlen(t->container_id), t);
    if (!HASH_ADDED(t))
        abort();
    return t;
}

void task_forget(struct task *t)
{
    HASH_DEL(t->agent->tasks, t);
    supervisor_free(t->supervisor);
    if (t->fetch)
        http_fetch_cancel(t->fetch);
    loop_timer_free(t->timer);
    runtime_task_free(t->rt);
    free(t->exit_text);
    free(t);
}

static void move_to(struct task *t, enum task_state to)
{
    cleanup_error struct error err = ERROR_INIT;
    const char *from = sm_name(&t->sm);
    if (sm_move(&t->sm, to, &err) < 0)
        log_error("task.move", "container=%s error=%s", t->container_id, log_quote(error_msg(&err)));
    else
        log_info("task.state", "container=%s allocation=%s from=%s to=%s", t->container_id, t->allocation_id, from,
                 sm_name(&t->sm));
}

/* ---- what the master is told ------------------------------------------------------------------------------------- */

void task_describe(const struct task *t, struct wire_link_task_state *ret)
{
    *ret = (struct wire_link_task_state){
        .container_id = t->container_id, .allocation_id = t->allocation_id, .state = t->reported, .address = "",
        .time = clock_now_us(), .has_time = true};
}

static void send_state(struct task *t, enum wire_container_state state)
{
    struct wire_link_task_state s;
    if (t->discard)
        return;
    t->reported = state;
    task_describe(t, &s);
    link_send(t->agent->link, &(struct wire_link_agent_message){.state = &s});
}

/* Said again after each hello, until acknowledged; `reported` stays, since the end follows the last line only. */
static void send_end(struct task *t)
{
    struct wire_link_task_state s;
    struct wire_link_task_exit e = {.kind = (enum wire_link_exit_kind)t->exit.kind,
                                    .code = t->exit.code,
                                    .signal = t->exit.signal,
                                    .text = t->exit_text};
    task_describe(t, &s);
    s.state = WIRE_CONTAINER_STATE_TERMINATED;
    s.exit = &e;
    if (t->exit.time_us)
        s.time = t->exit.time_us;
    link_send(t->agent->link, &(struct wire_link_agent_message){.state = &s});
}

void task_report_gone(struct agent *a, const char *container_id, const char *text)
{
    struct wire_link_task_exit e = {.kind = WIRE_LINK_EXIT_KIND_LOST, .text = text};
    struct wire_link_task_state s = {.container_id = container_id, .allocation_id = "", .state = WIRE_CONTAINER_STATE_TERMINATED,
                                     .address = "", .time = clock_now_us(), .has_time = true, .exit = &e};
    link_send(a->link, &(struct wire_link_agent_message){.state = &s});
}

/* ---- work on other threads --------------------------------------------------------------------------------------- */

struct job {
    struct agent *agent;
    struct runtime_task *rt;
    int (*work)(struct runtime_task *rt, struct error *err);
    void (*done)(struct task *t, const struct error *err); /* err NULL: it went well */
    struct error err;
    int result;
};

static void job_work(void *worker, void *ctx)
{
    struct job *j = ctx;
    j->result = j->work(j->rt, &j->err);
}

static void job_done(void *ctx)
{
    struct job *j = ctx;
    struct task *t = task_find(j->agent, j->rt->container_id);
    t->busy = false;
    /* An agent that stops takes no further step; the next one finds what this one has left. */
    if (!t->agent->stopping)
        j->done(t, j->result < 0 ? &j->err : NULL);
    error_release(&j->err);
    free(j);
}

static void submit(struct task *t, int (*work)(struct runtime_task *, struct error *),
                   void (*done)(struct task *, const struct error *))
{
    struct job *j = calloc(1, sizeof(*j));
    cleanup_error struct error err = ERROR_INIT;
    if (!j)
        abort();
    *j = (struct job){.agent = t->agent, .rt = t->rt, .work = work, .done = done};
    t->busy = true;
    if (pool_submit(t->agent->pool, job_work, job_done, j, &err) < 0) {
        free(j);
        t->busy = false;
        done(t, &err);
    }
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void removed(struct task *t, const struct error *err)
{
    if (err)
        log_warning("task.not_removed", "container=%s error=%s", t->container_id, log_quote(error_msg(err)));
    task_forget(t);
}

static void remove_task(struct task *t)
{
    if (t->supervisor) {
        supervisor_ack_exit(t->supervisor);
        supervisor_free(t->supervisor);
        t->supervisor = NULL;
    }
    move_to(t, TASK_REMOVING);
    submit(t, t->agent->runtime->cleanup, removed);
}

static void set_exit(struct task *t, const struct task_exit *e)
{
    char *text = strdup(e->text ? e->text : "");
    free(t->exit_text);
    t->exit = *e;
    t->exit_text = text;
    t->exit.text = NULL;
    if (t->sm.state != TASK_ENDED) {
        log_info("task.exit", "container=%s allocation=%s kind=%s code=%d text=%s", t->container_id, t->allocation_id,
                 codec_enum_name(&wire_enum_link_exit_kind, (int32_t)e->kind), e->code, log_quote(t->exit_text));
        move_to(t, TASK_ENDED);
    }
    if (t->discard)
        remove_task(t);
    else
        send_end(t);
}

/* An end that no supervisor knows of. */
static void end_here(struct task *t, enum task_exit_kind kind, int code, int signo, const char *text)
{
    t->has_supervisor = false;
    set_exit(t,
             &(struct task_exit){.kind = kind, .code = code, .signal = signo, .time_us = clock_now_us(), .text = text});
}

static void end_killed(struct task *t)
{
    end_here(t, TASK_EXIT_SIGNALED, 128 + SIGKILL, SIGKILL, "killed before it was started");
}

void task_end_acked(struct task *t)
{
    if (t->sm.state == TASK_ENDED)
        remove_task(t);
}

/* ---- the supervisor ---------------------------------------------------------------------------------------------- */

static void attach(struct task *t);

static void on_logs(void *ctx, uint64_t first, uint32_t count, const void *lines, size_t n)
{
    struct task *t = ctx;
    if (t->discard) {
        supervisor_ack_logs(t->supervisor, first + count - 1);
        return;
    }
    cleanup_arena struct arena a = ARENA_INIT;
    struct wire_link_log_line *list = arena_array(&a, struct wire_link_log_line, count + 1);
    struct cursor c = cursor_of(lines, n);
    struct task_line l;
    for (uint32_t i = 0; i < count && task_line_decode(&c, &l) == 0; i++)
        list[i] = (struct wire_link_log_line){
            .timestamp = l.time_us, .has_timestamp = true, .stdtype = l.stdtype == TASK_STDERR ? "stderr" : "stdout", .source = "task",
            .level = (enum wire_log_level)l.level, .rank_id = l.rank, .has_rank_id = l.has_rank, .log = l.text};
    struct wire_link_task_logs logs = {.container_id = t->container_id, .allocation_id = t->allocation_id, .task_id = t->task_id,
                                       .first_seq = (int64_t)first, .lines = list, .lines_n = count};
    link_send(t->agent->link, &(struct wire_link_agent_message){.logs = &logs});
}

static void on_exit_frame(void *ctx, const struct task_exit *e)
{
    set_exit(ctx, e);
}

static void on_supervisor_close(void *ctx, const char *why)
{
    struct task *t = ctx;
    t->supervisor = NULL;
    log_warning("task.supervisor_lost", "container=%s reason=%s", t->container_id, log_quote(why));
    if (link_is_up(t->agent->link))
        loop_timer_arm(t->timer, ATTACH_WAIT_US);
}

static void adopted(struct task *t, const struct error *err)
{
    if (err && ++t->attach_failures >= ATTACH_TRIES)
        end_here(t, TASK_EXIT_LOST, 0, 0, error_msg(err));
    else if (err)
        loop_timer_arm(t->timer, ATTACH_WAIT_US);
    else if (link_is_up(t->agent->link))
        attach(t);
}

static void attach(struct task *t)
{
    struct supervisor_handler h = {.on_logs = on_logs,
                                   .on_exit = on_exit_frame,
                                   .on_close = on_supervisor_close,
                                   .ctx = t};
    if (t->supervisor || t->busy)
        return;
    if (supervisor_connect(t->agent->loop, t->rt->dir.supervisor, t->acked, &h, &t->supervisor, NULL) < 0) {
        t->supervisor = NULL;
        submit(t, t->agent->runtime->adopt, adopted);
        return;
    }
    t->attach_failures = 0;
    if (t->kill_wanted)
        supervisor_signal(t->supervisor, SIGKILL);
    else if (t->pending_signal)
        supervisor_signal(t->supervisor, t->pending_signal);
    t->pending_signal = 0;
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static const char *master_url(const struct task *t, const char *path)
{
    return arena_printf(&t->rt->arena, "%s/api/v1/allocations/%s/%s",
                        agent_config_master_url(t->agent->config, &t->rt->arena), t->allocation_id, path);
}

static struct http_fetch_handle *fetch(struct task *t, const char *method, const char *path, const struct strbuf *body,
                                       http_fetch_done_fn *done, void *ctx)
{
    const struct agent_config *c = t->agent->config;
    const char *token = taskenv_get(&t->rt->env, "DET_SESSION_TOKEN");
    const char *header[] = {arena_printf(&t->rt->arena, "Authorization: Bearer %s", token ? token : ""), "Content-Type: application/json", NULL};
    struct http_fetch f = {
        .method = method, .url = master_url(t, path), .header = header, .body = body ? body->s : NULL, .body_n = body ? body->n : 0,
        .ca_file = *c->tls_cert ? c->tls_cert : NULL, .tls_name = *c->tls_cert_name ? c->tls_cert_name : NULL,
        .tls_skip_verify = c->tls_skip_verify};
    return http_fetch_start(t->agent->loop, &f, done, ctx);
}

static void accelerators_told(void *ctx, struct http_fetch_reply *reply, const struct error *err)
{
    if (!reply || reply->status >= 400)
        log_debug("task.accelerators_not_told", "status=%d", reply ? reply->status : 0);
}

/* For the record only (which devices ran what), so nothing waits for it and nothing depends on it. */
static void tell_accelerators(struct task *t)
{
    struct runtime_task *rt = t->rt;
    size_t n = rt->start->device_ids_n;
    const char **uuid = arena_array(&rt->arena, const char *, n + 1);
    const struct wire_link_device *d = NULL;
    bool gpus = rt->slots->maker;
    for (size_t i = 0; i < n && gpus; i++) {
        d = slots_device(rt->slots, rt->start->device_ids[i]);
        uuid[i] = d ? d->uuid : "";
    }
    struct wire_accelerator_data data = {.container_id = t->container_id,
                                         .allocation_id = t->allocation_id,
                                         .task_id = t->task_id,
                                         .node_name = t->agent->config->hostname,
                                         .accelerator_type = d ? d->brand : "cpu",
                                         .accelerator_uuids = uuid,
                                         .accelerator_uuids_n = gpus ? n : 0,
                                         .resource_pool = t->agent->config->resource_pool};
    struct wire_post_allocation_accelerator_data_request q = {.allocation_id = t->allocation_id,
                                                              .accelerator_data = &data};
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    codec_encode(&wire_msg_post_allocation_accelerator_data_request, &q, &body);
    fetch(t, "POST", "acceleratorData", &body, accelerators_told, NULL);
}

static void started(struct task *t, const struct error *err)
{
    if (err) {
        end_here(t, TASK_EXIT_START_FAILED, 0, 0, error_msg(err));
        return;
    }
    t->has_supervisor = true;
    move_to(t, TASK_STATE_RUNNING);
    if (t->reported != WIRE_CONTAINER_STATE_RUNNING)
        send_state(t, WIRE_CONTAINER_STATE_RUNNING);
    if (link_is_up(t->agent->link))
        attach(t);
    if (t->rt->start->task_type == WIRE_TASK_TYPE_TRIAL && !t->discard)
        tell_accelerators(t);
}

static void start(struct task *t)
{
    move_to(t, TASK_STARTING);
    submit(t, t->agent->runtime->start, started);
}

static void ask_rendezvous(struct task *t);

static void on_rendezvous(void *ctx, struct http_fetch_reply *reply, const struct error *err)
{
    struct task *t = ctx;
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error e = ERROR_INIT;
    struct wire_allocation_rendezvous_info_response r = {0};
    t->fetch = NULL;
    if (!reply || reply->status >= 500) {
        loop_timer_arm(t->timer, RENDEZVOUS_WAIT_US); /* the master restarts, or will be back */
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
        end_here(t, TASK_EXIT_START_FAILED, 0, 0, error_msg(&e));
    } else {
        start(t);
    }
}

static void ask_rendezvous(struct task *t)
{
    const char *path = arena_printf(&t->rt->arena, "resources/%s/rendezvous", t->container_id);
    t->fetch = fetch(t, "GET", path, NULL, on_rendezvous, t);
}

static void prepared(struct task *t, const struct error *err)
{
    if (t->kill_wanted) {
        end_killed(t);
    } else if (err) {
        end_here(t, TASK_EXIT_START_FAILED, 0, 0, error_msg(err));
    } else if (t->rt->start->rendezvous) {
        move_to(t, TASK_RENDEZVOUS);
        send_state(t, WIRE_CONTAINER_STATE_RUNNING);
        ask_rendezvous(t);
    } else {
        start(t);
    }
}

static void on_timer(void *ctx)
{
    struct task *t = ctx;
    if (t->sm.state == TASK_RENDEZVOUS)
        ask_rendezvous(t);
    else if (link_is_up(t->agent->link))
        attach(t);
}

/* A copy of the message that lives as long as the task. */
static const struct wire_link_start_task *copy_start(const struct wire_link_start_task *start, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct wire_link_start_task *copy = arena_new(a, struct wire_link_start_task);
    codec_encode(&wire_msg_link_start_task, start, &text);
    return codec_decode(&wire_msg_link_start_task, text.s, text.n, a, copy, NULL) < 0 ? NULL : copy;
}

/* It becomes a directory's name. */
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
        send_state(t, t->reported); /* the order came twice */
        return;
    }
    struct runtime_task *rt = runtime_task_new(a, message->container_id);
    rt->start = copy_start(message, &rt->arena);
    t = task_new(a, rt);
    t->allocation_id = rt->start->allocation_id;
    t->task_id = rt->start->task_id;
    log_info("task.order", "container=%s allocation=%s slots=%zu", t->container_id, t->allocation_id,
             rt->start->device_ids_n);
    send_state(t, WIRE_CONTAINER_STATE_STARTING);
    submit(t, a->runtime->prepare, prepared);
}

/* ---- the agent's restart, and the link's coming and going -------------------------------------------------------- */

static const char *env_value(char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return "";
}

void task_adopt(struct agent *a, const char *container_id)
{
    struct runtime_task *rt = runtime_task_new(a, container_id);
    struct task *t = task_new(a, rt);
    cleanup_free char *path = path_join(rt->dir.supervisor, "spec");
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct taskspec spec;
    if (file_read(path, SPEC_MAX, &text, NULL) == 0 && taskspec_decode(text.s, text.n, &rt->arena, &spec, NULL) == 0) {
        t->allocation_id = env_value(spec.env, "DET_ALLOCATION_ID");
        t->task_id = env_value(spec.env, "DET_TASK_ID");
    }
    t->has_supervisor = true;
    t->reported = WIRE_CONTAINER_STATE_RUNNING;
    sm_restore(&t->sm, &task_sm_type, 0, TASK_STATE_RUNNING);
    log_info("task.found", "container=%s allocation=%s", container_id, t->allocation_id);
}

void task_resume(struct task *t, uint64_t seq)
{
    t->acked = seq;
    if (t->sm.state == TASK_ENDED && !t->has_supervisor)
        send_end(t);
    else if (t->sm.state == TASK_STATE_RUNNING || t->sm.state == TASK_ENDED)
        attach(t);
}

void task_discard(struct task *t)
{
    if (t->sm.state == TASK_REMOVING)
        return;
    log_warning("task.unexpected", "container=%s allocation=%s action=kill", t->container_id, t->allocation_id);
    t->discard = true;
    if (t->sm.state == TASK_ENDED && !t->has_supervisor)
        remove_task(t);
    else
        task_signal(t, SIGKILL);
    if (t->sm.state == TASK_STATE_RUNNING || t->sm.state == TASK_ENDED)
        attach(t);
}

void task_pause(struct task *t)
{
    supervisor_free(t->supervisor);
    t->supervisor = NULL;
    if (t->sm.state != TASK_RENDEZVOUS)
        loop_timer_disarm(t->timer);
}

void task_signal(struct task *t, int signo)
{
    if (signo == SIGKILL)
        t->kill_wanted = true;
    if (t->supervisor) {
        supervisor_signal(t->supervisor, signo);
    } else if (t->sm.state == TASK_RENDEZVOUS && signo == SIGKILL) {
        if (t->fetch)
            http_fetch_cancel(t->fetch);
        t->fetch = NULL;
        loop_timer_disarm(t->timer);
        end_killed(t);
    } else if (signo != SIGKILL) {
        t->pending_signal = signo;
    }
}

void task_logs_acked(struct task *t, uint64_t seq)
{
    if (seq > t->acked)
        t->acked = seq;
    if (t->supervisor)
        supervisor_ack_logs(t->supervisor, seq);
}
