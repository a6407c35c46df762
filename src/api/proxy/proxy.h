/* What the requests to /proxy/ share: the services that were looked up, the relays, and how many connections each user
 * has to tasks. */
#ifndef DET_API_PROXY_PROXY_H
#define DET_API_PROXY_PROXY_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct config;
struct core;
struct loop;
struct proxy;

struct proxy *proxy_new(struct loop *l, struct core *core,
                        const struct config *c); /* without a configuration nothing is let through */
/* Requests to /proxy/ that were not passed on, by reason. */
#define PROXY_REFUSALS(X) \
    X(VISITOR, "visitor") /* nobody who may use the service, or a request that is none for this port */ \
    X(LIMIT, "limit")     /* proxy.connections, or proxy.connections_per_user */ \
    X(NOT_READY, \
      "not_ready") /* the task waits, starts, or has ended, or its agent is away or takes no more connections */ \
    X(UNREACHABLE, "unreachable") /* no program answers at the port */ \
    X(LATE, "late")               /* the port, or its agent, has not answered in time */
enum proxy_refusal {
#define PROXY_REFUSAL(name, text) PROXY_REFUSED_##name,
    PROXY_REFUSALS(PROXY_REFUSAL)
#undef PROXY_REFUSAL
        PROXY_REFUSAL_NR
};

struct proxy_stats {
    size_t open;                 /* requests and connections at present, those included that still connect */
    uint64_t requests, tcp;      /* passed on so far: of HTTP (WebSockets included), and to ports of TCP */
    uint64_t broken;             /* answers of tasks that could not be understood, broke off, or did not come */
    uint64_t to_task, from_task; /* bytes, heads not counted */
    uint64_t refused[PROXY_REFUSAL_NR];
};
struct proxy_stats proxy_stats(const struct proxy *p);
const char *proxy_refusal_name(enum proxy_refusal why);

void proxy_free(struct proxy *p); /* call it after http_server_free(); NULL is accepted */

#endif
