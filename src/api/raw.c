#include "api/raw.h"

#include <string.h>

#include "api/raw_handlers.h"
#include "net/http.h"

/* In match order. What is open without credentials is exactly what the contract says: /info and /health; /agents asks
 * for the agents' token by itself, and / only points to the web interface. */
const struct raw_route raw_routes[] = {
    {"GET", "/", REQ_LOOP, true, false, raw_root, "Redirects to the web interface."},
    {"GET", "/info", REQ_LOOP, true, false, raw_info, "Identity and version of the master."},
    {"GET", "/health", REQ_LOOP, true, false, raw_health, "Whether the store and the resource managers answer."},
    {"GET", "/agents", REQ_LOOP, true, false, raw_agents, "The agents' WebSocket; asks for the agents' token."},
    {"GET", "/metrics", REQ_LOOP, false, false, raw_metrics, "OpenMetrics of the master."},
    {"GET", "/debug/prom/metrics", REQ_LOOP, false, false, raw_metrics, "The same under the predecessor's name."},
    {"POST", "/task-logs", REQ_WORK, false, true, raw_task_logs, "Appends task logs; a JSON array of entries."},
    {"GET", "/experiments/:id/model_def", REQ_READ, false, false, raw_model_definition, "Model definition as .tar.gz."},
    {"GET", "/experiments/:id/file/download", REQ_READ, false, false, raw_model_file, "One file of it, by ?path=."},
    {"GET", "/checkpoints/:uuid", REQ_LOOP, false, false, raw_checkpoint,
     "The files of a checkpoint as .tar, .tar.gz or .zip, by Accept; ranges go on where a download broke off."},
    {"GET", "/experiments/:id/preview_gc", REQ_READ, false, false, raw_preview_gc,
     "Checkpoints that a policy would remove."},
    {"GET", "/proxy/:service", REQ_READ, false, false, raw_proxy, "A WebSocket to a TCP port of a running trial, TASK:PORT."},
    {"GET", "/users/me", REQ_LOOP, false, false, raw_users_me, "The current user, in the legacy form."},
};
const size_t raw_route_n = sizeof(raw_routes) / sizeof(raw_routes[0]);

/* Walks pattern and path segment by segment; both start with '/'. */
static bool pattern_matches(const char *pattern, const char *path, struct arena *a, const char *param[RAW_PARAM_MAX])
{
    int params = 0;
    for (;;) {
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
