/* Byte streams to ports of tasks: through the link of the container's agent, or straight to its machine. */
#include <stdio.h>
#include <string.h>

#include "common/system/log.h"
#include "master/agents/agent_hub_internal.h"
#include "net/streams/mux.h"
#include "net/streams/mux_link.h"

enum {
    CLOSE_GOING_AWAY = 1001,
    CLOSE_PROTOCOL = 1002,
};

_Static_assert(CORE_UUID_MAX + 6 <= MUX_NAME_MAX, "CONTAINER:PORT must fit into the name of a stream");

/* ---- the link ---------------------------------------------------------------------------------------------------- */

static void send_frame(void *ctx, const struct mux_frame *f)
{
    const struct link *l = ctx;
    if (l->ws)
        ws_send_parts(l->ws, f->head, MUX_HEAD, f->body, f->body_n);
}

static size_t link_waiting(void *ctx)
{
    const struct link *l = ctx;
    return l->ws && l->welcomed ? ws_pending(l->ws) : SIZE_MAX;
}

void link_begin_streams(struct link *l, const struct wire_link_agent_hello *hello)
{
    snprintf(l->version, sizeof(l->version), "%s", hello->version ? hello->version : "");
    if (!hello->streams)
        return;
    ws_keep_queue_short(l->ws);
    l->streams =
        mux_link_new(l->hub->streams,
                     &(struct mux_link_options){.opens = true, .send = send_frame, .waiting = link_waiting, .ctx = l});
}

void link_receive_frame(struct link *l, const void *data, size_t n)
{
    cleanup_error struct error err = ERROR_INIT;
    if (!l->streams)
        error_set(&err, ERR_INVALID, "a binary message of an agent whose hello did not say that it carries streams");
    else if (mux_link_receive(l->streams, data, n, &err) == 0)
        return;
    log_warning("agent.bad_frame", "id=%s reason=%s", l->agent_id, log_quote(error_msg(&err)));
    ws_close(l->ws, CLOSE_PROTOCOL, error_msg(&err));
    link_end_streams(l, CLOSE_PROTOCOL); /* now, since such an agent may let the closing wait */
}

void link_streams_drained(struct link *l)
{
    if (l->streams)
        mux_link_drained(l->streams);
}

void link_end_streams(struct link *l, int code)
{
    char why[CORE_AGENT_ID_MAX + 80];
    if (!l->streams)
        return;
    snprintf(why, sizeof(why), "agent %s %s", l->agent_id,
             l->hub->stopping           ? "was let go, because the master stops"
             : code == CLOSE_GOING_AWAY ? "was stopped or restarted"
             : code == CLOSE_PROTOCOL   ? "was cut off, because it broke the protocol of streams"
                                        : "has lost its connection to the master");
    mux_link_end(l->streams, why);
    mux_link_free(l->streams);
    l->streams = NULL;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int option(const struct agent_hub *h, const char *name)
{
    return (int)config_int(h->m->config, name);
}

static int connect_timeout_s(const struct agent_hub *h)
{
    return (int)((config_duration_us(h->m->config, "task_streams.connect_timeout") + 999999) / 1000000);
}

static int check_limits(const struct agent_hub *h, const struct container_row *k, struct error *err)
{
    int per_agent = option(h, "task_streams.per_agent"), per_task = option(h, "task_streams.per_task");
    struct link *l = hub_find_link((struct agent_hub *)h, k->agent_id);
    if (l && l->streams && mux_link_count(l->streams) >= (size_t)per_agent)
        return error_set(err, ERR_UNAVAILABLE,
                         "%d connections to tasks of agent %s are open, which is the most that task_streams.per_agent "
                         "allows; close some",
                         per_agent, k->agent_id);
    if (byte_streams_count_group(h->streams, k->id) >= (size_t)per_task)
        return error_set(err, ERR_UNAVAILABLE,
                         "%d connections to this task are open, which is the most that task_streams.per_task allows; "
                         "close some",
                         per_task);
    return 0;
}

static int open_through_link(struct agent_hub *h, const struct container_row *k, int port,
                             const struct byte_stream_handler *handler, struct byte_stream **ret, struct error *err)
{
    struct link *l = hub_find_link(h, k->agent_id);
    char name[MUX_NAME_MAX];
    if (!l || !l->greeted)
        return error_set(err, ERR_UNAVAILABLE, "agent %s, on which the task runs, is not connected at the moment",
                         k->agent_id);
    if (!l->streams)
        return error_set(err, ERR_BAD_GATEWAY,
                         "agent %s, on which the task runs, is of version %s, which carries no connections to tasks; "
                         "install this master's version there, or set task_streams.route: direct",
                         k->agent_id, *l->version ? l->version : "unknown");
    snprintf(name, sizeof(name), "%s:%d", k->id, port);
    return mux_link_open(l->streams, name, connect_timeout_s(h), handler, ret, err);
}

int agent_streams_open(struct agent_hub *h, const char *container_id, int port,
                       const struct byte_stream_handler *handler, struct byte_stream **ret, struct error *err)
{
    const struct container_row *k = core_container(h->m->core, container_id);
    bool direct = strcmp(config_str(h->m->config, "task_streams.route"), "direct") == 0;
    if (!k || k->state != CONTAINER_RUNNING || (direct && !k->address[0]))
        return error_set(err, ERR_NOT_FOUND, "the task does not run at the moment");
    if (check_limits(h, k, err) < 0)
        return -1;
    if ((direct ? byte_stream_dial(h->streams, k->address, port, connect_timeout_s(h), handler, ret, err)
                : open_through_link(h, k, port, handler, ret, err)) < 0)
        return -1;
    byte_stream_join_group(*ret, k->id);
    return 0;
}

struct byte_streams_stats agent_streams_stats(const struct agent_hub *h)
{
    return byte_streams_stats(h->streams);
}
