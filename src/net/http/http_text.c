/* Percent-escapes and query strings. */
#include "net/http/http.h"

#include <string.h>

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int http_percent_decode(const char *s, size_t n, bool plus_is_blank, struct strbuf *out)
{
    strbuf_reserve(out, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '%') {
            int high = n - i > 2 ? hex_value(s[i + 1]) : -1;
            int low = n - i > 2 ? hex_value(s[i + 2]) : -1;
            if (high < 0 || low < 0)
                return -1;
            strbuf_addc(out, (char)(high << 4 | low));
            i += 2;
        } else {
            strbuf_addc(out, s[i] == '+' && plus_is_blank ? ' ' : s[i]);
        }
    }
    return 0;
}

static int decode_part(const char *s, size_t n, const char *what, struct strbuf *out, struct error *err)
{
    strbuf_reset(out);
    if (http_percent_decode(s, n, /* plus_is_blank= */ true, out) < 0)
        return error_set(err, ERR_INVALID, "the query's %s \"%.*s\" has a %% that no two hex digits follow", what,
                         n < 60 ? (int)n : 60, s);
    if (out->n && memchr(out->s, '\0', out->n))
        return error_set(err, ERR_INVALID, "the query's %s \"%.*s\" has a NUL (%%00)", what, n < 60 ? (int)n : 60, s);
    return 0;
}

int http_query_each(const char *query, http_query_fn *fn, void *ctx, struct error *err)
{
    cleanup_strbuf struct strbuf name = STRBUF_INIT;
    cleanup_strbuf struct strbuf value = STRBUF_INIT;
    for (const char *p = query; *p;) {
        size_t n = strcspn(p, "&");
        const char *equals = memchr(p, '=', n);
        size_t name_n = equals ? (size_t)(equals - p) : n;
        size_t value_n = equals ? n - name_n - 1 : 0;
        if (n > 0) {
            if (decode_part(p, name_n, "name", &name, err) < 0 ||
                decode_part(p + n - value_n, value_n, "value", &value, err) < 0)
                return -1;
            if (fn(strbuf_str(&name), strbuf_str(&value), ctx, err) < 0)
                return -1;
        }
        p += n;
        p += *p == '&';
    }
    return 0;
}
