/* Raw routes: those that are in contract/served.json but not in contract/api.json. Their errors are {"message": …}. */
#ifndef DET_API_PIPELINE_RAW_H
#define DET_API_PIPELINE_RAW_H

#include "api/pipeline/access.h"
#include "api/pipeline/request.h"

enum { RAW_PARAM_MAX = 2 };

struct raw_route {
    const char *method;  /* NULL: any method */
    const char *pattern; /* segments; ":name" matches one segment, a final "*" matches the rest */
    struct req_step first;
    const char *what; /* one sentence for the documentation */
    struct access_row access;
};

extern const struct raw_route raw_routes[]; /* in the order in which they are matched; made by tools/gen-contract */
extern const size_t raw_route_n;

/* The first row that matches, or NULL. Path parameters are percent-decoded into the arena. */
const struct raw_route *raw_route_find(struct http_request *http, struct arena *a, const char *param[RAW_PARAM_MAX]);
/* What a raw handler may ask of its request. Path parameters are numbered by position. The body can be read on every
 * thread. */
const char *req_raw_param(const struct req *r, int index);
const char *req_query(const struct req *r); /* as it came, without the question mark; "": there is none */
/* The decoded query parameter, the first of that name; NULL if the request has none. */
int req_query_param(struct req *r, const char *name, const char **ret, struct error *err);
const void *req_body(const struct req *r, size_t *ret_n);
void req_drop_body(
    struct req *r); /* frees a large body once it is decoded: the message has copies of all that it needs */
/* Sends a browser on; nothing on the way keeps the answer, and the next page is not told from where the browser comes.
 */
void req_redirect(struct req *r, int status, const char *to);
/* Sends a browser to the page at which people log in ("/det/login"), from where it comes back to `way_back`. */
void req_redirect_to_login(struct req *r, const char *page, const char *way_back);
const char *req_bearer(const struct req *r); /* the token in the Authorization header, or NULL; loop only */

#endif
