#include "common/base/must.h"
#include "master/agents/agent_hub_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/system/log.h"
#include "master/agents/agent_certificates.h"
#include "master/agents/agent_keys.h"
#include "master/agents/agent_message_checks.h"
#include "master/presence.h"
#include "net/streams/byte_stream.h"
#include "store/logs/task_logs.h"

enum {
    MESSAGE_MAX = 128 * 1024 * 1024, /* bytes */
    /* bytes that wait for one agent; an agent for which more wait has stopped reading */
    PENDING_MAX = 256 * 1024 * 1024,
    PINGS = 4, /* within the time after which a silent agent's connection counts as broken */
};

struct held {
    STAILQ_ENTRY(held) next;
    struct strbuf text;
};

struct agent_hub *agent_hub_new(struct master *m)
{
    struct agent_hub *h = must_calloc(1, sizeof(*h));
    if (h) {
        h->m = m;
        h->inboxes = agent_inboxes_new(m->loop, m->workers, clock_monotonic_us);
        h->streams = byte_streams_new(m->loop);
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
    if (!h)
        return;
    agent_inboxes_free(h->inboxes);
    byte_streams_free(h->streams);
    free(h);
}

/* The schema's check lets whole pings fit into it. */
static int silence_s(const struct agent_hub *h)
{
    return (int)(config_duration_us(h->m->config, "resource_manager.agent_link_timeout") / 1000000);
}

const char *agent_hub_peer(const struct agent_hub *h, const char *agent_id)
{
    const struct link *l = NULL;
    HASH_FIND_STR(h->by_id, agent_id, l);
    return l && l->greeted ? l->peer : NULL;
}

int agent_hub_count(const struct agent_hub *h)
{
    return HASH_COUNT(h->by_id);
}

struct link *hub_find_link(struct agent_hub *h, const char *agent_id)
{
    struct link *l;
    HASH_FIND_STR(h->by_id, agent_id, l);
    return l && l->ws ? l : NULL;
}

/* ---- to the agent ------------------------------------------------------------------------------------------------ */

static void send_text(struct link *l, const struct strbuf *text)
{
    if (l->welcomed) {
        ws_send(l->ws, text->s, text->n, true);
        return;
    }
    l->held_bytes += text->n;
    if (l->held_bytes > PENDING_MAX) {
        ws_close(l->ws, 1008, "too much waits for the agent's welcome");
        return;
    }
    struct held *held = must_calloc(1, sizeof(*held));
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

void link_send(struct link *l, const struct wire_link_master_message *message)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    codec_encode(&wire_msg_link_master_message, message, &text);
    send_text(l, &text);
}

/* Sends the first message to an agent, which is its welcome or a refusal, and after it the messages that were held. */
static void link_answer_hello(struct link *l, const struct wire_link_master_message *message)
{
    l->welcomed = true;
    link_send(l, message);
    struct held *held;
    STAILQ_FOREACH(held, &l->held, next)
        ws_send(l->ws, held->text.s, held->text.n, true);
    drop_held(l);
    link_streams_drained(l); /* frames have waited for the welcome, too */
}

struct wire_link_master_message hub_message(const struct agent_hub *h)
{
    return (struct wire_link_master_message){.epoch = h->m->info.epoch};
}

void link_refuse(struct link *l, bool fatal, const char *reason)
{
    log_warning("agent.refused", "id=%s reason=%s", l->agent_id, log_quote(reason));
    struct wire_link_refused refused = {.reason = reason, .fatal = fatal};
    struct wire_link_master_message out = hub_message(l->hub);
    out.refused = &refused;
    drop_held(l);
    link_answer_hello(l, &out);
    ws_close(l->ws, 1008, "refused");
}

void agent_hub_send(struct agent_hub *h, const char *agent_id, const struct strbuf *message)
{
    struct link *l = hub_find_link(h, agent_id);
    if (l)
        send_text(l, message);
}

void agent_hub_signal(struct agent_hub *h, const char *agent_id, const char *container_id, int signal)
{
    struct link *l = hub_find_link(h, agent_id);
    if (!l)
        return;
    struct wire_link_signal_task body = {.container_id = container_id, .signal = signal};
    struct wire_link_master_message out = hub_message(h);
    out.signal = &body;
    link_send(l, &out);
}

void agent_hub_tell_certificate(struct agent_hub *h, const char *sha256)
{
    struct wire_link_certificate body = {.sha256 = sha256};
    struct wire_link_master_message out = hub_message(h);
    struct link *l, *next;
    out.certificate = &body;
    HASH_ITER(hh, h->by_id, l, next)
        if (l->ws)
            link_send(l, &out);
}

void agent_hub_ack(struct agent_hub *h, const char *agent_id, const char *container_id, enum container_state state)
{
    struct link *l = hub_find_link(h, agent_id);
    if (!l)
        return;
    struct wire_link_state_ack body = {.container_id = container_id, .state = container_state_to_wire(state)};
    struct wire_link_master_message out = hub_message(h);
    out.state_ack = &body;
    link_send(l, &out);
}

/* Makes an agent's welcome. The welcome has the number of the last stored log line of each container, which is known to
 * the store only. */
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
    struct link *l = hub_find_link(w->hub, w->agent_id);
    if (l && l->serial == w->serial && !w->err.kind) {
        const struct api_info *info = &w->hub->m->info;
        struct wire_link_master_hello hello = {.protocol = LINK_PROTOCOL,
                                               .master_id = info->master_id,
                                               .cluster_id = info->cluster_id,
                                               .cluster_name = info->cluster_name,
                                               .version = info->version,
                                               .expected = w->expected,
                                               .expected_n = w->n,
                                               .gives_certificates = w->hub->m->certificates != NULL,
                                               .certificate_problem = l->certificate_problem,
                                               .time_us = clock_now_us(),
                                               .silence_s = silence_s(w->hub)};
        struct wire_link_master_message out = hub_message(w->hub);
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
    struct link *l = hub_find_link(h, agent_id);
    if (!l)
        return;
    struct welcome *w = must_calloc(1, sizeof(*w));
    *w = (struct welcome){.hub = h, .serial = l->serial, .n = n};
    w->agent_id = arena_strdup(&w->arena, agent_id);
    w->expected = arena_array(&w->arena, struct wire_link_expected_task, n + 1);
    for (size_t i = 0; i < n; i++)
        w->expected[i].container_id = arena_strdup(&w->arena, container_id[i]);
    if (n == 0 || pool_submit(h->m->readers, welcome_read, welcome_send, w, &w->err) < 0)
        welcome_send(w);
}

/* ---- the connection ---------------------------------------------------------------------------------------------- */

static void on_inbox_message(void *ctx, struct agent_inbox_message *received)
{
    link_hear(ctx, received);
}

static void on_message(struct ws *ws, const void *data, size_t n, bool is_text, void *ctx)
{
    struct link *l = ctx;
    if (is_text)
        agent_inbox_put(l->inbox, data, n);
    else
        link_receive_frame(l, data, n);
}

static void on_drained(struct ws *ws, void *ctx)
{
    link_streams_drained(ctx);
}

static void on_close(struct ws *ws, int code, const char *why, void *ctx)
{
    struct link *l = ctx;
    struct agent_hub *h = l->hub;
    l->ws = NULL;
    link_end_streams(l, code);
    agent_inbox_close(l->inbox);
    HASH_DEL(h->by_id, l);
    if (l->greeted && !h->stopping) {
        log_info("agent.disconnected", "id=%s code=%d reason=%s", l->agent_id, code, log_quote(why ? why : ""));
        struct core_event ev = {.type = CORE_AGENT_DISCONNECTED,
                                .now_us = clock_now_us(),
                                .agent = {.agent_id = l->agent_id}};
        cleanup_error struct error err = ERROR_INIT;
        presence_note(h->m->presence, l->agent_id);
        if (master_step(h->m, &ev, NULL, &err) < 0)
            log_warning("agent.disconnect_ignored", "id=%s reason=%s", l->agent_id, log_quote(error_msg(&err)));
    }
    drop_held(l);
    free(l->certificate_problem);
    free(l);
}

static void take_peer(struct link *l, const char *peer)
{
    static const char mapped[] = "::ffff:"; /* the form of IPv4 addresses on a socket for IPv4 and IPv6 */
    if (strncmp(peer, mapped, sizeof(mapped) - 1) == 0)
        peer += sizeof(mapped) - 1;
    snprintf(l->peer, sizeof(l->peer), "%s", peer);
}

void agent_hub_drop(struct agent_hub *h, const char *agent_id, const char *why)
{
    struct link *l = hub_find_link(h, agent_id);
    if (l)
        ws_close(l->ws, 1008, why);
}

int agent_hub_accept(struct agent_hub *h, struct http_request *http, const char *agent_id,
                     const struct agent_entry *entry, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *problem;
    if (agent_message_check_agent_id(agent_id, err) < 0)
        return -1;
    if (agent_certificates_check(h->m, http, agent_id, entry, &a, &problem, err) < 0) {
        if (agent_keys_tell_refusal(h->m->agent_keys, agent_id))
            log_warning("agent.refused", "id=%s reason=%s", agent_id, log_quote(error_msg(err)));
        return -1;
    }
    struct link *known;
    HASH_FIND_STR(h->by_id, agent_id, known);
    if (known)
        return error_set(err, ERR_CONFLICT, "agent '%s' is connected already; give each agent its own agent_id",
                         agent_id);
    struct link *l = must_calloc(1, sizeof(*l));
    *l = (struct link){.hub = h, .serial = ++h->last_serial, .joins = entry->joins, .join_token = entry->join_token};
    snprintf(l->pool, sizeof(l->pool), "%s", entry->pool);
    STAILQ_INIT(&l->held);
    memcpy(l->agent_id, agent_id, strlen(agent_id));
    take_peer(l, http_request_peer(http));
    struct ws_handler handler = {.on_message = on_message,
                                 .on_drained = on_drained,
                                 .on_close = on_close,
                                 .ctx = l,
                                 .message_max = MESSAGE_MAX,
                                 .pending_max = PENDING_MAX,
                                 .ping_s = silence_s(h) / PINGS,
                                 .dead_s = silence_s(h)};
    if (http_upgrade_ws(http, &handler, &l->ws, err) < 0) {
        free(l);
        return -1;
    }
    l->certificate_problem = problem ? must_strdup(problem) : NULL;
    l->inbox = agent_inbox_new(h->inboxes, l->agent_id, on_inbox_message, l);
    HASH_ADD_STR(h->by_id, agent_id, l);
    return 0;
}
