#include "agent/streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/agent.h"
#include "agent/machine/port_owner.h"
#include "agent/task/task.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "net/streams/mux.h"
#include "net/streams/mux_link.h"
#include "net/streams/stream_join.h"

enum { CONNECT_TIMEOUT_S = 10, CONTAINER_ID_MAX = 64 };

/* One stream to a port of a task: first the port is dialled, then both sides are joined. */
struct port_stream {
    struct agent_streams *of;
    char container_id[CONTAINER_ID_MAX + 1];
    int port;
    struct byte_stream *to_master, *to_port; /* while the port is dialled */
    struct stream_join *join;                /* afterwards */
    LIST_ENTRY(port_stream) in_all;
};

struct agent_streams {
    struct agent *agent;
    struct byte_streams *streams;
    struct mux_link *link; /* NULL while the link is down */
    LIST_HEAD(, port_stream) list;
};

static void forget(struct port_stream *p)
{
    LIST_REMOVE(p, in_all);
    free(p);
}

/* ---- joined ------------------------------------------------------------------------------------------------------ */

static void on_over(void *ctx, int failed, const char *why)
{
    struct port_stream *p = ctx;
    log_debug("stream.over", "container=%s port=%d reason=%s", p->container_id, p->port, log_quote(why ? why : ""));
    forget(p);
}

/* ---- dialling ---------------------------------------------------------------------------------------------------- */

static void on_port_open(struct byte_stream *s, void *ctx)
{
    struct port_stream *p = ctx;
    log_debug("stream.open", "container=%s port=%d", p->container_id, p->port);
    p->join = stream_join(p->of->streams, p->to_master, p->to_port, on_over, p);
    mux_link_accept(p->to_master);
    p->to_master = p->to_port = NULL;
}

static void on_port_closed(struct byte_stream *s, const char *why, void *ctx)
{
    struct port_stream *p = ctx;
    mux_link_refuse(p->to_master, why ? why : "the task closed the connection");
    forget(p);
}

static void on_master_closed(struct byte_stream *s, const char *why, void *ctx)
{
    struct port_stream *p = ctx;
    byte_stream_drop(p->to_port);
    forget(p);
}

/* Reads "CONTAINER:PORT". */
static bool read_name(const char *name, struct port_stream *ret)
{
    const char *colon = strrchr(name, ':');
    char *end = NULL;
    long port = colon ? strtol(colon + 1, &end, 10) : 0;
    if (!colon || end == colon + 1 || *end || port < 1 || port > 65535 || colon - name > CONTAINER_ID_MAX)
        return false;
    memcpy(ret->container_id, name, (size_t)(colon - name));
    ret->port = (int)port;
    return true;
}

/* Whether the port was taken by a program of another user than the task's: tasks share the machine's network. A task
 * that runs as root starts programs of other users, and is trusted with that. */
static int check_listener(const struct task *t, int port, struct error *err)
{
    uid_t task, listener;
    if (!task_uid(t, &task) || task == 0 || !port_owner_find(port, &listener) || listener == task)
        return 0;
    return error_set(err, ERR_FORBIDDEN,
                     "port %d of the machine was taken by a program of another user (uid %u; the task runs as uid %u)",
                     port, (unsigned)listener, (unsigned)task);
}

/* Finds out whether the stream may be opened, and begins to connect. */
static int dial(struct port_stream *p, struct error *err)
{
    const struct byte_stream_handler h = {.on_open = on_port_open, .on_close = on_port_closed, .ctx = p};
    const struct task *t = task_find(p->of->agent, p->container_id);
    if (!t)
        return error_set(err, ERR_NOT_FOUND, "container %s does not run on this agent", p->container_id);
    if (!task_runs(t))
        return error_set(err, ERR_PRECONDITION, "the task does not run at the moment");
    if (!task_has_proxy_port(t, p->port))
        return error_set(err, ERR_FORBIDDEN, "port %d is not one of the task's proxy ports", p->port);
    if (check_listener(t, p->port, err) < 0)
        return -1;
    return byte_stream_dial(p->of->streams, "127.0.0.1", p->port, CONNECT_TIMEOUT_S, &h, &p->to_port, err);
}

static void on_asked(void *ctx, struct byte_stream *s, const char *name)
{
    struct agent_streams *all = ctx;
    struct port_stream *p = must_calloc(1, sizeof(*p));
    cleanup_error struct error err = ERROR_INIT;
    p->of = all;
    p->to_master = s;
    LIST_INSERT_HEAD(&all->list, p, in_all);
    if (!read_name(name, p))
        error_set(&err, ERR_INVALID, "a stream goes to CONTAINER:PORT, not to '%s'", name);
    else
        dial(p, &err);
    if (err.kind) {
        log_info("stream.refused", "to=%s reason=%s", log_quote(name), log_quote(error_msg(&err)));
        mux_link_refuse(s, error_msg(&err));
        forget(p);
        return;
    }
    byte_stream_set_handler(s, &(struct byte_stream_handler){.on_close = on_master_closed, .ctx = p});
}

/* ---- the link ---------------------------------------------------------------------------------------------------- */

static void send_frame(void *ctx, const struct mux_frame *f)
{
    const struct agent_streams *all = ctx;
    link_send_frame(all->agent->link, f->head, MUX_HEAD, f->body, f->body_n);
}

static size_t link_waiting(void *ctx)
{
    const struct agent_streams *all = ctx;
    return link_pending(all->agent->link);
}

struct agent_streams *agent_streams_new(struct agent *a)
{
    struct agent_streams *all = must_calloc(1, sizeof(*all));
    all->agent = a;
    all->streams = byte_streams_new(a->loop);
    LIST_INIT(&all->list);
    return all;
}

void agent_streams_up(struct agent_streams *all)
{
    all->link = mux_link_new(all->streams, &(struct mux_link_options){.streams_max = MUX_STREAMS_MAX,
                                                                      .on_asked = on_asked,
                                                                      .send = send_frame,
                                                                      .waiting = link_waiting,
                                                                      .ctx = all});
}

void agent_streams_down(struct agent_streams *all)
{
    if (!all->link)
        return;
    mux_link_end(all->link, "the agent has lost its connection to the master");
    mux_link_free(all->link);
    all->link = NULL;
}

void agent_streams_free(struct agent_streams *all)
{
    if (!all)
        return;
    agent_streams_down(all);
    byte_streams_free(all->streams);
    struct port_stream *p;
    while ((p = LIST_FIRST(&all->list)))
        forget(p);
    free(all);
}

int agent_streams_receive(struct agent_streams *all, const void *data, size_t n, struct error *err)
{
    return all->link ? mux_link_receive(all->link, data, n, err) : 0;
}

void agent_streams_drained(struct agent_streams *all)
{
    if (all->link)
        mux_link_drained(all->link);
}

void agent_streams_task_over(struct agent_streams *all, const char *container_id)
{
    static const char why[] = "the task has ended";
    for (struct port_stream *p = LIST_FIRST(&all->list), *next; p; p = next) {
        next = LIST_NEXT(p, in_all);
        if (strcmp(p->container_id, container_id) != 0)
            continue;
        if (p->join && !stream_join_finish(p->join, why))
            continue; /* the join ends by itself: nobody writes to it any more */
        if (!p->join) {
            byte_stream_drop(p->to_port);
            mux_link_refuse(p->to_master, why);
        }
        forget(p);
    }
}
