/* A request under way, between request.c (up to the first step) and steps.c (from there to the reply). */
#ifndef DET_API_REQUEST_RUN_H
#define DET_API_REQUEST_RUN_H

#include "api/pipeline/raw.h"
#include "api/pipeline/request.h"

struct password_job;

/* The live state that a step on the loop is given. Nothing that hangs on a request leads to it but steps.c and request.c. */
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
    void *body;
    size_t body_n;
    struct req_step next;
    req_store_fn *write_step; /* kept: a group that met a full disk runs it again */
    void (*on_gone)(struct req *r);
    struct password_job *password; /* of those that pass through the passwords' lane */
    uint64_t ticket; /* of the last write this request caused; 0 if none */
    struct error err;
    int rc;
    bool waiting, encoded;
    bool access_open; /* whose the object is has yet to be asked of the store */
};

/* `return req_go(…)`: the request goes on with this step. */
int req_go(struct req *r, struct req_step step);
void req_resume(struct req *r, struct req_step step);
/* Runs the step that req_go() was given last, at its place. The request may be over, and freed, when this returns. */
void req_run_step(struct req *r);
/* Ends it with an error, which is taken. */
void req_fail(struct req *r, struct error *err);

#endif
