#include "common/codec/route.h"

#include <string.h>

#include "common/base/hex.h"

/* Percent-decodes s[0 … n). NULL if an escape is malformed or stands for U+0000, which no valid name contains. */
static char *percent_decode(const char *s, size_t n, bool plus_is_blank, struct arena *a)
{
    char *out = arena_alloc(a, n + 1), *p = out;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '+' && plus_is_blank) {
            *p++ = ' ';
        } else if (s[i] == '%') {
            int high = n - i > 2 ? hex_digit(s[i + 1]) : -1, low = n - i > 2 ? hex_digit(s[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0)
                return NULL;
            *p++ = (char)(high << 4 | low);
            i += 2;
        } else {
            *p++ = s[i];
        }
    }
    *p = '\0';
    return out;
}

enum { SEGMENTS_MAX = 16 };
struct split_path {
    char *segment[SEGMENTS_MAX];
    size_t len[SEGMENTS_MAX];
    size_t n;
};

/* Splits the decoded path into segments, in place. */
static int split_at_slashes(char *path, struct split_path *ret)
{
    ret->n = 0;
    if (*path != '/')
        return -1;
    for (char *p = path; p;) {
        *p++ = '\0';
        char *next = strchr(p, '/');
        size_t len = next ? (size_t)(next - p) : strlen(p);
        if (!next && len == 0 && ret->n > 0)
            break; /* a trailing slash */
        if (ret->n == SEGMENTS_MAX)
            return -1;
        ret->segment[ret->n] = p;
        ret->len[ret->n++] = len;
        p = next;
    }
    return memchr(ret->segment[ret->n - 1], ':', ret->len[ret->n - 1]) ? -1 : 0;
}

/* Whether a row matches a path. Compares from the last segment on: rows differ there, while all of them begin with
 * /api/v1. */
static bool row_fits(const struct route *row, const struct split_path *path)
{
    for (size_t i = row->segment_n; i-- > 0;) {
        const struct route_segment *s = &row->segment[i];
        if (s->literal && (s->literal_n != path->len[i] || memcmp(s->literal, path->segment[i], path->len[i]) != 0))
            return false;
    }
    return true;
}

static void collect_params(const struct split_path *path, struct route_match *m)
{
    m->param_n = 0;
    for (size_t i = 0; i < m->route->segment_n && m->param_n < ROUTE_PARAMS_MAX; i++)
        if (m->route->segment[i].param)
            m->param[m->param_n++] = (struct route_param){m->route->segment[i].param, path->segment[i]};
}

int route_find(const struct route *rows, size_t row_n, const char *method, const char *path, size_t path_n,
               struct arena *a, struct route_match *ret)
{
    struct split_path parts;
    char *decoded = percent_decode(path, path_n, false, a);
    if (!decoded || split_at_slashes(decoded, &parts) < 0)
        return -1;
    for (size_t i = 0; i < row_n; i++) {
        if (rows[i].segment_n != parts.n || strcmp(rows[i].method, method) != 0 || !row_fits(&rows[i], &parts))
            continue;
        ret->route = &rows[i];
        collect_params(&parts, ret);
        return 0;
    }
    return -1;
}

static int bind_body(const struct route *row, const char *body, size_t n, struct arena *a, void *ret, struct error *err)
{
    if (row->body == ROUTE_BODY_NONE || n == 0)
        return 0;
    if (row->body == ROUTE_BODY_STAR)
        return codec_decode(row->request, body, n, a, ret, err);
    return codec_decode_field(row->request, &row->request->field[row->body_field], body, n, a, ret, err);
}

static int bind_pair(const struct codec_message *m, const char *pair, size_t n, struct arena *a, void *ret,
                     struct error *err)
{
    const char *equals = memchr(pair, '=', n);
    size_t name_n = equals ? (size_t)(equals - pair) : n;
    char *name = percent_decode(pair, name_n, true, a);
    char *value = equals ? percent_decode(equals + 1, n - name_n - 1, true, a) : arena_strdup(a, "");
    if (!name || !value)
        return error_set(err, ERR_INVALID, "the query has a broken %% escape in \"%.*s\"", n > 100 ? 100 : (int)n,
                         pair);
    return codec_bind(m, ret, name, value, a, err);
}

static int bind_query(const struct codec_message *m, const char *query, struct arena *a, void *ret, struct error *err)
{
    for (const char *p = query; p && *p != '\0';) {
        size_t n = strcspn(p, "&");
        if (n > 0 && bind_pair(m, p, n, a, ret, err) < 0)
            return -1;
        p += n + (p[n] == '&');
    }
    return 0;
}

int route_bind(const struct route_match *m, const char *query, const char *body, size_t body_n, struct arena *a,
               void *ret, struct error *err)
{
    const struct codec_message *request = m->route->request;
    if (bind_body(m->route, body, body_n, a, ret, err) < 0)
        return -1;
    /* A route whose whole message is its body takes nothing from the query. */
    if (m->route->body != ROUTE_BODY_STAR && bind_query(request, query, a, ret, err) < 0)
        return -1;
    for (size_t i = 0; i < m->param_n; i++)
        if (codec_bind(request, ret, m->param[i].name, m->param[i].value, a, err) < 0)
            return -1;
    return 0;
}
