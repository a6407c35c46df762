/* The agent's connection to the master (contract/link.json): opened by the agent, and opened again for ever.
 *
 *   DOWN ──timer──▶ CONNECTING ──open: AgentHello──▶ GREETING ──MasterHello──▶ UP ──lost──▶ DOWN (0.1 s … backoff_max,
 *   jittered)
 *
 * A master whose epoch is lower than the highest seen of that cluster is a leftover of an earlier start: it is refused.
 * The highest epoch lies in <run_root>/epoch, so that a restarted agent refuses it, too. */
#ifndef DET_AGENT_LINK_H
#define DET_AGENT_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/config.h"
#include "common/base/error.h"
#include "gen/wire.h"
#include "net/loop/loop.h"

struct link;

struct link_handler {
    void (*make_hello)(void *ctx, struct arena *a, struct wire_link_agent_hello *ret); /* devices, tasks */
    void (*on_up)(void *ctx, const struct wire_link_master_hello *hello);
    void (*on_message)(void *ctx, const struct wire_link_master_message *m); /* only while up */
    /* a binary message: a frame of a byte stream (net/streams/mux.h). Only while up; -1 closes the link */
    int (*on_frame)(void *ctx, const void *data, size_t n, struct error *err);
    void (*on_drained)(void *ctx); /* nothing waits to be sent any more; only while up */
    void (*on_down)(void *ctx);    /* only after on_up */
    /* agent_reconnect_attempts attempts in a row have failed; the link goes on trying */
    void (*on_lost)(void *ctx, int attempts);
    /* the master refuses this agent for good, with its present configuration */
    void (*on_fatal)(void *ctx, const char *reason);
    void (*on_closed)(void *ctx); /* follows link_close(), once nothing is open any more */
    void *ctx;
};

struct link *link_new(struct loop *l, const struct agent_config *c, const struct link_handler *h);
void link_free(struct link *k);
void link_open(struct link *k);
void link_close(struct link *k); /* for good; on_closed follows */
bool link_is_up(const struct link *k);
void link_send(struct link *k, const struct wire_link_agent_message *m); /* does nothing while the link is not up */
/* the same, for a binary message of two parts */
void link_send_frame(struct link *k, const void *head, size_t head_n, const void *body, size_t body_n);
size_t link_pending(const struct link *k); /* bytes that wait to be sent */
/* id from the master's last hello; "" before the first one */
const char *link_master_id(const struct link *k);
const char *link_cluster_id(const struct link *k);

#endif
