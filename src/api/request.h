/* The request pipeline's side for the other files of src/api (see request.c); handlers include api.h. */
#ifndef DET_API_REQUEST_H
#define DET_API_REQUEST_H

#include "api/api.h"

/* The JSON body of an error: {"error":{code, reason, error}} for RPC routes, {"message": …} for all others. */
void req_error_body(const struct error *err, bool rpc, struct strbuf *out);

/* Frees a request that has answered by other means (streams, upgrades). */
void req_drop(struct req *r);

#endif
