/* The request pipeline as the other files of src/api see it (implemented in request.c and steps.c). Handlers include
 * handler.h. */
#ifndef DET_API_PIPELINE_REQUEST_H
#define DET_API_PIPELINE_REQUEST_H

#include "api/pipeline/handler.h"

/* The form of an error's JSON body: {"error":{code, reason, error}} for RPC routes, {"error":{grpcCode, httpCode,
 * …}} for their streams, {"message": …} for raw routes. */
enum req_error_form { REQ_ERROR_RPC, REQ_ERROR_STREAM, REQ_ERROR_RAW };
void req_error_body(const struct error *err, enum req_error_form form, struct strbuf *out);

/* Where a step runs, and the step with the type that belongs there. REQ_NEXT_TURN is the loop in its next turn. */
enum req_place {
    REQ_NOWHERE,
    REQ_LOOP,
    REQ_NEXT_TURN,
    REQ_READ,
    REQ_LOOKUP,
    REQ_WRITE,
    REQ_WORK,
    REQ_TRANSFER,
    REQ_PASSWORD,
    REQ_DIRECTORY
};
struct req_step {
    enum req_place place; /* REQ_NOWHERE: there is no step */
    union {
        req_loop_fn *loop;   /* REQ_LOOP, REQ_NEXT_TURN */
        req_store_fn *store; /* REQ_READ, REQ_LOOKUP, REQ_WRITE, REQ_PASSWORD */
        req_work_fn *work;   /* REQ_WORK, REQ_TRANSFER, REQ_DIRECTORY */
    };
};

/* Frees a request that was answered by other means (as a stream, or by taking over its connection). */
void req_drop(struct req *r);

#endif
