/* The request pipeline's side for the other files of src/api (request.c, steps.c); handlers include api.h. */
#ifndef DET_API_REQUEST_H
#define DET_API_REQUEST_H

#include "api/pipeline/handler.h"

/* The JSON body of an error: {"error":{code, reason, error}} for RPC routes, {"error":{grpcCode, httpCode, …}} for
 * their streams, {"message": …} for all others. */
enum req_error_form { REQ_ERROR_RPC, REQ_ERROR_STREAM, REQ_ERROR_RAW };
void req_error_body(const struct error *err, enum req_error_form form, struct strbuf *out);

/* Where a step runs, and the step, of the type that its place has. REQ_LATER is the loop in its next turn. */
enum req_place { REQ_NOWHERE, REQ_LOOP, REQ_LATER, REQ_READ, REQ_SEARCH, REQ_WRITE, REQ_WORK, REQ_TRANSFER, REQ_PASSWORD };
struct req_step {
    enum req_place place; /* REQ_NOWHERE: there is none */
    union {
        req_loop_fn *loop;   /* REQ_LOOP, REQ_LATER */
        req_store_fn *store; /* REQ_READ, REQ_SEARCH, REQ_WRITE, REQ_PASSWORD */
        req_work_fn *work;   /* REQ_WORK, REQ_TRANSFER */
    };
};

/* Frees a request that has answered by other means (streams, upgrades). */
void req_drop(struct req *r);

#endif
