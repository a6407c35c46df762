#include "master/agent_hub.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "master/agent_inbox.h"
#include "master/agent_metrics.h"
#include "master/log_policies.h"
#include "master/master.h"
#include "store/task_logs.h"

enum {
    LINK_PROTOCOL = 1,
    MESSAGE_MAX = 128 * 1024 * 1024, /* bytes; contract: routes-extra, /agents */
    PING_S = 15,
    DEAD_S = 60,
    LINES_PER_BATCH_MAX = 100000,
};

struct held {
    STAILQ_ENTRY(held) next;
    struct strbuf text;
};

/* One agent's connection. It is known by its id once it said hello; until then it can only do that. Its welcome is put
 * together from the store: what is said to it meanwhile is held, for an agent takes no order before its welcome. */
struct link {
    struct agent_hub *hub;
    struct ws *ws;
    struct agent_inbox *inbox;
    uint64_t serial; /* completions that were on their way find out that the connection is another one now */
    char agent_id[CORE_AGENT_ID_MAX];
    char peer[CORE_ADDRESS_MAX]; /* where its containers are reached, unless they say otherwise */
    bool greeted, welcomed;
    STAILQ_HEAD(, held) held;
    UT_hash_handle hh;
};

struct agent_hub {
    struct master *m;
    struct link *by_id;
    uint64_t last_serial;
    bool stopping; /* connections end with the master: no event for the core */
    TAILQ_HEAD(batch_list, log_batch) batches; /* on their way into the store */
};

struct agent_hub *agent_hub_new(struct master *m)
{
    struct agent_hub *h = calloc(1, sizeof(*h));
    if (h) {
        h->m = m;
        TAILQ_INIT(&h->batches);
    }
    return h;
}

void agent_hub_stop(struct agent_hub *h)
{
    struct link *l, *next;
    h->stopping = true;
    HASH_ITER(hh, h->by_id, l, next)
        ws_close(l->ws, 1001, "the master stops");
}

void agent_hub_free(struct agent_hub *h)
{
    free(h);
}

int agent_hub_count(const struct agent_hub *h)
{
    return HASH_COUNT(h->by_id);
}

static struct link *find_link(struct agent_hub *h, const char *agent_id)
{
    struct link *l;
    HASH_FIND_STR(h->by_id, agent_id, l);
    return l && l->ws ? l : NULL;
}

/* ---- to the agent ---- */

static void send_text(struct link *l, const struct strbuf *text)
{
    if (l->welcomed) {
        ws_send(l->ws, text->s, text->n, true);
        return;
    }
    struct held *held = calloc(1, sizeof(*held));
    if (!held)
        abort();
    strbuf_add(&held->text, text->s, text->n);
    STAILQ_INSERT_TAIL(&l->held, held, next);
}

static void drop_held(struct link *l)
{
    struct held *held;
    while ((held = STAILQ_FIRST(&l->held))) {
        STAILQ_REMOVE_HEAD(&l->held, next);
        strbuf_release(&held->text);
        free(held);
    }
}

static void link_send(struct link *l, const struct wire_link_master_message *message)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    codec_encode(&wire_msg_link_master_message, message, &text);
    send_text(l, &text);
}

/* The first word to an agent, welcome or refusal; what was held follows. */
static void link_answer_hello(struct link *l, const struct wire_link_master_message *message)
{
    l->welcomed = true;
    link_send(l, message);
    struct held *held;
    STAILQ_FOREACH(held, &l->held, next)
        ws_send(l->ws, held->text.s, held->text.n, true);
    drop_held(l);
}

static struct wire_link_master_message message_of(const struct agent_hub *h)
{
    return (struct wire_link_master_message){.epoch = h->m->info.epoch};
}

static void refuse(struct link *l, bool fatal, const char *reason)
{
    log_warning("agent.refused", "id=%s reason=%s", l->agent_id, log_quote(reason));
    struct wire_link_refused refused = {.reason = reason, .fatal = fatal};
    struct wire_link_master_message out = message_of(l->hub);
    out.refused = &refused;
    drop_held(l);
    link_answer_hello(l, &out);
    ws_close(l->ws, 1008, "refused");
}

void agent_hub_send(struct agent_hub *h, const char *agent_id, const struct strbuf *message)
{
    struct link *l = find_link(h, agent_id);
    if (l)
        send_text(l, message);
}

void agent_hub_signal(struct agent_hub *h, const char *agent_id, const char *container_id, int signal)
{
    struct link *l = find_link(h, agent_id);
    if (!l)
        return;
    struct wire_link_signal_task body = {.container_id = container_id, .signal = signal};
    struct wire_link_master_message out = message_of(h);
    out.signal = &body;
    link_send(l, &out);
}

static enum wire_container_state wire_of_state(enum container_state state)
{
    static const enum wire_container_state wire[CONTAINER_STATE_NR] = {
        [CONTAINER_ASSIGNED] = WIRE_CONTAINER_STATE_ASSIGNED, [CONTAINER_PULLING] = WIRE_CONTAINER_STATE_PULLING,
        [CONTAINER_STARTING] = WIRE_CONTAINER_STATE_STARTING, [CONTAINER_RUNNING] = WIRE_CONTAINER_STATE_RUNNING,
        [CONTAINER_TERMINATED] = WIRE_CONTAINER_STATE_TERMINATED};
    return wire[state];
}

void agent_hub_ack(struct agent_hub *h, const char *agent_id, const char *container_id, enum container_state state)
{
    struct link *l = find_link(h, agent_id);
    if (!l)
        return;
    struct wire_link_state_ack body = {.container_id = container_id, .state = wire_of_state(state)};
    struct wire_link_master_message out = message_of(h);
    out.state_ack = &body;
    link_send(l, &out);
}

/* The agent's welcome carries the last stored log line of each container, which only the store knows. */
struct welcome {
    struct agent_hub *hub;
    uint64_t serial;
    struct arena arena;
    const char *agent_id;
    struct wire_link_expected_task *expected;
    size_t n;
    struct error err;
};

static void welcome_read(void *worker, void *job)
{
    struct welcome *w = job;
    for (size_t i = 0; i < w->n; i++)
        if (store_task_log_mark(worker, w->expected[i].container_id, &w->expected[i].logs_seq, &w->err) < 0)
            return;
}

static void welcome_send(void *job)
{
    struct welcome *w = job;
    struct link *l = find_link(w->hub, w->agent_id);
    if (l && l->serial == w->serial && !w->err.kind) {
        const struct api_info *info = &w->hub->m->info;
        struct wire_link_master_hello hello = {
            .protocol = LINK_PROTOCOL, .master_id = info->master_id, .cluster_id = info->cluster_id,
            .cluster_name = info->cluster_name, .version = info->version, .expected = w->expected, .expected_n = w->n};
        struct wire_link_master_message out = message_of(w->hub);
        out.hello = &hello;
        link_answer_hello(l, &out);
    } else if (l && l->serial == w->serial) {
        log_error("agent.welcome_failed", "id=%s reason=%s", w->agent_id, log_quote(error_msg(&w->err)));
        ws_close(l->ws, 1011, "try again");
    }
    error_release(&w->err);
    arena_release(&w->arena);
    free(w);
}

void agent_hub_welcome(struct agent_hub *h, const char *agent_id, const char *const *container_id, size_t n)
{
    struct link *l = find_link(h, agent_id);
    struct welcome *w = l ? calloc(1, sizeof(*w)) : NULL;
    if (!w)
        return;
    *w = (struct welcome){.hub = h, .serial = l->serial, .n = n};
    w->agent_id = arena_strdup(&w->arena, agent_id);
    w->expected = arena_array(&w->arena, struct wire_link_expected_task, n + 1);
    for (size_t i = 0; i < n; i++)
        w->expected[i].container_id = arena_strdup(&w->arena, container_id[i]);
    if (pool_submit(h->m->readers, welcome_read, welcome_send, w, &w->err) < 0)
        welcome_send(w);
}

/* ---- from the agent: reports ---- */

static enum container_state state_of_wire(enum wire_container_state state)
{
    for (enum container_state s = 0; s < CONTAINER_STATE_NR; s++)
        if (wire_of_state(s) == state)
            return s;
    return CONTAINER_ASSIGNED;
}

static enum exit_kind exit_of_wire(const struct wire_link_task_exit *x)
{
    switch (x->kind) {
    case WIRE_LINK_EXIT_KIND_EXITED:
        return x->code == 0 ? EXIT_OK : EXIT_FAILED;
    case WIRE_LINK_EXIT_KIND_SIGNALED:
    case WIRE_LINK_EXIT_KIND_OUT_OF_MEMORY:
        return EXIT_FAILED;
    case WIRE_LINK_EXIT_KIND_START_FAILED:
        return EXIT_AGENT_ERROR;
    default:
        return EXIT_RESTORE_ERROR;
    }
}

static struct core_container_report report_of(const struct link *l, const struct wire_link_task_state *t)
{
    struct core_container_report r = {.container_id = t->container_id ? t->container_id : "",
                                      .state = state_of_wire(t->state),
                                      .address = t->address && *t->address ? t->address : l->peer};
    if (t->exit) {
        r.exit_kind = exit_of_wire(t->exit);
        r.exit_code = t->exit->kind == WIRE_LINK_EXIT_KIND_EXITED ? t->exit->code : 128 + t->exit->signal;
        r.exit_text = t->exit->text;
    } else if (r.state == CONTAINER_TERMINATED) {
        r.exit_kind = EXIT_RESTORE_ERROR;
    }
    return r;
}

static void on_hello(struct link *l, const struct wire_link_agent_hello *hello, struct arena *a)
{
    struct agent_hub *h = l->hub;
    if (hello->protocol != LINK_PROTOCOL) {
        refuse(l, true,
               arena_printf(a, "this master speaks protocol %d of the link, the agent %d; use programs of one version",
                            LINK_PROTOCOL, hello->protocol));
        return;
    }
    struct core_device *device = arena_array(a, struct core_device, hello->devices_n + 1);
    for (size_t i = 0; i < hello->devices_n; i++)
        device[i] = (struct core_device){.id = hello->devices[i].id, .type = hello->devices[i].type,
                                         .brand = hello->devices[i].brand ? hello->devices[i].brand : "",
                                         .uuid = hello->devices[i].uuid ? hello->devices[i].uuid : "",
                                         .lost = hello->devices[i].lost};
    struct core_container_report *report = arena_array(a, struct core_container_report, hello->tasks_n + 1);
    for (size_t i = 0; i < hello->tasks_n; i++)
        report[i] = report_of(l, &hello->tasks[i]);
    struct core_event ev = {
        .type = CORE_AGENT_CONNECTED, .now_us = clock_now_us(),
        .agent = {.agent_id = l->agent_id, .pool = hello->resource_pool, .version = hello->version, .hostname = hello->hostname,
                  .device = device, .device_n = hello->devices_n, .container = report, .container_n = hello->tasks_n}};
    cleanup_error struct error err = ERROR_INIT;
    l->greeted = true;
    if (master_step(h->m, &ev, NULL, &err) < 0) {
        l->greeted = false;
        refuse(l, err.kind == ERR_INVALID || err.kind == ERR_NOT_FOUND, error_msg(&err));
        return;
    }
    log_info("agent.connected", "id=%s pool=%s slots=%zu containers=%zu version=%s", l->agent_id,
             hello->resource_pool ? hello->resource_pool : "", hello->devices_n, hello->tasks_n,
             hello->version ? hello->version : "");
}

static void report_state(struct link *l, const struct wire_link_task_state *state)
{
    struct core_event ev = {.type = CORE_CONTAINER_CHANGED, .now_us = clock_now_us(),
                            .container = {.agent_id = l->agent_id, .report = report_of(l, state)}};
    cleanup_error struct error err = ERROR_INIT;
    if (master_step(l->hub->m, &ev, NULL, &err) < 0)
        log_warning("container.report_ignored", "agent=%s container=%s reason=%s", l->agent_id,
                    state->container_id ? state->container_id : "", log_quote(error_msg(&err)));
}

static void on_devices(struct link *l, const struct wire_link_devices_state *devices)
{
    struct core_event ev = {.type = CORE_AGENT_DEVICES, .now_us = clock_now_us(),
                            .devices = {.agent_id = l->agent_id, .lost_id = devices->lost_ids, .lost_n = devices->lost_ids_n}};
    cleanup_error struct error err = ERROR_INIT;
    if (master_step(l->hub->m, &ev, NULL, &err) < 0)
        log_warning("agent.devices_ignored", "agent=%s reason=%s", l->agent_id, log_quote(error_msg(&err)));
    else
        log_warning("agent.devices", "agent=%s lost=%zu", l->agent_id, devices->lost_ids_n);
}

/* ---- from the agent: logs ---- */

struct log_batch {
    struct agent_hub *hub;
    uint64_t serial;
    struct arena arena;
    const char *agent_id, *task_id, *container_id;
    int64_t first_seq, seq;
    struct store_log_batch lines;
    size_t skipped;
    int64_t first_id; /* of the first line that was not skipped */
    struct log_scan scan;
    bool *is_new; /* of the scan's matches */
    /* The container's end, which came while these lines were on their way: what is done about it depends on them. */
    const struct wire_link_task_state *end;
    struct arena end_arena;
    uint64_t end_serial;
    TAILQ_ENTRY(log_batch) next;
};

static void release_batch(struct log_batch *b)
{
    TAILQ_REMOVE(&b->hub->batches, b, next);
    arena_release(&b->end_arena);
    store_log_batch_release(&b->lines);
    arena_release(&b->arena);
    free(b);
}

static int log_batch_store(struct store *db, void *job, struct error *err)
{
    struct log_batch *b = job;
    if (b->lines.block.n == 0) /* few lines: no worker has had them */
        store_log_batch_make(&b->lines, b->lines.line, b->lines.line_n);
    if (store_task_log_append_numbered(db, b->task_id, b->container_id, b->first_seq, &b->lines, &b->first_id, &b->skipped,
                                       &b->seq, err) < 0)
        return -1;
    for (size_t i = 0; i < b->scan.match_n; i++)
        if (store_log_match_add(db, &b->scan.match[i], clock_now_us(), &b->is_new[i], err) < 0)
            return -1;
    return 0;
}

static void tell_matches(const struct log_batch *b)
{
    for (size_t i = 0; i < b->scan.match_n; i++)
        if (b->is_new[i])
            log_policies_tell(b->hub->m, &b->scan.match[i]);
}

static void log_batch_done(void *job, const struct error *err)
{
    struct log_batch *b = job;
    if (err) {
        log_warning("log.rejected", "agent=%s container=%s first_seq=%lld lines=%zu reason=%s", b->agent_id,
                    b->container_id, (long long)b->first_seq, b->lines.line_n, log_quote(error_msg(err)));
        /* A container nobody knows: its lines have no place, and the agent may let go of them. A gap is the agent's to
         * fill: it learns at its next hello where to go on. */
        b->seq = err->kind == ERR_OUT_OF_RANGE ? 0 : b->first_seq + (int64_t)b->lines.line_n - 1;
    } else if (b->skipped < b->lines.line_n) {
        api_log_stored(b->hub->m->api, b->task_id, b->first_id, b->lines.line + b->skipped, b->lines.line_n - b->skipped);
    }
    if (!err)
        tell_matches(b);
    struct link *l = find_link(b->hub, b->agent_id);
    if (l && l->serial == b->serial && b->seq) {
        struct wire_link_logs_ack ack = {.container_id = b->container_id, .seq = b->seq};
        struct wire_link_master_message out = message_of(b->hub);
        out.logs_ack = &ack;
        link_send(l, &out);
    }
    if (b->end && l && l->serial == b->end_serial)
        report_state(l, b->end);
    release_batch(b);
}

static void scanned(struct log_scan *s)
{
    struct log_batch *b = s->ctx;
    struct writer_job job = {log_batch_store, log_batch_done, b, .must = true};
    b->is_new = arena_array(&b->arena, bool, s->match_n + 1);
    writer_submit(b->hub->m->writer, &job, 1);
}

static void scan_batch(struct log_batch *b, const char *allocation_id)
{
    b->scan = (struct log_scan){.task_id = b->task_id, .agent_id = b->agent_id, .line = b->lines.line,
                                .line_n = b->lines.line_n, .arena = &b->arena, .done = scanned, .ctx = b};
    log_policies_find_trial(b->hub->m, allocation_id, &b->scan); /* of no trial it takes its turn all the same */
    log_policies_scan_soon(b->hub->m->log_policies, &b->scan);
}

/* Takes the letter's arena and lines. */
static void on_logs(struct link *l, struct agent_letter *letter)
{
    const struct wire_link_task_logs *logs = letter->message->logs;
    if (logs->lines_n == 0 || logs->lines_n > LINES_PER_BATCH_MAX)
        return;
    struct log_batch *b = calloc(1, sizeof(*b));
    if (!b)
        abort();
    *b = (struct log_batch){.hub = l->hub, .serial = l->serial, .arena = letter->arena, .lines = letter->lines,
                            .task_id = logs->task_id ? logs->task_id : "",
                            .container_id = logs->container_id ? logs->container_id : "", .first_seq = logs->first_seq};
    letter->arena = (struct arena)ARENA_INIT;
    letter->lines = (struct store_log_batch){0};
    b->agent_id = arena_strdup(&b->arena, l->agent_id);
    TAILQ_INSERT_TAIL(&b->hub->batches, b, next);
    scan_batch(b, logs->allocation_id);
}

/* Takes the arena if it has to wait: a task's end is judged when its last lines have been. */
static void on_state(struct link *l, const struct wire_link_task_state *state, struct arena *a)
{
    struct log_batch *b;
    const char *container = state->container_id ? state->container_id : "";
    if (state->state == WIRE_CONTAINER_STATE_TERMINATED) {
        TAILQ_FOREACH_REVERSE(b, &l->hub->batches, batch_list, next) {
            if (strcmp(b->container_id, container) != 0)
                continue;
            arena_release(&b->end_arena);
            b->end = state;
            b->end_serial = l->serial;
            b->end_arena = *a;
            *a = (struct arena)ARENA_INIT;
            return;
        }
    }
    report_state(l, state);
}

/* ---- the connection ---- */

static void on_letter(void *ctx, struct agent_letter *letter)
{
    struct link *l = ctx;
    const struct wire_link_agent_message *in = letter->message;
    if (letter->err.kind) {
        refuse(l, false, error_msg(&letter->err));
        return;
    }
    if (in->epoch > l->hub->m->info.epoch) {
        /* A later master exists: this one is the past. Its next write would find out anyway. */
        refuse(l, false, "another master has taken over");
        return;
    }
    if (in->hello && !l->greeted)
        on_hello(l, in->hello, &letter->arena);
    else if (!l->greeted)
        refuse(l, false, "the first message must be a hello");
    else if (in->state)
        on_state(l, in->state, &letter->arena);
    else if (in->logs)
        on_logs(l, letter);
    else if (in->devices)
        on_devices(l, in->devices);
    else if (in->metrics)
        agent_metrics_take(l->hub->m, l->agent_id, in->metrics, &letter->arena);
}

static void on_message(struct ws *ws, const void *data, size_t n, bool is_text, void *ctx)
{
    agent_inbox_put(((struct link *)ctx)->inbox, data, n);
}

static void on_close(struct ws *ws, int code, const char *why, void *ctx)
{
    struct link *l = ctx;
    struct agent_hub *h = l->hub;
    l->ws = NULL;
    agent_inbox_close(l->inbox);
    HASH_DEL(h->by_id, l);
    if (l->greeted && !h->stopping) {
        log_info("agent.disconnected", "id=%s code=%d reason=%s", l->agent_id, code, log_quote(why ? why : ""));
        struct core_event ev = {.type = CORE_AGENT_DISCONNECTED,
                                .now_us = clock_now_us(),
                                .agent = {.agent_id = l->agent_id}};
        cleanup_error struct error err = ERROR_INIT;
        if (master_step(h->m, &ev, NULL, &err) < 0)
            log_warning("agent.disconnect_ignored", "id=%s reason=%s", l->agent_id, log_quote(error_msg(&err)));
    }
    drop_held(l);
    drop_held(l);
    free(l);
}

static void take_peer(struct link *l, const char *peer)
{
    static const char mapped[] = "::ffff:"; /* IPv4 on a socket of both kinds */
    if (strncmp(peer, mapped, sizeof(mapped) - 1) == 0)
        peer += sizeof(mapped) - 1;
    snprintf(l->peer, sizeof(l->peer), "%s", peer);
}

int agent_hub_accept(struct agent_hub *h, struct http_request *http, const char *agent_id, struct error *err)
{
    if (config_bool(h->m->config, "resource_manager.require_authentication") && !http_request_client_verified(http))
        return error_set(err, ERR_FORBIDDEN,
                         "agents of this cluster must show a certificate that its client_ca has signed: set "
                         "security.tls.client_cert and client_key in agent.yaml");
    if (!*agent_id || strlen(agent_id) >= CORE_AGENT_ID_MAX)
        return error_set(err, ERR_INVALID, "agent id '%.40s' must have 1 to %d bytes", agent_id, CORE_AGENT_ID_MAX - 1);
    struct link *known;
    HASH_FIND_STR(h->by_id, agent_id, known);
    if (known)
        return error_set(err, ERR_CONFLICT, "agent '%s' is connected already; give each agent its own agent_id",
                         agent_id);
    struct link *l = calloc(1, sizeof(*l));
    if (!l)
        return error_set(err, ERR_NO_MEMORY, "no memory for another agent");
    *l = (struct link){.hub = h, .serial = ++h->last_serial};
    STAILQ_INIT(&l->held);
    memcpy(l->agent_id, agent_id, strlen(agent_id));
    take_peer(l, http_request_peer(http));
    struct ws_handler handler = {.on_message = on_message, .on_close = on_close, .ctx = l, .message_max = MESSAGE_MAX,
                                 .ping_s = PING_S, .dead_s = DEAD_S};
    if (http_upgrade_ws(http, &handler, &l->ws, err) < 0) {
        free(l);
        return -1;
    }
    l->inbox = agent_inbox_new(h->m->workers, l->agent_id, on_letter, l);
    HASH_ADD_STR(h->by_id, agent_id, l);
    return 0;
}
