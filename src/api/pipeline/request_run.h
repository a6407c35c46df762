/* The state of a request under way, for request.c (up to the first step) and steps.c (from there to the reply). */
#ifndef DET_API_PIPELINE_REQUEST_RUN_H
#define DET_API_PIPELINE_REQUEST_RUN_H

#include "api/pipeline/raw.h"
#include "api/pipeline/request.h"

struct password_job;

/* The live state that a step on the loop is given. Only steps.c and request.c can reach it from a request. */
struct live {
    struct core *core;
};

struct req_run {
    struct {
        bool is_rpc_path;
        struct route_match rpc;
        const struct raw_route *raw;
        const char *raw_param[RAW_PARAM_MAX];
    } match;
    char *query;
    const char *known_tag; /* If-None-Match of a GET of an RPC route; NULL: the client asks for no tag */
    void *body;
    size_t body_n;
    struct req_step next;
    /* The write step, and r->state as it was before that step: the writer runs the step again if the group of steps
     * that it is in could not be committed, and the first run may have put another state in its place. */
    req_store_fn *write_step;
    void *write_state;
    void (*on_gone)(struct req *r);
    struct password_job *password; /* set for requests that pass through the password lane */
    const char *author;            /* req_author(), once it was asked for */
    uint64_t ticket;               /* number of the last write that this request caused; 0: none */
    struct error err;
    int rc;
    bool waiting, encoded;
    bool access_open;  /* the store has yet to be asked who owns the object, or which workspace it is in */
    bool access_asked; /* the handler has asked for a permission (access.h) */
    struct store_live_place *live_place; /* for ACCESS_IN_LIVE; in the arena */
    size_t live_place_n;
};

/* Sets the step with which the request goes on: `return req_go(…)`. */
int req_go(struct req *r, struct req_step step);
void req_resume(struct req *r, struct req_step step);
/* Runs the step that req_go() was given last, on the thread where it belongs. The request may be over, and freed,
 * when this returns. */
void req_run_step(struct req *r);
/* Ends the request with an error; takes the error over. */
void req_fail(struct req *r, struct error *err);

#endif
