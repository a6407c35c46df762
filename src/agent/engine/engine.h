/* A container engine that speaks the API of Docker's engine over a Unix socket: Docker itself, or Podman's service.
 *
 * All functions are called on the loop's thread, and all answers arrive there, never from within the call that asked. A
 * reply that is no JSON, or of an unknown form, is an error like any other: what an engine says is checked. */
#ifndef DET_AGENT_ENGINE_ENGINE_H
#define DET_AGENT_ENGINE_ENGINE_H

#include <stdbool.h>

#include "common/base/error.h"
#include "common/json/json.h"
#include "net/loop/loop.h"

struct engine {
    struct loop *loop;
    const char *name;   /* "docker", "podman", "apptainer" or "singularity" */
    const char *socket; /* path */
    bool wants_proxy;   /* the agent has a proxy, so that the engine should have one, too */
    /* What the engine has said of itself; `known` is false until it has answered for the first time. An engine that
     * lacks a proxy stays unknown and is asked at every greeting: it may get one while this agent runs. */
    bool known;
    char api[16];  /* version of the API that is used: "1.41" */
    char arch[32]; /* processors of its machine, as images name them: "amd64" */
    char release[32];
    bool rootless; /* root of a container is the user that the engine runs as */
    bool remaps;   /* the engine gives containers other users than the machine's, unless a container says otherwise */
    bool limits_memory, limits_processes;
    bool has_proxy; /* for its pulls; the agent's proxies do not count for these */
    /* The engine is a program without a socket: no function of this file may be called with it (engine/apptainer.h). */
    bool by_command;
};

void engine_init(struct engine *e, struct loop *loop, const char *name, const char *socket);

/* One request. `path` comes after the API's version: "/containers/json". */
struct engine_request {
    const char *method, *path;
    struct json_object *body; /* borrowed; NULL: none */
    const char *header;       /* one further header, or NULL */
    bool unversioned;
    int timeout_s; /* 0: none */
    /* If it is set, it gets a successful reply piece by piece, and `body` of the reply is NULL. */
    int (*on_data)(const void *data, size_t n, void *ctx);
    void *data_ctx;
};

/* body: NULL for an empty reply. On failure the kind says what failed: ERR_UNAVAILABLE: the engine did not answer;
 * ERR_NOT_FOUND, ERR_CONFLICT, ERR_INVALID: it refused the request; ERR_BAD_GATEWAY: it failed, or its answer cannot be
 * understood. */
typedef void engine_reply_fn(void *ctx, struct json_object *body, const struct error *err);
struct engine_call;
struct engine_call *engine_ask(struct engine *e, const struct engine_request *q, engine_reply_fn *done, void *ctx);
void engine_call_cancel(struct engine_call *c); /* `done` is not called */

/* Asks whether the engine answers, and what it is. Must succeed before anything else is asked of the engine. */
typedef void engine_done_fn(void *ctx, const struct error *err);
struct engine_greeting;
struct engine_greeting *engine_greet(struct engine *e, engine_done_fn *done, void *ctx);
void engine_greeting_cancel(struct engine_greeting *g);

/* Who takes lines about what an engine does, without their newlines. */
struct engine_lines {
    void (*take)(void *ctx, const char *line, size_t n);
    void *ctx;
};
void engine_tell(const struct engine_lines *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether an engine's answer to GET /info names a proxy. */
bool engine_info_has_proxy(struct json_object *info);
/* The text at a path of names, "State.Error"; "" if there is none. */
const char *engine_text(struct json_object *o, const char *path);
bool engine_flag(struct json_object *o, const char *path);

#endif
