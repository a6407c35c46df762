/* Messages of agents become events of the core and batches of log lines. Everything runs on the loop, except
 * log_batch_store(), which runs on the writer's thread. */
#include <stdlib.h>
#include <string.h>

#include "api/cluster/joining.h"
#include "api/logs/log_ingest.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "core/core.h"
#include "master/agents/agent_certificates.h"
#include "master/agents/agent_hub_internal.h"
#include "master/agents/agent_keys.h"
#include "master/agents/agent_metrics.h"
#include "master/logs/log_policies.h"
#include "master/presence.h"

/* ---- hello, and what tasks and devices do ------------------------------------------------------------------------ */

static enum container_state state_of_wire(enum wire_container_state state)
{
    for (enum container_state s = 0; s < CONTAINER_STATE_NR; s++)
        if (container_state_to_wire(s) == state)
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
    case WIRE_LINK_EXIT_KIND_REFUSED:
        return EXIT_TASK_REFUSED;
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
                                      .address = t->address && *t->address ? t->address : l->peer,
                                      .account = t->account,
                                      .runtime_id = t->runtime_id};
    if (t->exit) {
        r.exit_kind = exit_of_wire(t->exit);
        r.exit_code = t->exit->kind == WIRE_LINK_EXIT_KIND_EXITED ? t->exit->code : 128 + t->exit->signal;
        r.exit_text = t->exit->text;
    } else if (r.state == CONTAINER_TERMINATED) {
        r.exit_kind = EXIT_RESTORE_ERROR;
    }
    return r;
}

/* Returns why the cluster never takes an agent that says so of itself; NULL: it may take it. */
static const char *find_refusal(const struct master *m, const struct wire_link_agent_hello *hello, struct arena *a)
{
    if (hello->protocol != LINK_PROTOCOL)
        return arena_printf(a, "this master speaks protocol %d of the link, the agent %d; use programs of one version",
                            LINK_PROTOCOL, hello->protocol);
    const char *refusal = agent_certificates_refuse_program(m, hello);
    if (refusal)
        return refusal;
    if (!hello->isolated && strcmp(config_str(m->config, "security.task_isolation"), "required") == 0)
        return arena_printf(
            a,
            "this cluster takes only agents that keep the tasks of different users apart (security.task_isolation is "
            "required), which this one does not do: %s",
            hello->isolation_gap && *hello->isolation_gap ? hello->isolation_gap : "it does not say that it can");
    return NULL;
}

/* Decides in which pool the agent is. If its token or key is good for one pool only, an agent whose configuration names
 * none, which says "default", is in that one. */
static int choose_pool(const struct link *l, const char *named, const char **ret, struct error *err)
{
    bool names_one = named && *named && strcmp(named, "default") != 0;
    *ret = *l->pool && !names_one ? l->pool : named;
    if (*l->pool && strcmp(*ret, l->pool) != 0)
        return error_set(
            err, ERR_INVALID,
            "this agent was let into the resource pool '%s' only, and asks for '%.60s': remove resource_pool "
            "from its configuration, or let it join again (det agent revoke-key %s)",
            l->pool, *ret, l->agent_id);
    return 0;
}

/* An agent that joins with a token of a number of uses must take a key: without one it would use the token again and
 * again. */
static int check_join_token(const struct link *l, const struct wire_link_agent_hello *hello, struct error *err)
{
    if (!l->join_token)
        return 0;
    if (!hello->wants_key)
        return error_set(err, ERR_INVALID, "this agent takes no key of its own; it can join with agent.token only");
    return joining_check_token(api_joining(l->hub->m->api), l->join_token, clock_now_us(), err);
}

static const struct core_device_trouble *troubles_of(const struct wire_link_device_trouble *t, size_t n,
                                                     struct arena *a)
{
    struct core_device_trouble *ret = arena_array(a, struct core_device_trouble, n + 1);
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct core_device_trouble){.id = t[i].id,
                                              .reason = t[i].reason ? t[i].reason : "",
                                              .since_us = t[i].since_us};
    return ret;
}

/* The core acts on each failure once; an agent tells those that it remembers with each hello. */
static void log_troubles(const struct link *l, const struct wire_link_device_trouble *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        log_warning("agent.device_trouble", "agent=%s device=%d reason=%s", l->agent_id, t[i].id,
                    log_quote(t[i].reason ? t[i].reason : ""));
}

/* What the agent says that its machine has. What no machine has counts as nothing. */
static struct sched_needs offer_of(const struct wire_link_agent_hello *hello)
{
    const double cores_max = 1e6;
    const int64_t memory_max = INT64_C(1) << 53;
    return needs_of(hello->cpus > 0 && hello->cpus <= cores_max ? hello->cpus : 0,
                    hello->memory_bytes > 0 && hello->memory_bytes <= memory_max ? hello->memory_bytes : 0);
}

static struct core_event connected(const struct link *l, const struct wire_link_agent_hello *hello, const char *pool,
                                   struct arena *a)
{
    struct core_device *device = arena_array(a, struct core_device, hello->devices_n + 1);
    for (size_t i = 0; i < hello->devices_n; i++)
        device[i] = (struct core_device){.id = hello->devices[i].id,
                                         .type = hello->devices[i].type,
                                         .brand = hello->devices[i].brand ? hello->devices[i].brand : "",
                                         .uuid = hello->devices[i].uuid ? hello->devices[i].uuid : "",
                                         .lost = hello->devices[i].lost};
    struct core_container_report *report = arena_array(a, struct core_container_report, hello->tasks_n + 1);
    for (size_t i = 0; i < hello->tasks_n; i++)
        report[i] = report_of(l, &hello->tasks[i]);
    return (struct core_event){.type = CORE_AGENT_CONNECTED,
                               .now_us = clock_now_us(),
                               .agent = {.agent_id = l->agent_id,
                                         .pool = pool,
                                         .version = hello->version,
                                         .hostname = hello->hostname,
                                         .isolation_gap = hello->isolated ? "" : hello->isolation_gap,
                                         .has = offer_of(hello),
                                         .tells_use = hello->tells_use,
                                         .device = device,
                                         .device_n = hello->devices_n,
                                         .container = report,
                                         .container_n = hello->tasks_n,
                                         .trouble = troubles_of(hello->troubles, hello->troubles_n, a),
                                         .trouble_n = hello->troubles_n}};
}

static void on_hello(struct link *l, const struct wire_link_agent_hello *hello, struct arena *a)
{
    struct agent_hub *h = l->hub;
    const char *refusal = find_refusal(h->m, hello, a), *pool;
    cleanup_error struct error err = ERROR_INIT;
    if (!refusal && (choose_pool(l, hello->resource_pool, &pool, &err) < 0 || check_join_token(l, hello, &err) < 0))
        refusal = error_msg(&err);
    if (refusal) {
        link_refuse(l, true, refusal);
        return;
    }
    struct core_event ev = connected(l, hello, pool, a);
    l->greeted = true;
    if (master_step(h->m, &ev, NULL, &err) < 0) {
        l->greeted = false;
        link_refuse(l, err.kind == ERR_INVALID || err.kind == ERR_NOT_FOUND, error_msg(&err));
        return;
    }
    log_troubles(l, hello->troubles, hello->troubles_n);
    presence_note(h->m->presence, l->agent_id);
    link_begin_streams(l, hello);
    if (l->join_token)
        joining_use_token(api_joining(h->m->api), l->join_token);
    if (l->joins && hello->wants_key)
        agent_keys_issue(h->m, &(struct agent_joined){.agent_id = l->agent_id,
                                                      .offered = hello->key,
                                                      .join_token = l->join_token,
                                                      .pool = l->pool});
    if (hello->version && strcmp(hello->version, h->m->info.version) != 0)
        log_warning("agent.version",
                    "id=%s agent=%s master=%s meaning=\"both speak the same protocol of the link and go on\" "
                    "action=\"install the same version on both\"",
                    l->agent_id, log_quote(hello->version), log_quote(h->m->info.version));
    log_info("agent.connected", "id=%s pool=%s slots=%zu containers=%zu version=%s", l->agent_id,
             hello->resource_pool ? hello->resource_pool : "", hello->devices_n, hello->tasks_n,
             hello->version ? hello->version : "");
}

static void report_state(struct link *l, const struct wire_link_task_state *state)
{
    struct core_event ev = {.type = CORE_CONTAINER_CHANGED,
                            .now_us = clock_now_us(),
                            .container = {.agent_id = l->agent_id, .report = report_of(l, state)}};
    cleanup_error struct error err = ERROR_INIT;
    if (master_step(l->hub->m, &ev, NULL, &err) < 0)
        log_warning("container.report_ignored", "agent=%s container=%s reason=%s", l->agent_id,
                    state->container_id ? state->container_id : "", log_quote(error_msg(&err)));
}

static void on_devices(struct link *l, const struct wire_link_devices_state *devices)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct core_event ev = {.type = CORE_AGENT_DEVICES,
                            .now_us = clock_now_us(),
                            .devices = {.agent_id = l->agent_id,
                                        .lost_id = devices->lost_ids,
                                        .lost_n = devices->lost_ids_n,
                                        .trouble = troubles_of(devices->troubles, devices->troubles_n, &a),
                                        .trouble_n = devices->troubles_n}};
    cleanup_error struct error err = ERROR_INIT;
    if (master_step(l->hub->m, &ev, NULL, &err) < 0)
        log_warning("agent.devices_ignored", "agent=%s reason=%s", l->agent_id, log_quote(error_msg(&err)));
    else
        log_warning("agent.devices", "agent=%s lost=%zu troubles=%zu", l->agent_id, devices->lost_ids_n,
                    devices->troubles_n);
    log_troubles(l, devices->troubles, devices->troubles_n);
}

/* The core passes over containers that are not this agent's. */
static void on_use(struct link *l, const struct wire_link_slots_use *use)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct core_slots_use *slots = arena_array(&a, struct core_slots_use, use->tasks_n + 1);
    for (size_t i = 0; i < use->tasks_n; i++)
        slots[i] = (struct core_slots_use){.container_id = use->tasks[i].container_id,
                                           .idle_us = use->tasks[i].idle_ms * 1000,
                                           .problem = use->tasks[i].problem};
    struct core_event ev = {.type = CORE_AGENT_USE,
                            .now_us = clock_now_us(),
                            .use = {.agent_id = l->agent_id, .slots = slots, .n = use->tasks_n}};
    cleanup_error struct error err = ERROR_INIT;
    if (master_step(l->hub->m, &ev, NULL, &err) < 0)
        log_warning("agent.use_ignored", "agent=%s reason=%s", l->agent_id, log_quote(error_msg(&err)));
}

/* Only the agent that runs a container may say that the container's task is ready. */
static void on_ready(struct link *l, const struct wire_link_task_ready *ready)
{
    const struct container_row *k = core_container(l->hub->m->core, ready->container_id);
    cleanup_error struct error err = ERROR_INIT;
    if (!k || strcmp(k->agent_id, l->agent_id) != 0) {
        log_warning("task.ready_ignored", "agent=%s container=%s reason=not_its_container", l->agent_id,
                    ready->container_id);
        return;
    }
    struct core_event ev = {.type = ready->waiting ? CORE_ALLOCATION_WAITING : CORE_ALLOCATION_READY,
                            .now_us = clock_now_us(),
                            .allocation = {.allocation_id = k->allocation_id}};
    if (master_step(l->hub->m, &ev, NULL, &err) < 0)
        log_warning("task.ready_ignored", "agent=%s container=%s reason=%s", l->agent_id, ready->container_id,
                    log_quote(error_msg(&err)));
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

struct log_batch {
    struct agent_hub *hub;
    uint64_t serial;
    struct arena arena;
    const char *agent_id;
    struct log_ingest ingest;
    /* The end of the container, if it was reported before these lines were stored. It is handled after the lines,
     * because what is done about it depends on them. */
    const struct wire_link_task_state *end;
    struct arena end_arena;
    uint64_t end_serial;
    const char
        *unproved; /* an allocation's id, if the core does not know the container: the store then checks whose it was */
    bool newest;   /* the batch is in the hub's table, as the newest of its container */
    UT_hash_handle hh;
};

static struct log_batch *newest_batch(const struct agent_hub *h, const char *container_id)
{
    struct log_batch *b;
    HASH_FIND_STR(h->newest, container_id, b);
    return b;
}

static void set_newest(struct log_batch *b, bool newest)
{
    if (newest)
        HASH_ADD_KEYPTR(hh, b->hub->newest, b->ingest.container_id, strlen(b->ingest.container_id), b);
    else
        HASH_DEL(b->hub->newest, b);
    b->newest = newest;
}

static void release_batch(struct log_batch *b)
{
    if (b->newest)
        set_newest(b, false);
    arena_release(&b->end_arena);
    log_ingest_release(&b->ingest);
    arena_release(&b->arena);
    free(b);
}

static int log_batch_store(struct store *db, void *job, struct error *err)
{
    struct log_batch *b = job;
    const struct log_ingest *g = &b->ingest;
    if (b->unproved && store_container_check_owner(db, g->container_id, b->agent_id, b->unproved, g->task_id, err) < 0)
        return -1;
    return log_ingest_store(&b->ingest, db, clock_now_us(), err);
}

/* Returns the number of the last line that the agent need not keep any longer; 0: no acknowledgement is sent. */
static int64_t acknowledged_seq(const struct log_batch *b, const struct error *err)
{
    const struct log_ingest *g = &b->ingest;
    if (!err)
        return g->seq;
    /* Lines of an unknown container cannot be stored, so the agent need not keep them. If lines before these are
     * missing (ERR_OUT_OF_RANGE), nothing is acknowledged: the answer to the agent's next hello says at which line it
     * has to go on. */
    return err->kind == ERR_OUT_OF_RANGE ? 0 : g->first_seq + (int64_t)g->lines.line_n - 1;
}

static void log_batch_done(void *job, const struct error *err)
{
    struct log_batch *b = job;
    const struct log_ingest *g = &b->ingest;
    if (err)
        log_warning("log.rejected", "agent=%s container=%s first_seq=%lld lines=%zu reason=%s", b->agent_id,
                    g->container_id, (long long)g->first_seq, g->lines.line_n, log_quote(error_msg(err)));
    else
        log_ingest_stored(b->hub->m->api, g);
    struct link *l = hub_find_link(b->hub, b->agent_id);
    int64_t seq = acknowledged_seq(b, err);
    if (l && l->serial == b->serial && seq) {
        struct wire_link_logs_ack ack = {.container_id = g->container_id, .seq = seq};
        struct wire_link_master_message out = hub_message(b->hub);
        out.logs_ack = &ack;
        link_send(l, &out);
    }
    if (b->end && l && l->serial == b->end_serial)
        report_state(l, b->end);
    release_batch(b);
}

static void submit_scanned_batch(struct log_scan *s)
{
    struct log_batch *b = s->ctx;
    struct writer_job job = {log_batch_store, log_batch_done, b, .must = true};
    writer_submit(b->hub->m->writer, &job, 1);
}

static void scan_batch(struct log_batch *b, const char *allocation_id)
{
    log_ingest_scan(&b->ingest, b->agent_id, submit_scanned_batch, b);
    log_policies_prepare(b->hub->m, allocation_id, &b->ingest.scan);
    /* a batch in which there is nothing to look for still keeps its place in the order */
    log_policies_scan_soon(b->hub->m->log_policies, &b->ingest.scan);
}

/* Lines of a running container are accepted only from the agent that runs it, and for its own task. */
enum ownership { OWNED, NOT_OWNED, OWNER_UNKNOWN };
static enum ownership ownership_of(const struct link *l, const struct wire_link_task_logs *logs)
{
    const struct container_row *k = core_container(l->hub->m->core, logs->container_id);
    const struct allocation_row *a = k ? core_allocation(l->hub->m->core, k->allocation_id) : NULL;
    if (!a)
        return OWNER_UNKNOWN;
    return strcmp(k->agent_id, l->agent_id) == 0 &&
                   strcmp(a->id, logs->allocation_id ? logs->allocation_id : "") == 0 &&
                   strcmp(a->task_id, logs->task_id ? logs->task_id : "") == 0
               ? OWNED
               : NOT_OWNED;
}

/* Handles log lines. The function takes over the message's arena and lines. */
static void on_logs(struct link *l, struct agent_inbox_message *received)
{
    const struct wire_link_task_logs *logs = received->message->logs;
    enum ownership ownership = ownership_of(l, logs);
    if (ownership == NOT_OWNED)
        log_warning("log.rejected",
                    "agent=%s container=%s lines=%zu reason=\"the container is not on this agent, or of another task\"",
                    l->agent_id, logs->container_id, logs->lines_n);
    if (logs->lines_n == 0 || ownership == NOT_OWNED)
        return;
    struct log_batch *b = must_calloc(1, sizeof(*b));
    *b = (struct log_batch){.hub = l->hub, .serial = l->serial, .arena = received->arena};
    b->ingest = (struct log_ingest){.task_id = logs->task_id ? logs->task_id : "",
                                    .base_url = l->hub->m->info.webhook_base_url,
                                    .lines = received->lines,
                                    .arena = &b->arena,
                                    .container_id = logs->container_id ? logs->container_id : "",
                                    .first_seq = logs->first_seq};
    received->arena = (struct arena)ARENA_INIT;
    received->lines = (struct store_log_batch){0};
    b->agent_id = arena_strdup(&b->arena, l->agent_id);
    if (ownership == OWNER_UNKNOWN)
        b->unproved = logs->allocation_id ? logs->allocation_id : "";
    struct log_batch *before = newest_batch(l->hub, b->ingest.container_id);
    if (before)
        set_newest(before, false);
    set_newest(b, true);
    scan_batch(b, logs->allocation_id);
}

/* Handles a task's report of its state. The end of a task is handled only when its last lines have been matched and
 * stored. Until then the function keeps the message, and takes over its arena. */
static void on_state(struct link *l, const struct wire_link_task_state *state, struct arena *a)
{
    bool ended = state->state == WIRE_CONTAINER_STATE_TERMINATED;
    struct log_batch *b = ended ? newest_batch(l->hub, state->container_id ? state->container_id : "") : NULL;
    if (!b || strcmp(b->agent_id, l->agent_id) != 0) {
        report_state(l, state);
        return;
    }
    arena_release(&b->end_arena);
    b->end = state;
    b->end_serial = l->serial;
    b->end_arena = *a;
    *a = (struct arena)ARENA_INIT;
}

/* ---- any message ------------------------------------------------------------------------------------------------- */

void link_hear(struct link *l, struct agent_inbox_message *received)
{
    const struct wire_link_agent_message *in = received->message;
    if (received->err.kind) {
        link_refuse(l, false, error_msg(&received->err));
        return;
    }
    const char *cluster = in->hello && in->hello->cluster_id ? in->hello->cluster_id : "";
    if (!l->greeted && *cluster && strcmp(cluster, l->hub->m->info.cluster_id) != 0) {
        /* Epochs are counted within one cluster, so these two are not compared. The core kills what the agent runs for
         * the other cluster. */
        log_warning("agent.of_another_cluster", "id=%s cluster=%s containers=%zu", l->agent_id, log_quote(cluster),
                    in->hello->tasks_n);
        for (size_t i = 0; i < in->hello->tasks_n; i++)
            log_warning("container.of_another_cluster", "agent=%s container=%s action=kill", l->agent_id,
                        in->hello->tasks[i].container_id);
    } else if (in->epoch > l->hub->m->info.epoch) {
        /* A later master exists, so this one is out of date. Its next write to the store would fail as well. */
        link_refuse(l, false, "another master has taken over");
        return;
    }
    if (in->hello && !l->greeted)
        on_hello(l, in->hello, &received->arena);
    else if (!l->greeted)
        link_refuse(l, false, "the first message must be a hello");
    else if (in->state)
        on_state(l, in->state, &received->arena);
    else if (in->logs)
        on_logs(l, received);
    else if (in->devices)
        on_devices(l, in->devices);
    else if (in->ready)
        on_ready(l, in->ready);
    else if (in->use)
        on_use(l, in->use);
    else if (in->certificate_request)
        agent_certificates_answer(l, in->certificate_request);
    else if (in->metrics)
        agent_metrics_take(l->hub->m, l->agent_id, in->metrics, &received->arena);
}
