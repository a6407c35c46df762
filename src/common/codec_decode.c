/* JSON in: a recursive descent that is led by the message tables. Rules: common/codec.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/codec.h"
#include "common/codec_internal.h"
#include "common/number.h"
#include "common/utf8.h"

enum { DEPTH_MAX = 100, FOUND_MAX = 40 };

/* Where the reader is, for errors: a chain through the callers' frames. */
struct step {
    const struct step *parent;
    const char *name; /* NULL for an index */
    size_t name_n, index;
};

struct reader {
    const char *start, *p, *end;
    struct arena *a;
    struct error *err;
    const struct step *step;
    int depth;
    size_t blanks;      /* seen so far, outside strings */
    size_t arena_limit; /* see take_budget() */
};

struct slice {
    const char *s;
    size_t n;
    bool escaped;
};

/* --- errors --- */

static void add_path(const struct step *s, struct strbuf *out)
{
    if (s == NULL)
        return;
    add_path(s->parent, out);
    if (s->name == NULL)
        strbuf_addf(out, "[%zu]", s->index);
    else
        strbuf_addf(out, "%s%.*s", out->n > 0 ? "." : "", s->name_n > 100 ? 100 : (int)s->name_n, s->name);
}

static int fail(struct reader *r, enum error_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct reader *r, enum error_kind kind, const char *fmt, ...)
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

/* The value at p, or its beginning, as the sender wrote it. */
static const char *found_text(const char *p, const char *end, char buf[FOUND_MAX + 8])
{
    if (p == end)
        return "the end";
    if (*p == '{' || *p == '[')
        return *p == '{' ? "an object" : "a list";
    size_t n = 1;
    bool quoted = *p == '"';
    while (p + n < end && n < FOUND_MAX && (quoted ? p[n] != '"' : memchr(",]}: \n\r\t", p[n], 8) == NULL))
        n += p[n] == '\\' && quoted && p + n + 1 < end ? 2 : 1;
    bool cut = n >= FOUND_MAX;
    if (quoted && !cut && p + n < end)
        n++;
    for (size_t i = 0; i < n; i++)
        buf[i] = (unsigned char)p[i] < ' ' ? ' ' : p[i];
    n = utf8_check(buf, n);
    memcpy(buf + n, cut ? "…" : "", cut ? 4 : 1);
    return n == 0 ? "a byte that is not UTF-8" : buf;
}

static int fail_syntax(struct reader *r, const char *expected)
{
    int line = 1;
    const char *line_start = r->start;
    for (const char *p = r->start; p < r->p; p++)
        if (*p == '\n') {
            line++;
            line_start = p + 1;
        }
    char found[FOUND_MAX + 8];
    return fail(r, ERR_INVALID, "not valid JSON: line %d, column %zu: expected %s, found %s", line,
                (size_t)(r->p - line_start) + 1, expected, found_text(r->p, r->end, found));
}

static int fail_type(struct reader *r, const char *expected, const char *at)
{
    char found[FOUND_MAX + 8];
    return fail(r, ERR_INVALID, "expected %s, found %s", expected, found_text(at, r->end, found));
}

/* --- tokens --- */

static void skip_blanks(struct reader *r)
{
    const char *from = r->p;
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
        r->p++;
    r->blanks += (size_t)(r->p - from);
}

/* The next byte that counts; 0 at the end (a NUL byte fits no grammar either). */
static char peek(struct reader *r)
{
    skip_blanks(r);
    return r->p < r->end ? *r->p : '\0';
}

static bool take(struct reader *r, char c)
{
    if (peek(r) != c || r->p == r->end)
        return false;
    r->p++;
    return true;
}

static bool take_word(struct reader *r, const char *word)
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

/* r->p is behind the backslash. */
static int scan_escape(struct reader *r)
{
    if (r->p == r->end || memchr("\"\\/bfnrtu", *r->p, 9) == NULL)
        return fail_syntax(r, "an escape: one of \" \\ / b f n r t u");
    if (*r->p++ != 'u')
        return 0;
    for (int i = 0; i < 4; i++, r->p++)
        if (r->p == r->end || !is_hex(*r->p))
            return fail_syntax(r, "four hexadecimal digits");
    return 0;
}

static int scan_multibyte(struct reader *r)
{
    size_t n = utf8_sequence(r->p, (size_t)(r->end - r->p));
    if (n == 0)
        return fail_syntax(r, "UTF-8");
    r->p += n;
    return 0;
}

/* The text between quotes, checked but not yet unescaped. */
static int scan_string(struct reader *r, struct slice *ret)
{
    *ret = (struct slice){.s = ++r->p};
    while (r->p < r->end && *r->p != '"') {
        unsigned char c = (unsigned char)*r->p;
        if (c < ' ')
            return fail_syntax(r, "no control character in a string");
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
        return fail_syntax(r, "the closing quote of a string");
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

/* s is behind `\u`; returns how many bytes were used. Half a surrogate pair becomes U+FFFD, so does U+0000, which C strings
 * cannot hold. */
static size_t unescape_unicode(const char *s, const char *end, char **out)
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
    *out += utf8_put(code == 0 ? 0xfffd : code, *out);
    return used;
}

/* In place of a six-byte escape stand at most three bytes, so the text only shrinks. */
static size_t unescape(const struct slice *in, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char *p = out;
    const char *end = in->s + in->n;
    for (const char *s = in->s; s < end;) {
        if (*s != '\\')
            *p++ = *s++;
        else if (s[1] == 'u')
            s += 2 + unescape_unicode(s + 2, end, &p);
        else {
            *p++ = to[strchr(from, s[1]) - from];
            s += 2;
        }
    }
    *p = '\0';
    return (size_t)(p - out);
}

/* Terminated, in the arena. */
static const char *slice_text(struct reader *r, struct slice *in)
{
    if (!in->escaped)
        return arena_strndup(r->a, in->s, in->n);
    char *text = arena_alloc(r->a, in->n + 1);
    in->n = unescape(in, text);
    in->s = text;
    in->escaped = false;
    return text;
}

static int scan_number(struct reader *r, struct slice *ret)
{
    size_t n = number_scan(r->p, (size_t)(r->end - r->p));
    if (n == 0)
        return fail_syntax(r, "a value");
    *ret = (struct slice){r->p, n, false};
    r->p += n;
    return 0;
}

/* --- walking objects and lists --- */

static int enter(struct reader *r)
{
    r->p++;
    if (++r->depth > DEPTH_MAX)
        return fail(r, ERR_INVALID, "nested deeper than %d levels", DEPTH_MAX);
    return 0;
}

/* After a member: 1 if there is another, 0 if that was the last. */
static int more(struct reader *r, char close)
{
    if (take(r, ','))
        return 1;
    if (!take(r, close))
        return fail_syntax(r, close == '}' ? "',' or '}'" : "',' or ']'");
    r->depth--;
    return 0;
}

static int read_key(struct reader *r, struct slice *ret)
{
    if (peek(r) != '"')
        return fail_syntax(r, "a name in quotes");
    if (scan_string(r, ret) < 0)
        return -1;
    if (ret->escaped)
        slice_text(r, ret);
    if (!take(r, ':'))
        return fail_syntax(r, "':'");
    return 0;
}

typedef int member_fn(struct reader *r, const struct slice *key, void *ctx);

static int read_object(struct reader *r, member_fn *fn, void *ctx)
{
    if (enter(r) < 0)
        return -1;
    if (take(r, '}')) {
        r->depth--;
        return 0;
    }
    const struct step *outer = r->step;
    int again;
    do {
        struct slice key;
        if (read_key(r, &key) < 0)
            return -1;
        struct step here = {outer, key.s, key.n, 0};
        r->step = &here;
        if (fn(r, &key, ctx) < 0)
            return -1;
        r->step = outer;
        again = more(r, '}');
    } while (again > 0);
    return again;
}

static int read_list(struct reader *r, member_fn *fn, void *ctx)
{
    if (enter(r) < 0)
        return -1;
    if (take(r, ']')) {
        r->depth--;
        return 0;
    }
    struct step here = {r->step, NULL, 0, 0};
    int again;
    do {
        r->step = &here;
        if (fn(r, NULL, ctx) < 0)
            return -1;
        r->step = here.parent;
        here.index++;
        again = more(r, ']');
    } while (again > 0);
    return again;
}

/* --- values without a table: unknown fields, RAW --- */

static int skip_value(struct reader *r);

static int skip_member(struct reader *r, const struct slice *key, void *ctx)
{
    return skip_value(r);
}

static int skip_value(struct reader *r)
{
    struct slice ignored;
    switch (peek(r)) {
    case '{': return read_object(r, skip_member, NULL);
    case '[': return read_list(r, skip_member, NULL);
    case '"': return scan_string(r, &ignored);
    default: break;
    }
    if (take_word(r, "null") || take_word(r, "true") || take_word(r, "false"))
        return 0;
    return scan_number(r, &ignored);
}

static void copy_without_blanks(const char *s, size_t n, char *out)
{
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        if (!inside && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t'))
            continue;
        if (inside && s[i] == '\\')
            *out++ = s[i++]; /* an escape's letter may be a quote */
        else if (s[i] == '"')
            inside = !inside;
        *out++ = s[i];
    }
    *out = '\0';
}

/* RAW text goes out again within one line of a stream, so it is kept without blanks. */
static int read_raw(struct reader *r, const struct codec_field *f, const char **ret)
{
    char first = peek(r);
    if (((f->flags & CODEC_OBJECT) && first != '{') || ((f->flags & CODEC_LIST) && first != '['))
        return fail_type(r, codec_expected(f), r->p);
    const char *from = r->p;
    size_t blanks_before = r->blanks;
    if (skip_value(r) < 0)
        return -1;
    size_t n = (size_t)(r->p - from);
    if (r->blanks == blanks_before) {
        *ret = arena_strndup(r->a, from, n);
        return 0;
    }
    char *text = arena_alloc(r->a, n - (r->blanks - blanks_before) + 1);
    copy_without_blanks(from, n, text);
    *ret = text;
    return 0;
}

/* --- values with a table --- */

static int read_message(struct reader *r, const struct codec_message *m, void *msg);

/* A list of empty objects takes many times its text; what one request may make us allocate stays in proportion to it. */
static int take_budget(struct reader *r, size_t n)
{
    if (r->a->total + n > r->arena_limit)
        return fail(r, ERR_TOO_LARGE, "too many elements for the size of the message");
    return 0;
}

static int read_enum(struct reader *r, const struct codec_field *f, void *slot)
{
    const char *at = r->p;
    struct slice text;
    if (scan_string(r, &text) < 0)
        return -1;
    if (codec_enum_number(f->enumeration, slice_text(r, &text), slot) == 0)
        return 0;
    char found[FOUND_MAX + 8];
    return fail(r, ERR_INVALID, "%s is not a valid %s", found_text(at, r->end, found), f->enumeration->name);
}

static bool is_numeric(enum codec_type type)
{
    return (type >= CODEC_INT32 && type <= CODEC_DOUBLE) || type == CODEC_ENUM;
}

static int set_from_string(struct reader *r, const struct codec_field *f, struct slice *text, void *slot)
{
    switch (f->type) {
    case CODEC_STRING:
        *(const char **)slot = slice_text(r, text);
        return 0;
    case CODEC_TIME:
        return codec_set_time(text->s, text->n, slot);
    case CODEC_BYTES:
        if (text->escaped)
            slice_text(r, text); /* JSON writers may escape the slash */
        return codec_set_bytes(text->s, text->n, r->a, slot);
    case CODEC_FLOAT:
    case CODEC_DOUBLE:
        if (codec_set_special_real(f, text->s, text->n, slot) == 0)
            return 0;
        break;
    default:
        break;
    }
    if (!is_numeric(f->type) || text->n == 0 || number_scan(text->s, text->n) != text->n)
        return -1;
    return codec_set_number(f, text->s, text->n, slot);
}

/* A value that is neither object nor list. */
static int read_scalar(struct reader *r, const struct codec_field *f, void *slot)
{
    char first = peek(r);
    const char *at = r->p;
    struct slice text;
    int set = -1;
    if (first == '"') {
        if (f->type == CODEC_ENUM)
            return read_enum(r, f, slot);
        if (scan_string(r, &text) < 0)
            return -1;
        set = set_from_string(r, f, &text, slot);
    } else if (first == 't' || first == 'f') {
        bool value = first == 't';
        if (!take_word(r, value ? "true" : "false"))
            return fail_syntax(r, "a value");
        if (f->type == CODEC_BOOL) {
            *(bool *)slot = value;
            set = 0;
        }
    } else if (first == '-' || (first >= '0' && first <= '9')) {
        if (scan_number(r, &text) < 0)
            return -1;
        if (is_numeric(f->type))
            set = codec_set_number(f, text.s, text.n, slot);
    } else if (first != '{' && first != '[' && !take_word(r, "null")) {
        return fail_syntax(r, "a value");
    }
    return set == 0 ? 0 : fail_type(r, codec_expected(f), at);
}

/* `slot` is a pointer to the struct's memory for messages in lists and maps, which hold structs; else the member itself. */
static int read_value(struct reader *r, const struct codec_field *f, void *slot)
{
    if (f->type == CODEC_RAW)
        return read_raw(r, f, slot);
    if (f->type != CODEC_MESSAGE)
        return read_scalar(r, f, slot);
    if (peek(r) != '{')
        return fail_type(r, codec_expected(f), r->p);
    return read_message(r, f->message, slot);
}

struct target {
    const struct codec_field *field;
    void *msg;
};

static int read_element(struct reader *r, const struct slice *key, void *ctx)
{
    struct target *t = ctx;
    if (take_budget(r, codec_push_cost(t->field, t->msg)) < 0)
        return -1;
    return read_value(r, t->field, codec_push(t->field, t->msg, r->a));
}

static int read_entry(struct reader *r, const struct slice *key, void *ctx)
{
    struct target *t = ctx;
    if (take_budget(r, codec_push_cost(t->field, t->msg)) < 0)
        return -1;
    char *entry = codec_push(t->field, t->msg, r->a);
    *(const char **)entry = arena_strndup(r->a, key->s, key->n);
    return read_value(r, t->field, entry + t->field->value_offset);
}

/* By key, then by place, for a sort that keeps the order of equal keys. */
static int compare_entries(const void *a, const void *b)
{
    const char *const *x = *(const char *const *const *)a, *const *y = *(const char *const *const *)b;
    int by_key = strcmp(*x, *y);
    return by_key != 0 ? by_key : (x > y) - (x < y);
}

/* Of equal keys the last one wins; afterwards the map is sorted, as it has to be written. */
static int sort_map(struct reader *r, const struct codec_field *f, void *msg)
{
    char **list = codec_at(msg, f->offset);
    size_t n = *codec_count(f, msg), kept = 0;
    if (n < 2)
        return 0;
    if (take_budget(r, n * (sizeof(char *) + f->elem_size)) < 0)
        return -1;
    char **order = arena_array(r->a, char *, n), *sorted = arena_alloc(r->a, n * f->elem_size);
    for (size_t i = 0; i < n; i++)
        order[i] = *list + i * f->elem_size;
    qsort(order, n, sizeof *order, compare_entries);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || strcmp(*(char **)order[i], *(char **)order[i + 1]) != 0)
            memcpy(sorted + kept++ * f->elem_size, order[i], f->elem_size);
    *list = sorted;
    *codec_count(f, msg) = kept;
    return 0;
}

static int read_single(struct reader *r, const struct codec_field *f, void *msg)
{
    void *slot = codec_at(msg, f->offset);
    if (f->type == CODEC_MESSAGE) {
        if (take_budget(r, f->message->size) < 0)
            return -1;
        slot = *(void **)slot = arena_alloc(r->a, f->message->size);
    }
    if (read_value(r, f, slot) < 0)
        return -1;
    codec_mark_present(f, msg);
    return 0;
}

static int read_field(struct reader *r, const struct codec_field *f, void *msg)
{
    codec_clear(f, msg); /* of a name that comes twice the last one wins */
    char first = peek(r);
    struct target t = {f, msg};
    if (first == 'n' && take_word(r, "null"))
        return 0;
    if (codec_is_single(f))
        return read_single(r, f, msg);
    if (f->flags & CODEC_REPEATED)
        return first == '[' ? read_list(r, read_element, &t) : fail_type(r, "a list", r->p);
    if (first != '{')
        return fail_type(r, "an object", r->p);
    return read_object(r, read_entry, &t) < 0 ? -1 : sort_map(r, f, msg);
}

struct message_target {
    const struct codec_message *message;
    void *msg;
    size_t next; /* senders mostly keep the order of declaration */
};

static const struct codec_field *find_field(struct message_target *t, const struct slice *key)
{
    const struct codec_message *m = t->message;
    if (t->next < m->field_n) {
        const struct codec_field *guess = &m->field[t->next];
        if (strlen(guess->json) == key->n && memcmp(guess->json, key->s, key->n) == 0)
            return guess;
    }
    return codec_field_by_name(m, key->s, key->n);
}

static int read_known_or_skip(struct reader *r, const struct slice *key, void *ctx)
{
    struct message_target *t = ctx;
    const struct codec_field *f = find_field(t, key);
    if (f == NULL)
        return skip_value(r);
    t->next = (size_t)(f - t->message->field) + 1;
    return read_field(r, f, t->msg);
}

static int read_message(struct reader *r, const struct codec_message *m, void *msg)
{
    struct message_target t = {m, msg, 0};
    return read_object(r, read_known_or_skip, &t);
}

/* --- documents --- */

static struct reader reader_of(const char *json, size_t n, struct arena *a, struct error *err)
{
    enum { BUDGET_FACTOR = 32, BUDGET_MIN = 1 << 20 };
    return (struct reader){
        .start = json, .p = json, .end = json + n, .a = a, .err = err,
        .arena_limit = a->total + BUDGET_MIN + BUDGET_FACTOR * n,
    };
}

static int at_end(struct reader *r)
{
    peek(r);
    return r->p == r->end ? 0 : fail_syntax(r, "the end");
}

int codec_decode(const struct codec_message *m, const char *json, size_t n, struct arena *a, void *ret, struct error *err)
{
    struct reader r = reader_of(json, n, a, err);
    char first = peek(&r);
    if (r.p == r.end)
        return 0; /* an empty body is an empty message */
    if (first == 'n' && take_word(&r, "null"))
        return at_end(&r);
    if (first != '{')
        return strchr("[\"-0123456789tf", first) != NULL && first != '\0' ? fail_type(&r, "an object", r.p)
                                                                           : fail_syntax(&r, "an object");
    return read_message(&r, m, ret) < 0 ? -1 : at_end(&r);
}

int codec_decode_field(const struct codec_message *m, const struct codec_field *f, const char *json, size_t n,
                       struct arena *a, void *ret, struct error *err)
{
    struct reader r = reader_of(json, n, a, err);
    struct step here = {NULL, f->json, strlen(f->json), 0};
    r.step = &here;
    peek(&r);
    if (r.p == r.end)
        return 0;
    return read_field(&r, f, ret) < 0 ? -1 : at_end(&r);
}
