/* Percent-escapes and query strings. */
#include "common/base/hex.h"
#include "net/http/http.h"

#include <string.h>
#include <strings.h>

int http_percent_decode(const char *s, size_t n, bool plus_is_blank, struct strbuf *out)
{
    strbuf_reserve(out, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '%') {
            int high = n - i > 2 ? hex_digit(s[i + 1]) : -1;
            int low = n - i > 2 ? hex_digit(s[i + 2]) : -1;
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

/* ---- headers of conditional and compressed replies ---------------------------------------------------------- */

/* Whether the parameters that follow a coding refuse it: q=0, with or without digits behind the point. */
static bool is_refused(const char *parameters, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        bool begins = i == 0 || strchr("; \t", parameters[i - 1]);
        if (begins && (parameters[i] == 'q' || parameters[i] == 'Q') && parameters[i + 1] == '=') {
            size_t digits = strspn(parameters + i + 2, "0.");
            size_t end = i + 2 + digits;
            return digits > 0 && (end >= n || strchr("; \t,", parameters[end]));
        }
    }
    return false;
}

bool http_accepts_coding(const char *accept_encoding, const char *coding)
{
    size_t coding_n = strlen(coding);
    for (const char *p = accept_encoding; p && *p;) {
        p += strspn(p, " \t,");
        size_t n = strcspn(p, ","), name_n = strcspn(p, " \t,;");
        if (name_n == coding_n && strncasecmp(p, coding, name_n) == 0)
            return !is_refused(p + name_n, n - name_n);
        p += n;
    }
    return false;
}

bool http_tag_matches(const char *if_none_match, const char *tag)
{
    size_t tag_n = strlen(tag);
    for (const char *p = if_none_match; p && *p;) {
        p += strspn(p, " \t,");
        size_t n = strcspn(p, " \t,");
        if (n == 1 && *p == '*')
            return true;
        size_t weak = strncmp(p, "W/", 2) == 0 ? 2 : 0;
        if (n - weak == tag_n && strncmp(p + weak, tag, tag_n) == 0)
            return true;
        p += n;
    }
    return false;
}
