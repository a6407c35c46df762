#include "common/json/json_reader.h"

#include <stdarg.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/utf8.h"

enum { FOUND_CUT = READER_FOUND_MAX - 8 };

/* --- errors --- */

static void add_path(const struct reader_step *s, struct strbuf *out)
{
    if (!s)
        return;
    add_path(s->parent, out);
    if (!s->name)
        strbuf_addf(out, "[%zu]", s->index);
    else
        strbuf_addf(out, "%s%.*s", out->n > 0 ? "." : "", s->name_n > 100 ? 100 : (int)s->name_n, s->name);
}

int reader_fail(struct reader *r, enum error_kind kind, const char *fmt, ...)
{
    struct strbuf text cleanup_strbuf = STRBUF_INIT;
    add_path(r->step, &text);
    if (text.n > 0)
        strbuf_adds(&text, ": ");
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    return error_set(r->err, kind, "%s", text.s);
}

/* Quotes the value at p, or its beginning, as the sender wrote it. */
const char *reader_found(const char *p, const char *end, char buf[READER_FOUND_MAX])
{
    if (p == end)
        return "the end";
    if (*p == '{' || *p == '[')
        return *p == '{' ? "an object" : "a list";
    size_t n = 1;
    bool quoted = *p == '"';
    while (p + n < end && n < FOUND_CUT && (quoted ? p[n] != '"' : !memchr(",]}: \n\r\t", p[n], 8)))
        n += p[n] == '\\' && quoted && p + n + 1 < end ? 2 : 1;
    bool cut = n >= FOUND_CUT;
    if (quoted && !cut && p + n < end)
        n++;
    for (size_t i = 0; i < n; i++)
        buf[i] = (unsigned char)p[i] < ' ' ? ' ' : p[i];
    n = utf8_check(buf, n);
    memcpy(buf + n, cut ? "…" : "", cut ? 4 : 1);
    return n == 0 ? "a byte that is not UTF-8" : buf;
}

int reader_fail_syntax(struct reader *r, const char *expected)
{
    int line = 1, column = 1;
    for (const char *p = r->start; p < r->p; p++) {
        if (*p == '\n') {
            line++;
            column = 1;
        } else if (!utf8_is_tail(*p)) { /* columns count characters, not bytes */
            column++;
        }
    }
    char found[READER_FOUND_MAX];
    return reader_fail(r, ERR_INVALID, "%sline %d, column %d: expected %s, found %s", r->syntax ? r->syntax : "", line,
                       column, expected, reader_found(r->p, r->end, found));
}

int reader_fail_type(struct reader *r, const char *expected, const char *at)
{
    char found[READER_FOUND_MAX];
    return reader_fail(r, ERR_INVALID, "expected %s, found %s", expected, reader_found(at, r->end, found));
}

/* --- tokens --- */

static void skip_blanks(struct reader *r)
{
    const char *from = r->p;
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
        r->p++;
    r->blanks += (size_t)(r->p - from);
}

/* The next byte that is not blank; 0 at the end (a NUL byte is invalid in every place, too). */
char reader_peek(struct reader *r)
{
    skip_blanks(r);
    return r->p < r->end ? *r->p : '\0';
}

static bool take_char(struct reader *r, char c)
{
    if (reader_peek(r) != c || r->p == r->end)
        return false;
    r->p++;
    return true;
}

bool reader_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return false;
    r->p += n;
    return true;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Checks an escape; r->p is after the backslash. */
static int scan_escape(struct reader *r)
{
    if (r->p == r->end || !memchr("\"\\/bfnrtu", *r->p, 9))
        return reader_fail_syntax(r, "an escape: one of \" \\ / b f n r t u");
    if (*r->p++ != 'u')
        return 0;
    for (int i = 0; i < 4; i++, r->p++)
        if (r->p == r->end || !is_hex(*r->p))
            return reader_fail_syntax(r, "four hexadecimal digits");
    return 0;
}

static int scan_multibyte(struct reader *r)
{
    size_t n = utf8_sequence(r->p, (size_t)(r->end - r->p));
    if (n == 0)
        return reader_fail_syntax(r, "UTF-8");
    r->p += n;
    return 0;
}

/* Reads the text between quotes, and checks it without unescaping it. */
int reader_string(struct reader *r, struct reader_slice *ret)
{
    *ret = (struct reader_slice){.s = ++r->p};
    while (r->p < r->end && *r->p != '"') {
        unsigned char c = (unsigned char)*r->p;
        if (c < ' ')
            return reader_fail_syntax(r, "no control character in a string");
        if (c >= 0x80) {
            if (scan_multibyte(r) < 0)
                return -1;
            continue;
        }
        r->p++;
        if (c != '\\')
            continue;
        ret->escaped = true;
        if (scan_escape(r) < 0)
            return -1;
    }
    if (r->p == r->end)
        return reader_fail_syntax(r, "the closing quote of a string");
    ret->n = (size_t)(r->p++ - ret->s);
    return 0;
}

static uint32_t hex4(const char *s)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++)
        v = v << 4 | (uint32_t)(s[i] <= '9' ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
    return v;
}

/* Decodes an escape; s is after `\u`. Returns how many bytes were used. Half a surrogate pair becomes U+FFFD, and
 * U+0000, which C strings cannot hold, becomes `nul`. */
static size_t unescape_unicode(const char *s, const char *end, const char *nul, char **out)
{
    uint32_t code = hex4(s);
    size_t used = 4;
    if (code >= 0xd800 && code < 0xdc00 && end - s >= 10 && s[4] == '\\' && s[5] == 'u') {
        uint32_t low = hex4(s + 6);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            used = 10;
        }
    }
    if (code == 0)
        *out = stpcpy(*out, nul);
    else
        *out += utf8_put(code, *out);
    return used;
}

/* Unescapes a string in the same memory: at most three bytes replace an escape of six, so the text only becomes
 * shorter. */
static size_t unescape_text(const struct reader_slice *in, const char *nul, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char *p = out;
    const char *end = in->s + in->n;
    for (const char *s = in->s; s < end;) {
        if (*s != '\\')
            *p++ = *s++;
        else if (s[1] == 'u')
            s += 2 + unescape_unicode(s + 2, end, nul, &p);
        else {
            *p++ = to[strchr(from, s[1]) - from];
            s += 2;
        }
    }
    *p = '\0';
    return (size_t)(p - out);
}

static const char *text_of(struct reader *r, struct reader_slice *in, const char *nul)
{
    if (!in->escaped)
        return arena_strndup(r->a, in->s, in->n);
    char *text = arena_alloc(r->a, in->n + 1);
    in->n = unescape_text(in, nul, text);
    in->s = text;
    in->escaped = false;
    return text;
}

/* The text ends in a NUL byte and lives in the arena. */
const char *reader_text(struct reader *r, struct reader_slice *in)
{
    return text_of(r, in, UTF8_REPLACEMENT);
}
const char *reader_text_with_nul(struct reader *r, struct reader_slice *in)
{
    return text_of(r, in, UTF8_NUL);
}

int reader_number(struct reader *r, struct reader_slice *ret)
{
    size_t n = number_scan(r->p, (size_t)(r->end - r->p));
    if (n == 0)
        return reader_fail_syntax(r, "a value");
    *ret = (struct reader_slice){r->p, n, false};
    r->p += n;
    return 0;
}

/* --- walking objects and lists --- */

int reader_enter(struct reader *r)
{
    r->p++;
    if (++r->depth > READER_DEPTH_MAX)
        return reader_fail(r, ERR_INVALID, "nested deeper than %d levels", READER_DEPTH_MAX);
    return 0;
}

static int read_key(struct reader *r, struct reader_slice *ret)
{
    if (reader_peek(r) != '"')
        return reader_fail_syntax(r, "a name in quotes");
    if (reader_string(r, ret) < 0)
        return -1;
    if (ret->escaped)
        reader_text(r, ret);
    if (!take_char(r, ':'))
        return reader_fail_syntax(r, "':'");
    return 0;
}

int reader_next(struct reader *r, char close, bool first, struct reader_slice *key)
{
    bool more = !first && take_char(r, ',');
    if (!more && take_char(r, close)) {
        r->depth--;
        return 0;
    }
    if (!more && !first)
        return reader_fail_syntax(r, close == '}' ? "',' or '}'" : "',' or ']'");
    return key && read_key(r, key) < 0 ? -1 : 1;
}

int reader_object(struct reader *r, reader_member_fn *fn, void *ctx)
{
    if (reader_enter(r) < 0)
        return -1;
    const struct reader_step *outer = r->step;
    struct reader_slice key;
    int again = reader_next(r, '}', true, &key);
    while (again > 0) {
        struct reader_step here = {outer, key.s, key.n, 0};
        r->step = &here;
        if (fn(r, &key, ctx) < 0)
            return -1;
        r->step = outer;
        again = reader_next(r, '}', false, &key);
    }
    return again;
}

int reader_list(struct reader *r, reader_member_fn *fn, void *ctx)
{
    if (reader_enter(r) < 0)
        return -1;
    struct reader_step here = {r->step, NULL, 0, 0};
    int again = reader_next(r, ']', true, NULL);
    while (again > 0) {
        r->step = &here;
        if (fn(r, NULL, ctx) < 0)
            return -1;
        r->step = here.parent;
        here.index++;
        again = reader_next(r, ']', false, NULL);
    }
    return again;
}

/* --- values that nobody looks into --- */

static int skip_member(struct reader *r, const struct reader_slice *key, void *ctx)
{
    return reader_skip(r);
}

int reader_skip(struct reader *r)
{
    struct reader_slice ignored;
    switch (reader_peek(r)) {
    case '{':
        return reader_object(r, skip_member, NULL);
    case '[':
        return reader_list(r, skip_member, NULL);
    case '"':
        return reader_string(r, &ignored);
    default:
        break;
    }
    if (reader_word(r, "null") || reader_word(r, "true") || reader_word(r, "false"))
        return 0;
    return reader_number(r, &ignored);
}

int reader_end(struct reader *r)
{
    reader_peek(r);
    return r->p == r->end ? 0 : reader_fail_syntax(r, "the end");
}
