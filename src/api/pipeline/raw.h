/* Routes that are not in contract/api.json but in served.json only. Their errors are {"message": …}. */
#ifndef DET_API_RAW_H
#define DET_API_RAW_H

#include "api/pipeline/access.h"
#include "api/pipeline/request.h"

enum { RAW_PARAM_MAX = 2 };

struct raw_route {
    const char *method;  /* NULL: any */
    const char *pattern; /* segments; ":name" takes one, a last "*" the rest */
    struct req_step first;
    const char *what;    /* one sentence, for the documentation */
    struct access_row access;
};

extern const struct raw_route raw_routes[]; /* in match order; made by tools/gen-contract */
extern const size_t raw_route_n;

/* The first row that matches, or NULL; parameters are percent-decoded into the arena. */
const struct raw_route *raw_route_find(struct http_request *http, struct arena *a, const char *param[RAW_PARAM_MAX]);
/* What a raw handler asks of its request. Path parameters by position; the body is there on every thread. */
const char *req_raw_param(const struct req *r, int index);
/* The decoded query parameter, NULL if it is not there. */
int req_query_param(struct req *r, const char *name, const char **ret, struct error *err);
const void *req_body(const struct req *r, size_t *ret_n);
void req_drop_body(struct req *r); /* large ones, once they are decoded: the message has copies of all that it needs */
const char *req_bearer(const struct req *r); /* the Authorization header's token, or NULL; loop only */

#endif
