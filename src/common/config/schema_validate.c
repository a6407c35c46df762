/* Checks a document against its key table. It goes on after each mistake, so that people see all of them at once. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/utf8.h"
#include "common/config/schema.h"
#include "common/config/schema_checks.h"

struct validation {
    enum schema_phase phase;
    const struct schema_check *checks;
    const struct schema_place *place;
    struct schema_problems *problems;
    struct strbuf path;
};

static void validate_value(struct validation *w, const struct schema_key *key, struct json_object *v);

#define problem(w, ...) schema_problem((w)->problems, (w)->place, strbuf_str(&(w)->path), __VA_ARGS__)

static size_t enter_member(struct validation *w, const char *name)
{
    size_t length = w->path.n;
    strbuf_addf(&w->path, "%s%s", length ? "." : "", name);
    return length;
}

static size_t enter_item(struct validation *w, size_t i)
{
    size_t length = w->path.n;
    strbuf_addf(&w->path, "[%zu]", i);
    return length;
}

/* ---- Types ------------------------------------------------------------------------------------------------------- */

static bool is_duration(struct json_object *v)
{
    int64_t ns;
    return json_object_is_type(v, json_type_int) ||
           (json_object_is_type(v, json_type_string) && duration_parse(json_object_get_string(v), &ns) == 0);
}

static bool is_size(struct json_object *v)
{
    int64_t bytes;
    return json_object_is_type(v, json_type_int) ||
           (json_object_is_type(v, json_type_string) && size_parse(json_object_get_string(v), &bytes) == 0);
}

bool schema_has_type(unsigned types, struct json_object *v)
{
    if (types & SCHEMA_ANY)
        return true;
    switch (json_object_get_type(v)) {
    case json_type_boolean:
        return types & SCHEMA_BOOL;
    case json_type_int:
        return types & (SCHEMA_INT | SCHEMA_NUMBER | SCHEMA_DURATION | SCHEMA_SIZE);
    case json_type_double:
        return types & SCHEMA_NUMBER;
    case json_type_string:
        return (types & SCHEMA_STRING) || ((types & SCHEMA_DURATION) && is_duration(v)) ||
               ((types & SCHEMA_SIZE) && is_size(v));
    case json_type_array:
        return types & SCHEMA_LIST;
    case json_type_object:
        return types & (SCHEMA_OBJECT | SCHEMA_MAP);
    default:
        return true;
    }
}

/* "a text: \"abc\"" */
static void describe_value(struct json_object *v, struct strbuf *out)
{
    static const char *const names[] = {
        [json_type_null] = "nothing",       [json_type_boolean] = "a truth value", [json_type_double] = "a number",
        [json_type_int] = "a whole number", [json_type_object] = "a mapping",      [json_type_array] = "a list",
        [json_type_string] = "a text",
    };
    strbuf_adds(out, names[json_object_get_type(v)]);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(v, &text);
    if (text.n > 60) {
        strbuf_truncate(&text, utf8_cut(text.s, text.n, 57));
        strbuf_adds(&text, "...");
    }
    strbuf_addf(out, ": %s", strbuf_str(&text));
}

static void wrong_type(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    if (key->types == SCHEMA_NULL) {
        problem(w, "must stay unset (%s)", key->help);
        return;
    }
    cleanup_strbuf struct strbuf want = STRBUF_INIT, found = STRBUF_INIT;
    schema_describe_types(key->types, &want);
    if (key->flags & SCHEMA_SECRET)
        strbuf_adds(&found, "something else");
    else
        describe_value(v, &found);
    problem(w, "expected %s, found %s", strbuf_str(&want), strbuf_str(&found));
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static void format_bound(double bound, char ret[JSON_DOUBLE_MAX])
{
    if (bound == floor(bound) && fabs(bound) < 1e16)
        snprintf(ret, JSON_DOUBLE_MAX, "%.0f", bound);
    else
        json_format_double(bound, ret);
}

/* Reports a number out of range. The bounds of 32 bits are mentioned only if the number is beyond them. */
static void out_of_range(struct validation *w, const struct schema_key *key, double value, const char *found)
{
    char low[JSON_DOUBLE_MAX], high[JSON_DOUBLE_MAX];
    format_bound(key->min, low);
    format_bound(key->max, high);
    const char *unit = key->unit ? key->unit : "", *blank = key->unit ? " " : "";
    bool has_max = (key->flags & SCHEMA_HAS_MAX) && (key->max != INT32_MAX || value > key->max);
    if (key->flags & SCHEMA_MIN_EXCLUSIVE)
        problem(w, "must be more than %s%s%s, found %s", low, blank, unit, found);
    else if (has_max)
        problem(w, "must be %s to %s%s%s, found %s", low, high, blank, unit, found);
    else
        problem(w, "must be at least %s%s%s, found %s", low, blank, unit, found);
}

static bool in_range(const struct schema_key *key, double d)
{
    if ((key->flags & SCHEMA_HAS_MIN) && (d < key->min || (d == key->min && (key->flags & SCHEMA_MIN_EXCLUSIVE))))
        return false;
    return !((key->flags & SCHEMA_HAS_MAX) && d > key->max);
}

static void check_number(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    double d = json_object_get_double(v);
    if (!isfinite(d))
        problem(w, "must be a finite number");
    else if (json_object_is_type(v, json_type_int) && json_object_get_int64(v) == INT64_MAX)
        problem(w, "is too large: %s", json_object_get_string(v));
    else if (!in_range(key, d))
        out_of_range(w, key, d, json_object_get_string(v));
}

static void check_size(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    int64_t bytes = 0;
    size_parse(json_object_get_string(v), &bytes);
    if (!in_range(key, (double)bytes))
        out_of_range(w, key, (double)bytes, json_object_get_string(v));
}

static void check_choice(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    const char *s = json_object_get_string(v);
    cleanup_strbuf struct strbuf all = STRBUF_INIT;
    for (const char *const *c = key->choice; *c; c++) {
        if (strcmp(s, *c) == 0)
            return;
        strbuf_addf(&all, "%s%s", c == key->choice ? "" : ", ", **c ? *c : "\"\"");
    }
    problem(w, "must be one of %s; found \"%s\"", strbuf_str(&all), s);
}

/* Whether a list, map or text is too long. Lengths are checked when somebody writes a document. A finished document
 * was merged from several ones, or was made under other limits, and goes on working.
 *
 * The content of a list or map that is too long is not checked: that gives one message instead of one for each
 * element. */
static bool is_too_long(struct validation *w, const struct schema_key *key, size_t n)
{
    if (!key->max_items || n <= key->max_items || w->phase == SCHEMA_FINISHED)
        return false;
    problem(w, "has %zu entries, at most %" PRIu32 " are allowed", n, key->max_items);
    return true;
}

static void check_bytes(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    size_t n = (size_t)json_object_get_string_len(v);
    if (key->max_bytes && n > key->max_bytes && w->phase != SCHEMA_FINISHED)
        problem(w, "has %zu bytes, at most %" PRIu32 " are allowed", n, key->max_bytes);
}

/* Checks a value that no row describes. Only what JSON cannot hold is wrong with it. */
static void check_untyped(struct validation *w, struct json_object *v)
{
    if (json_object_is_type(v, json_type_double) && !isfinite(json_object_get_double(v))) {
        problem(w, "must be a finite number");
    } else if (json_object_is_type(v, json_type_object)) {
        json_object_object_foreach(v, name, value)
        {
            size_t length = enter_member(w, name);
            check_untyped(w, value);
            strbuf_truncate(&w->path, length);
        }
    } else if (json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(v); i++) {
            size_t length = enter_item(w, i);
            check_untyped(w, json_object_array_get_idx(v, i));
            strbuf_truncate(&w->path, length);
        }
    }
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* Edit distance of two short words, at most `limit` + 1. */
static size_t edit_distance(const char *a, const char *b, size_t limit)
{
    size_t n = strlen(a), m = strlen(b), row[64];
    if (m >= 64 || (n > m ? n - m : m - n) > limit)
        return limit + 1;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[m];
}

/* Adds the names that are allowed here, if there are few enough to be read. */
static void add_allowed(const struct schema_key *key, const char *kind, struct strbuf *out)
{
    enum { READABLE = 16 };
    cleanup_strbuf struct strbuf all = STRBUF_INIT;
    size_t n = 0;
    for (size_t i = 0; i < key->child_n; i++) {
        const struct schema_key *c = &key->child[i];
        if (schema_member(key, c->name, kind) == c && !(c->flags & SCHEMA_DROP))
            strbuf_addf(&all, "%s%s", n++ ? ", " : "", c->name);
    }
    if (n && n <= READABLE)
        strbuf_addf(out, "; allowed: %s", all.s);
}

static void unknown_member(struct validation *w, const struct schema_key *key, const char *name, const char *kind)
{
    const char *near = NULL;
    size_t limit = strlen(name) > 3 ? 2 : 1, best = limit + 1;
    for (size_t i = 0; i < key->child_n; i++) {
        size_t d = edit_distance(name, key->child[i].name, limit);
        if (d < best && schema_member(key, key->child[i].name, kind)) {
            best = d;
            near = key->child[i].name;
        }
    }
    cleanup_strbuf struct strbuf hint = STRBUF_INIT;
    const struct schema_key *other = schema_member(key, name, NULL);
    if (other && other->only && kind)
        strbuf_addf(&hint, " with %s \"%s\"", key->selector, kind);
    if (near)
        strbuf_addf(&hint, "; did you mean \"%s\"?", near);
    else
        add_allowed(key, kind, &hint);
    schema_problem_member(w->problems, w->place, strbuf_str(&w->path), name, "unknown field \"%s\"%s", name,
                          strbuf_str(&hint));
}

static void check_missing(struct validation *w, const struct schema_key *key, struct json_object *v, const char *kind)
{
    unsigned wanted = w->phase == SCHEMA_MISSING    ? SCHEMA_COMPLETE
                      : w->phase == SCHEMA_FINISHED ? SCHEMA_REQUIRED | SCHEMA_COMPLETE
                                                    : SCHEMA_REQUIRED;
    for (size_t i = 0; i < key->child_n; i++) {
        const struct schema_key *c = &key->child[i];
        /* While the kind is unknown, only what every kind needs can be missing. */
        if (!(c->flags & wanted) || (c->only && !kind) || schema_member(key, c->name, kind) != c)
            continue;
        if (!json_object_object_get(v, c->name))
            problem(w, "\"%s\" must be set", c->name);
    }
}

/* Checks the kind of a union. A kind that does not exist is reported once, at the union. */
static bool check_kind(struct validation *w, const struct schema_key *key, const char *kind)
{
    const struct schema_key *selector = schema_member(key, key->selector, NULL);
    cleanup_strbuf struct strbuf all = STRBUF_INIT;
    for (const char *const *c = selector->choice; *c; c++) {
        if (strcmp(kind, *c) == 0)
            return true;
        strbuf_addf(&all, "%s%s", c == selector->choice ? "" : ", ", *c);
    }
    problem(w, "%s must be one of %s; found \"%s\"", key->selector, strbuf_str(&all), kind);
    return false;
}

static void check_members(struct validation *w, const struct schema_key *key, struct json_object *v, const char *kind)
{
    bool open = key->types & SCHEMA_MAP;
    json_object_object_foreach(v, name, value)
    {
        const struct schema_key *member = schema_member(key, name, kind);
        size_t length;
        if (key->selector && strcmp(name, key->selector) == 0 && json_object_is_type(value, json_type_string))
            continue; /* check_kind() has checked it */
        if (member || (open && key->item)) {
            length = enter_member(w, name);
            validate_value(w, member ? member : key->item, value);
            strbuf_truncate(&w->path, length);
        } else if (open && key->check) {
            continue; /* the key's own check looks into this member */
        } else if (open) {
            length = enter_member(w, name);
            check_untyped(w, value);
            strbuf_truncate(&w->path, length);
        } else {
            unknown_member(w, key, name, kind);
        }
    }
}

static void check_object(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    const char *kind = schema_kind(key, v);
    if (is_too_long(w, key, (size_t)json_object_object_length(v)))
        return;
    if (key->selector && kind && !check_kind(w, key, kind))
        kind = NULL;
    check_members(w, key, v, kind);
    if ((key->types & SCHEMA_OBJECT) && w->phase != SCHEMA_PARTIAL)
        check_missing(w, key, v, kind);
}

static void check_list(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    if (is_too_long(w, key, json_object_array_length(v)))
        return;
    for (size_t i = 0; i < json_object_array_length(v); i++) {
        size_t length = enter_item(w, i);
        struct json_object *item = json_object_array_get_idx(v, i);
        if (!key->item)
            check_untyped(w, item);
        else if (!item)
            problem(w, "an item of this list may not be null");
        else
            validate_value(w, key->item, item);
        strbuf_truncate(&w->path, length);
    }
}

static void run_named_check(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    const struct schema_check *check = schema_find_check(w->checks, key->check);
    if (!check)
        check = schema_find_check(schema_builtin_checks, key->check);
    if (check)
        check->fn(v, strbuf_str(&w->path), w->place, w->problems);
}

/* Whether the value is the mask of a secret, which somebody sends back as it was shown. */
static bool is_mask(const struct schema_key *key, struct json_object *v)
{
    return (key->flags & SCHEMA_SECRET) && json_object_is_type(v, json_type_string) &&
           strcmp(json_object_get_string(v), SCHEMA_MASKED) == 0;
}

static void check_typed(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    switch (json_object_get_type(v)) {
    case json_type_object:
        check_object(w, key, v);
        break;
    case json_type_array:
        check_list(w, key, v);
        break;
    case json_type_int:
    case json_type_double:
        check_number(w, key, v);
        break;
    case json_type_string:
        check_bytes(w, key, v);
        if (key->choice)
            check_choice(w, key, v);
        else if ((key->types & (SCHEMA_SIZE | SCHEMA_STRING)) == SCHEMA_SIZE)
            check_size(w, key, v);
        break;
    default:
        break;
    }
}

static bool is_choice(const struct schema_key *key, const char *s)
{
    for (const char *const *c = key->choice; *c; c++)
        if (strcmp(s, *c) == 0)
            return true;
    return false;
}

static void look_for_missing(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    if (!json_object_is_type(v, json_type_object))
        return;
    const char *kind = schema_kind(key, v);
    if (kind && key->selector && !is_choice(schema_member(key, key->selector, NULL), kind))
        kind = NULL;
    json_object_object_foreach(v, name, value)
    {
        const struct schema_key *member = schema_member(key, name, kind);
        size_t length = enter_member(w, name);
        if (member)
            look_for_missing(w, member, value);
        strbuf_truncate(&w->path, length);
    }
    check_missing(w, key, v, kind);
}

static void validate_value(struct validation *w, const struct schema_key *key, struct json_object *v)
{
    if (!v)
        return;
    if (w->phase == SCHEMA_MISSING) {
        look_for_missing(w, key, v);
        return;
    }
    if (!schema_has_type(key->types, v)) {
        wrong_type(w, key, v);
        return;
    }
    if (is_mask(key, v)) {
        problem(w, "is " SCHEMA_MASKED
                   ", which stands for a secret that is not shown: give the secret itself, or leave it out");
        return;
    }
    if (key->types & SCHEMA_ANY) {
        check_untyped(w, v);
        return;
    }
    int before = w->problems->n;
    bool untyped = (key->types & SCHEMA_MAP) && !key->item; /* the key's own check checks the content */
    check_typed(w, key, v);
    if (key->check && w->phase != SCHEMA_PARTIAL && (untyped || w->problems->n == before))
        run_named_check(w, key, v);
}

void schema_validate_at(const struct schema_key *key, struct json_object *v, const char *path, enum schema_phase phase,
                        const struct schema_check *checks, const struct schema_place *place,
                        struct schema_problems *problems)
{
    struct validation w = {.phase = phase, .checks = checks, .place = place, .problems = problems};
    strbuf_adds(&w.path, path);
    validate_value(&w, key, v);
    strbuf_release(&w.path);
}

void schema_validate(const struct schema_key *key, struct json_object *v, enum schema_phase phase,
                     const struct schema_check *checks, const struct schema_place *place,
                     struct schema_problems *problems)
{
    schema_validate_at(key, v, "", phase, checks, place, problems);
}
