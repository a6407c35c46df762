#include "api/pipeline/raw.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/percent.h"
#include "net/http/http.h"

/* Compares pattern and path segment by segment; both start with '/'. A last segment "*" of the pattern matches whatever
 * follows, also nothing. */
static bool pattern_matches(const char *pattern, const char *path, struct arena *a, const char *param[RAW_PARAM_MAX])
{
    int params = 0;
    for (;;) {
        if (strcmp(pattern, "/*") == 0)
            return true;
        size_t want = strcspn(pattern + 1, "/"), have = strcspn(path + 1, "/");
        if (pattern[1] == ':' && have > 0) {
            struct strbuf value = STRBUF_INIT;
            if (params == RAW_PARAM_MAX || http_percent_decode(path + 1, have, false, &value) < 0) {
                strbuf_release(&value);
                return false;
            }
            param[params++] = arena_strdup(a, strbuf_str(&value));
            strbuf_release(&value);
        } else if (want != have || memcmp(pattern + 1, path + 1, want) != 0) {
            return false;
        }
        pattern += 1 + want;
        path += 1 + have;
        if (!*path && strcmp(pattern, "/*") == 0)
            return true;
        if (!*pattern || !*path)
            return !*pattern && (!*path || strcmp(path, "/") == 0);
    }
}

const struct raw_route *raw_route_find(struct http_request *http, struct arena *a, const char *param[RAW_PARAM_MAX])
{
    const char *path = http_request_path(http);
    const char *method = http_method_name(http_request_method(http));
    if (path[0] != '/')
        return NULL;
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    for (size_t i = 0; i < raw_route_n; i++) {
        const struct raw_route *row = &raw_routes[i];
        if ((!row->method || strcmp(row->method, method) == 0) && pattern_matches(row->pattern, path, a, param))
            return row;
    }
    return NULL;
}

void req_redirect(struct req *r, int status, const char *to)
{
    r->reply.status = status;
    r->reply.content_type = "text/plain";
    req_add_header(r, "Location", to);
    req_add_header(r, "Cache-Control", "no-store");
    req_add_header(r, "Referrer-Policy", "no-referrer");
}

void req_redirect_to_login(struct req *r, const char *page, const char *way_back)
{
    cleanup_strbuf struct strbuf to = STRBUF_INIT;
    strbuf_addf(&to, "%s?redirect=", page);
    strbuf_add_percent(&to, way_back, PERCENT_UNRESERVED "/");
    req_redirect(r, 303, arena_strdup(&r->arena, strbuf_str(&to)));
}
