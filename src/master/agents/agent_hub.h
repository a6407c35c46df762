/* The agents' connections: one WebSocket each, messages of contract/link.json. Turns what agents say into core events
 * and log batches, and sends them what the core decided. Loop's thread only. */
#ifndef DET_MASTER_AGENTS_AGENT_HUB_H
#define DET_MASTER_AGENTS_AGENT_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "core/records/states.h"
#include "net/streams/byte_stream.h"

struct agent_entry;
struct agent_hub;
struct http_request;
struct master;
struct strbuf;

struct agent_hub *agent_hub_new(struct master *m);
/* Closes the connection of every agent. What happens on agents from then on is reported to the next master. */
void agent_hub_stop(struct agent_hub *h);
/* To be called after the HTTP server was freed, because it owns the connections. */
void agent_hub_free(struct agent_hub *h);

/* Takes over an authenticated GET /agents. If it fails, the caller still has to answer the request. */
int agent_hub_accept(struct agent_hub *h, struct http_request *http, const char *agent_id,
                     const struct agent_entry *entry, struct error *err);
void agent_hub_drop(struct agent_hub *h, const char *agent_id,
                    const char *why); /* closes the agent's connection; the agent may connect again */

/* These functions do nothing while the agent is not connected. The core sends the same again when the agent comes
 * back. */
void agent_hub_welcome(struct agent_hub *h, const char *agent_id, const char *const *container_id, size_t n);
void agent_hub_signal(struct agent_hub *h, const char *agent_id, const char *container_id, int signal);
void agent_hub_ack(struct agent_hub *h, const char *agent_id, const char *container_id, enum container_state state);
/* message is an encoded link.v1.MasterMessage. */
void agent_hub_send(struct agent_hub *h, const char *agent_id, const struct strbuf *message);

/* agent_streams.c: opens a byte stream to a port of a container, through its agent's link or directly, as
 * task_streams.route says. Fails if the container does not run, or its agent cannot be reached, or too many streams are
 * open; everything else is reported by the handler's on_close. */
int agent_streams_open(struct agent_hub *h, const char *container_id, int port,
                       const struct byte_stream_handler *handler, struct byte_stream **ret, struct error *err);
struct byte_streams_stats agent_streams_stats(const struct agent_hub *h);

/* Tells all agents that the master has another certificate. */
void agent_hub_tell_certificate(struct agent_hub *h, const char *sha256);

int agent_hub_count(const struct agent_hub *h);
/* The address from which the agent has connected; NULL while it is not connected. */
const char *agent_hub_peer(const struct agent_hub *h, const char *agent_id);

#endif
