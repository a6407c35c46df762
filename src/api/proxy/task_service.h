/* Services: ports of tasks that /proxy/SERVICE/ leads to. A service is called TASKID:PORT for a port of
 * environment.proxy_ports, and TASKID for the port that belongs to the kind of task, or that a configuration declares
 * with default_service_id. Only the chief container is reached.
 *
 * What a service is never changes while its task exists, so that it is read from the store once and then kept in
 * memory. What state its task is in is asked of the core each time. */
#ifndef DET_API_PROXY_TASK_SERVICE_H
#define DET_API_PROXY_TASK_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/pipeline/identity.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/permissions.h"

struct core;
struct store;

struct task_service {
    const char *name, *task_id; /* in the arena, or in the cache */
    int port;                   /* 0: the port that each allocation gets for the service of its kind of task */
    bool tcp;                   /* bytes in a WebSocket, not HTTP */
    bool open;                  /* `unauthenticated`: for everybody */
    int32_t owner_id;
    int32_t workspace_id;
    enum permission permission;      /* which one its visitors need, if roles say who may do what */
    int32_t trial_id, experiment_id; /* 0: the task is no trial's */
    bool has_token;                  /* the task has a token of its own, which opens this service and nothing else */
    uint8_t token_hash[TOKEN_HASH_BYTES];
};

/* Reads what a service is. Call it on a thread that has the store. ERR_NOT_FOUND: there is no such service; the message
 * is "service not found: NAME: why". */
int task_service_find(struct store *db, const char *name, struct arena *a, struct task_service *ret, struct error *err);

struct service_cache;
struct service_cache *service_cache_new(void);
void service_cache_free(struct service_cache *c);
/* NULL: it is not there, or too old. Valid until the next service_cache_put(). */
const struct task_service *service_cache_get(const struct service_cache *c, const char *name, int64_t now_us);
void service_cache_put(struct service_cache *c, const struct task_service *s, int64_t now_us);

/* What state the service's task is in, for people and for the proxy. */
enum service_stage {
    SERVICE_WAITS,  /* queued or paused */
    SERVICE_STARTS, /* an agent prepares it */
    SERVICE_RUNS,   /* the task's program runs, though the port may not answer yet */
    SERVICE_OVER,
};
struct service_state {
    enum service_stage stage;
    const char *text;         /* a sentence without its subject, in the arena: "is queued: …" */
    const char *container_id; /* SERVICE_RUNS: the chief container, in the arena */
    int port;
};
/* Call it on the loop. */
void task_service_state(const struct core *core, const struct task_service *s, int64_t now_us, struct arena *a,
                        struct service_state *ret);

/* How the task ended, for people: "the task has ended: …" in the arena. Call it on a thread that has the store. */
const char *task_service_end(struct store *db, const struct task_service *s, struct arena *a);
/* The last line of the task's log, in the arena; NULL: there is none. */
const char *task_service_last_line(struct store *db, const struct task_service *s, struct arena *a);

#endif
