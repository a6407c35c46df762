/* The request pipeline's side for the other files of src/api (request.c, steps.c); handlers include api.h. */
#ifndef DET_API_REQUEST_H
#define DET_API_REQUEST_H

#include "api/api.h"

/* The JSON body of an error: {"error":{code, reason, error}} for RPC routes, {"error":{grpcCode, httpCode, …}} for
 * their streams, {"message": …} for all others. */
enum req_error_form { REQ_ERROR_RPC, REQ_ERROR_STREAM, REQ_ERROR_RAW };
void req_error_body(const struct error *err, enum req_error_form form, struct strbuf *out);

/* Frees a request that has answered by other means (streams, upgrades). */
void req_drop(struct req *r);

#endif
