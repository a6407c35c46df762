/* Decodes JSON by a recursive descent over the message tables. Rules: common/codec/codec.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/codec/codec.h"
#include "common/codec/codec_internal.h"
#include "common/json/json_reader.h"

/* --- values without a table --- */

static void copy_without_blanks(const char *s, size_t n, char *out)
{
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        if (!inside && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t'))
            continue;
        if (inside && s[i] == '\\')
            *out++ = s[i++]; /* the character after a backslash may be a quote */
        else if (s[i] == '"')
            inside = !inside;
        *out++ = s[i];
    }
    *out = '\0';
}

/* Reads a RAW value. It is kept without blanks, because it is later written within one line of a stream. */
static int read_raw(struct reader *r, const struct codec_field *f, const char **ret)
{
    char first = reader_peek(r);
    if (((f->flags & CODEC_OBJECT) && first != '{') || ((f->flags & CODEC_LIST) && first != '['))
        return reader_fail_type(r, codec_expected(f), r->p);
    const char *from = r->p;
    size_t blanks_before = r->blanks;
    if (reader_skip(r) < 0)
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

/* Checks the memory that a message may take. A list of empty objects takes many times the memory of its text, so the
 * memory of a request must stay in proportion to its text. */
static int take_budget(struct reader *r, size_t n)
{
    if (r->a->total + n > r->arena_limit)
        return reader_fail(r, ERR_TOO_LARGE, "too many elements for the size of the message");
    return 0;
}

static int read_enum(struct reader *r, const struct codec_field *f, void *slot)
{
    const char *at = r->p;
    struct reader_slice text;
    if (reader_string(r, &text) < 0)
        return -1;
    if (codec_enum_number(f->enumeration, reader_text(r, &text), slot) == 0)
        return 0;
    char found[READER_FOUND_MAX];
    return reader_fail(r, ERR_INVALID, "%s is not a valid %s", reader_found(at, r->end, found), f->enumeration->name);
}

static bool is_numeric(enum codec_type type)
{
    return (type >= CODEC_INT32 && type <= CODEC_DOUBLE) || type == CODEC_ENUM;
}

static int set_from_string(struct reader *r, const struct codec_field *f, struct reader_slice *text, void *slot)
{
    switch (f->type) {
    case CODEC_STRING:
        *(const char **)slot = f->flags & CODEC_NUL ? reader_text_with_nul(r, text) : reader_text(r, text);
        return 0;
    case CODEC_TIME:
        return codec_set_time(text->s, text->n, slot);
    case CODEC_BYTES:
        if (text->escaped)
            reader_text(r, text); /* some JSON writers escape the slash */
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

/* Reads a value that is neither an object nor a list. */
static int read_scalar(struct reader *r, const struct codec_field *f, void *slot)
{
    char first = reader_peek(r);
    const char *at = r->p;
    struct reader_slice text;
    int set = -1;
    if (first == '"') {
        if (f->type == CODEC_ENUM)
            return read_enum(r, f, slot);
        if (reader_string(r, &text) < 0)
            return -1;
        set = set_from_string(r, f, &text, slot);
    } else if (first == 't' || first == 'f') {
        bool value = first == 't';
        if (!reader_word(r, value ? "true" : "false"))
            return reader_fail_syntax(r, "a value");
        if (f->type == CODEC_BOOL) {
            *(bool *)slot = value;
            set = 0;
        }
    } else if (first == '-' || (first >= '0' && first <= '9')) {
        if (reader_number(r, &text) < 0)
            return -1;
        if (is_numeric(f->type))
            set = codec_set_number(f, text.s, text.n, slot);
    } else if (first != '{' && first != '[' && !reader_word(r, "null")) {
        return reader_fail_syntax(r, "a value");
    }
    return set == 0 ? 0 : reader_fail_type(r, codec_expected(f), at);
}

/* Reads a value. `slot` points to the memory of a struct for messages in lists and maps, and otherwise to the member
 * itself. */
static int read_value(struct reader *r, const struct codec_field *f, void *slot)
{
    if (f->type == CODEC_RAW)
        return read_raw(r, f, slot);
    if (f->type != CODEC_MESSAGE)
        return read_scalar(r, f, slot);
    if (reader_peek(r) != '{')
        return reader_fail_type(r, codec_expected(f), r->p);
    return read_message(r, f->message, slot);
}

struct target {
    const struct codec_field *field;
    void *msg;
};

static int read_element(struct reader *r, const struct reader_slice *key, void *ctx)
{
    struct target *t = ctx;
    if (take_budget(r, codec_push_cost(t->field, t->msg)) < 0)
        return -1;
    return read_value(r, t->field, codec_push(t->field, t->msg, r->a));
}

static int read_entry(struct reader *r, const struct reader_slice *key, void *ctx)
{
    struct target *t = ctx;
    if (take_budget(r, codec_push_cost(t->field, t->msg)) < 0)
        return -1;
    char *entry = codec_push(t->field, t->msg, r->a);
    *(const char **)entry = arena_strndup(r->a, key->s, key->n);
    return read_value(r, t->field, entry + t->field->value_offset);
}

/* Compares by key, then by address, so that equal keys keep their order. */
static int compare_entries(const void *a, const void *b)
{
    const char *const *x = *(const char *const *const *)a, *const *y = *(const char *const *const *)b;
    int by_key = strcmp(*x, *y);
    return by_key != 0 ? by_key : (x > y) - (x < y);
}

/* Sorts a map, as it has to be written. Of equal keys the last one counts. */
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
    qsort(order, n, sizeof(*order), compare_entries);
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
    codec_clear(f, msg); /* if a name comes twice the last value counts */
    char first = reader_peek(r);
    struct target t = {f, msg};
    if (first == 'n' && reader_word(r, "null"))
        return 0;
    if (codec_is_single(f))
        return read_single(r, f, msg);
    if (f->flags & CODEC_REPEATED)
        return first == '[' ? reader_list(r, read_element, &t) : reader_fail_type(r, "a list", r->p);
    if (first != '{')
        return reader_fail_type(r, "an object", r->p);
    return reader_object(r, read_entry, &t) < 0 ? -1 : sort_map(r, f, msg);
}

struct message_target {
    const struct codec_message *message;
    void *msg;
    size_t next; /* the field expected next; senders mostly keep the order of declaration */
};

static const struct codec_field *find_field(struct message_target *t, const struct reader_slice *key)
{
    const struct codec_message *m = t->message;
    if (t->next < m->field_n) {
        const struct codec_field *guess = &m->field[t->next];
        if (strlen(guess->json) == key->n && memcmp(guess->json, key->s, key->n) == 0)
            return guess;
    }
    return codec_field_by_name(m, key->s, key->n);
}

static int read_known_or_skip(struct reader *r, const struct reader_slice *key, void *ctx)
{
    struct message_target *t = ctx;
    const struct codec_field *f = find_field(t, key);
    if (!f)
        return reader_skip(r);
    t->next = (size_t)(f - t->message->field) + 1;
    return read_field(r, f, t->msg);
}

static int read_message(struct reader *r, const struct codec_message *m, void *msg)
{
    struct message_target t = {m, msg, 0};
    return reader_object(r, read_known_or_skip, &t);
}

/* --- documents --- */

static struct reader reader_of(const char *json, size_t n, struct arena *a, struct error *err)
{
    enum { BUDGET_FACTOR = 32, BUDGET_MIN = 1 << 20 };
    size_t limit = a->total + BUDGET_MIN + BUDGET_FACTOR * n;
    return (struct reader){
        .start = json,
        .p = json,
        .end = json + n,
        .a = a,
        .err = err,
        .syntax = "not valid JSON: ",
        .arena_limit = a->decoded_max && a->decoded_max < limit ? a->decoded_max : limit,
    };
}

int codec_decode(const struct codec_message *m, const char *json, size_t n, struct arena *a, void *ret,
                 struct error *err)
{
    struct reader r = reader_of(json, n, a, err);
    char first = reader_peek(&r);
    if (r.p == r.end)
        return 0; /* an empty body is an empty message */
    if (first == 'n' && reader_word(&r, "null"))
        return reader_end(&r);
    if (first != '{')
        return strchr("[\"-0123456789tf", first) && first != '\0' ? reader_fail_type(&r, "an object", r.p)
                                                                  : reader_fail_syntax(&r, "an object");
    return read_message(&r, m, ret) < 0 ? -1 : reader_end(&r);
}

int codec_decode_field(const struct codec_message *m, const struct codec_field *f, const char *json, size_t n,
                       struct arena *a, void *ret, struct error *err)
{
    struct reader r = reader_of(json, n, a, err);
    struct reader_step here = {NULL, f->json, strlen(f->json), 0};
    r.step = &here;
    reader_peek(&r);
    if (r.p == r.end)
        return 0;
    return read_field(&r, f, ret) < 0 ? -1 : reader_end(&r);
}
