/* Routes of the contract: the rows that tools/gen-contract makes (gen/routes.h), and the search for the row of a
 * request.
 *
 * Rules (docs/spec/wire.md#path-and-query): rows are tried in the order of declaration, and the first that matches
 * method and path wins. The path is percent-decoded before it is split, so an encoded slash splits, too. A trailing
 * slash is ignored. A colon in the last segment matches no row. A request without a row is answered 501, not 404 or
 * 405. */
#ifndef DET_COMMON_CODEC_ROUTE_H
#define DET_COMMON_CODEC_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/codec/codec.h"

/* The thread that serves a route. A planned route has no handler yet and is answered 501. */
enum route_kind { ROUTE_PLANNED, ROUTE_LOOP, ROUTE_READ, ROUTE_LOOKUP, ROUTE_WRITE, ROUTE_WORK, ROUTE_STREAM };
enum route_body { ROUTE_BODY_NONE, ROUTE_BODY_STAR, ROUTE_BODY_FIELD };

struct route_segment {
    const char *literal; /* NULL for a parameter */
    size_t literal_n;
    const char *param; /* a field of the request, maybe dotted: "experiment.id" */
};

struct route {
    const char *rpc, *method, *path, *group;
    char tier; /* 'A' … 'D' */
    enum route_kind kind;
    bool unauth, stream, deprecated;
    const struct route_segment *segment;
    size_t segment_n;
    const struct codec_message *request, *response;
    enum route_body body;
    int body_field;    /* ROUTE_BODY_FIELD: index into request->field; else -1 */
    uint32_t body_max; /* bytes */
};

enum { ROUTE_PARAMS_MAX = 8 };
struct route_match {
    const struct route *route;
    size_t param_n;
    struct route_param {
        const char *name, *value;
    } param[ROUTE_PARAMS_MAX]; /* values are decoded, in the arena */
};

/* Finds the row of a request. Returns -1 if no row matches, or the path is malformed. `path` is as it was received,
 * without the query. */
int route_find(const struct route *rows, size_t row_n, const char *method, const char *path, size_t path_n,
               struct arena *a, struct route_match *ret);
/* Fills the request message of the route: from the body, then the query (key=value&…, percent-encoded, without '?'),
 * then the path parameters, which win. `ret` points to route->request->size zeroed bytes. */
int route_bind(const struct route_match *m, const char *query, const char *body, size_t body_n, struct arena *a,
               void *ret, struct error *err);

#endif
