/* What agent_hub.c, agent_reports.c, agent_keys.c and agent_certificates.c share. Other files do not include it.
 *
 *   agent_hub.c      the connections: who may connect, the first and the last message, and everything that is sent to
 *                    agents
 *   agent_streams.c  byte streams to ports of tasks
 *   agent_reports.c  messages of agents become events of the core and log lines of the store */
#ifndef DET_MASTER_AGENTS_AGENT_HUB_INTERNAL_H
#define DET_MASTER_AGENTS_AGENT_HUB_INTERNAL_H

#include <stdbool.h>
#include <sys/queue.h>

#include "api/cluster/agent_views.h"
#include "common/base/hash.h"
#include "master/agents/agent_hub.h"
#include "master/agents/agent_inbox.h"
#include "master/master.h"

enum { LINK_PROTOCOL = 1 };

struct held;
struct log_batch;

/* One agent's connection. The hub knows it by the agent's id once the agent has sent its hello; no other message is
 * taken before that. The master answers with the welcome, which needs data from the store. An agent takes no order
 * before its welcome, so messages to the agent are held until then. */
struct link {
    struct agent_hub *hub;
    struct ws *ws;
    struct agent_inbox *inbox;
    /* each connection has another number, so that a late completion is not taken for one of a new connection */
    uint64_t serial;
    char agent_id[CORE_AGENT_ID_MAX];
    char peer[CORE_ADDRESS_MAX]; /* the agent's address, which its containers have unless they report another one */
    bool greeted, welcomed;
    bool joins;                /* the agent has connected with a token, and may be given a key of its own */
    int64_t join_token;        /* the one with which it has joined; 0: the cluster's own */
    char pool[CORE_POOL_MAX];  /* the only pool that its token or key is good for; "": any */
    struct mux_link *streams;  /* byte streams to ports of tasks; NULL: the agent's program knows none */
    char version[64];          /* of the agent's program, as it says */
    char *certificate_problem; /* why the certificate that it has shown is passed over; NULL: there is nothing to say */
    int64_t given_until_us; /* the end of the certificate that it was given and has not taken yet; 0: there is none */
    int64_t certified_us;   /* when it last asked for one, by the monotonic clock; 0: not yet */
    STAILQ_HEAD(, held) held;
    size_t held_bytes;
    UT_hash_handle hh;
};

struct agent_hub {
    struct master *m;
    struct link *by_id;
    struct agent_inboxes *inboxes;
    struct byte_streams *streams; /* to ports of tasks, through links and directly */
    uint64_t last_serial;
    bool stopping; /* the master ends and closes all connections, so the core is not told of their ends */
    /* the batches of log lines that are with the writer: the newest batch of each container */
    struct log_batch *newest;
};

/* ---- agent_hub.c ------------------------------------------------------------------------------------------------- */

struct link *hub_find_link(struct agent_hub *h, const char *agent_id); /* NULL: the agent is not connected */
/* Returns an empty message that has the epoch. */
struct wire_link_master_message hub_message(const struct agent_hub *h);
void link_send(struct link *l, const struct wire_link_master_message *message);
void link_refuse(struct link *l, bool fatal, const char *reason); /* sends the reason, and closes the connection */

/* ---- agent_reports.c --------------------------------------------------------------------------------------------- */

void link_hear(struct link *l,
               struct agent_inbox_message *received); /* handles one message; may take over its arena and lines */

/* ---- agent_streams.c --------------------------------------------------------------------------------------------- */

/* The agent's hello: the link can carry streams from its welcome on, if the agent's program knows them. */
void link_begin_streams(struct link *l, const struct wire_link_agent_hello *hello);
void link_receive_frame(struct link *l, const void *data, size_t n); /* a binary message */
void link_streams_drained(struct link *l);
void link_end_streams(struct link *l, int code); /* the link is closed */

#endif
