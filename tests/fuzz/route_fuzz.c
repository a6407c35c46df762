/* Any bytes as a request line and body: "PATH\nQUERY\nBODY". Nothing may break; a route that is found has all its
 * parameters, and they hold no byte that its path did not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gen/routes.h"
#include "gen/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *cut_line(char **rest)
{
    char *line = *rest, *end = strchr(line, '\n');
    *rest = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

static void try_method(const char *method, const char *path, const char *query, const char *body, size_t body_n)
{
    struct arena a cleanup_arena = ARENA_INIT;
    struct error err cleanup_error = ERROR_INIT;
    struct route_match m;
    if (route_find(routes, ROUTES_N, method, path, strlen(path), &a, &m) < 0)
        return;
    for (size_t i = 0; i < m.param_n; i++)
        if (strchr(m.param[i].value, '/') || strlen(m.param[i].value) > strlen(path))
            abort();
    void *request = arena_alloc(&a, m.route->request->size);
    if (route_bind(&m, query, body, body_n, &a, request, &err) < 0) {
        if (err.kind != ERR_INVALID && err.kind != ERR_TOO_LARGE)
            abort();
        return;
    }
    struct strbuf out cleanup_strbuf = STRBUF_INIT;
    codec_encode(m.route->request, request, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    struct strbuf text cleanup_strbuf = STRBUF_INIT;
    strbuf_add(&text, data, n);
    char *rest = text.s, *path = cut_line(&rest), *query = cut_line(&rest);
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
        try_method(methods[i], path, query, rest, (size_t)(text.s + text.n - rest));
    return 0;
}
