#include "common/config/config_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/log.h"

void config_free(struct config *c)
{
    if (!c)
        return;
    config_origins_free(c);
    yaml_positions_free(c->positions);
    json_object_put(c->given);
    json_object_put(c->tree);
    schema_problems_release(&c->problems);
    strbuf_release(&c->warnings);
    free(c->file);
    free(c);
}

/* ---- Paths ------------------------------------------------------------------------------------------------------- */

static struct json_object *step_into(struct json_object *v, const char *step, size_t n)
{
    if (*step == '[')
        return json_object_is_type(v, json_type_array) ? json_object_array_get_idx(v, strtoul(step + 1, NULL, 10))
                                                       : NULL;
    cleanup_free char *name = must_strndup(step, n);
    return json_object_is_type(v, json_type_object) ? json_object_object_get(v, name) : NULL;
}

static size_t step_length(const char *path)
{
    return *path == '[' ? strcspn(path, "]") + 1 : strcspn(path, ".[");
}

static struct json_object *lookup_path(struct json_object *v, const char *path)
{
    while (*path && v) {
        size_t n = step_length(path);
        v = step_into(v, path, n);
        path += n;
        path += *path == '.';
    }
    return v;
}

void config_put_value(const struct schema_key *key, struct json_object *tree, const char *path,
                      struct json_object *take_value)
{
    for (;;) {
        size_t n = strcspn(path, ".");
        cleanup_free char *name = must_strndup(path, n);
        const struct schema_key *member = schema_member(key, name, NULL);
        if (!path[n] || !member) {
            json_object_object_add(tree, member ? name : path, take_value);
            return;
        }
        struct json_object *next = json_object_object_get(tree, name);
        if (!json_object_is_type(next, json_type_object)) {
            next = json_object_new_object();
            json_object_object_add(tree, name, next);
        }
        tree = next;
        key = member;
        path += n + 1;
    }
}

/* ---- Origins ----------------------------------------------------------------------------------------------------- */

static struct origin *find_origin(const struct config *c, const char *path)
{
    struct origin *o;
    HASH_FIND_STR(c->origin, path, o);
    return o;
}

void config_set_origin(struct config *c, const char *path, const char *from)
{
    struct origin *o = find_origin(c, path);
    if (!o) {
        size_t n = strlen(path);
        o = must_calloc(1, sizeof(*o) + n + 1);
        memcpy(o->path, path, n + 1);
        HASH_ADD_KEYPTR(hh, c->origin, o->path, n, o);
    }
    free(o->from);
    o->from = must_strdup(from);
}

static bool cut_last_step(char *path)
{
    size_t n = strlen(path);
    if (n == 0)
        return false;
    while (n > 0 && path[n - 1] != '.' && path[n - 1] != '[')
        n--;
    path[n ? n - 1 : 0] = '\0';
    return true;
}

static bool position_of(const struct config *c, const char *path, struct yaml_mark *ret)
{
    return c->positions && yaml_position(c->positions, path, ret) == 0;
}

void config_origin(const struct config *c, const char *path, struct strbuf *out)
{
    cleanup_free char *p = must_strdup(path);
    do {
        const struct origin *o = find_origin(c, p);
        if (o) {
            strbuf_adds(out, o->from);
            return;
        }
    } while (cut_last_step(p));
    struct yaml_mark mark;
    if (!lookup_path(c->given, path)) {
        strbuf_adds(out, "default");
    } else if (position_of(c, path, &mark)) {
        strbuf_addf(out, "%s:%d:%d", c->file, mark.line, mark.column);
    } else {
        strbuf_adds(out, c->file ? c->file : "default"); /* the value comes through an alias or an older spelling */
    }
}

void config_origins_free(struct config *c)
{
    struct origin *o, *next;
    HASH_ITER(hh, c->origin, o, next) {
        HASH_DEL(c->origin, o);
        free(o->from);
        free(o);
    }
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

struct json_object *config_get(const struct config *c, const char *path)
{
    assert(schema_find(c->keys, path));
    return lookup_path(c->tree, path);
}

const char *config_str(const struct config *c, const char *path)
{
    struct json_object *v = config_get(c, path);
    assert(!v || (schema_find(c->keys, path)->types & (SCHEMA_STRING | SCHEMA_DURATION)));
    return v ? json_object_get_string(v) : NULL;
}

int64_t config_int(const struct config *c, const char *path)
{
    struct json_object *v = config_get(c, path);
    int64_t bytes;
    assert(schema_find(c->keys, path)->types & (SCHEMA_INT | SCHEMA_SIZE));
    if (json_object_is_type(v, json_type_string) && size_parse(json_object_get_string(v), &bytes) == 0)
        return bytes;
    return v ? json_object_get_int64(v) : 0;
}

bool config_bool(const struct config *c, const char *path)
{
    assert(schema_find(c->keys, path)->types & SCHEMA_BOOL);
    return json_object_get_boolean(config_get(c, path));
}

int64_t config_duration_us(const struct config *c, const char *path)
{
    struct json_object *v = config_get(c, path);
    int64_t ns = 0;
    assert(schema_find(c->keys, path)->types & SCHEMA_DURATION);
    if (json_object_is_type(v, json_type_int))
        ns = json_object_get_int64(v);
    else if (v)
        duration_parse(json_object_get_string(v), &ns);
    return ns / 1000;
}

bool config_is_set(const struct config *c, const char *path)
{
    return lookup_path(c->given, path) != NULL;
}

void config_derive(struct config *c, const char *path, struct json_object *take_value)
{
    if (config_is_set(c, path)) {
        json_object_put(take_value);
        return;
    }
    config_put_value(c->keys, c->tree, path, take_value);
    config_set_origin(c, path, "derived");
}

int config_change(struct config *c, const char *path, struct json_object *take_value, struct error *err)
{
    cleanup_json struct json_object *value = take_value;
    const struct schema_key *key = schema_find(c->keys, path);
    if (!key)
        return error_set(err, ERR_INVALID, "there is no configuration key %s", path);
    if (!(key->flags & SCHEMA_RUNTIME))
        return error_set(err, ERR_INVALID,
                         "%s cannot change while the program runs; set it in the file and start again", path);
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    schema_validate(key, value, SCHEMA_FINISHED, c->checks, &(struct schema_place){.source = path}, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    if (r < 0)
        return -1;
    config_put_value(c->keys, c->tree, path, take_ptr(value));
    config_set_origin(c, path, "changed at run time");
    return 0;
}

struct json_object *config_effective(const struct config *c)
{
    return schema_mask(c->keys, c->tree, SCHEMA_MASKED);
}

/* ---- Mistakes and warnings --------------------------------------------------------------------------------------- */

/* Whether a mistake at this path was reported already. A value with a mistake was left out; that it then seems to be
 * missing is no second mistake. */
static bool is_told(const struct config *c, const char *path)
{
    size_t n = strlen(path);
    const char *end = strbuf_str(&c->problems.text) + c->by_table_n;
    for (const char *at = strbuf_str(&c->problems.text); (at = strstr(at, path)) && at < end; at += n)
        if (strncmp(at + n, ": ", 2) == 0 && (at == strbuf_str(&c->problems.text) || at[-1] == ' ' || at[-1] == '\n'))
            return true;
    return false;
}

void config_problem(struct config *c, const char *path, const char *fmt, ...)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, origin = STRBUF_INIT;
    if (is_told(c, path))
        return;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    config_origin(c, path, &origin);
    struct schema_place place = {.source = strcmp(strbuf_str(&origin), "default") == 0 ? NULL : strbuf_str(&origin)};
    schema_problem(&c->problems, &place, path, "%s", strbuf_str(&text));
}

void config_warn(struct config *c, const char *fmt, ...)
{
    va_list ap;
    if (c->warnings.n)
        strbuf_addc(&c->warnings, '\n');
    va_start(ap, fmt);
    strbuf_vaddf(&c->warnings, fmt, ap);
    va_end(ap);
}

const char *config_warnings(const struct config *c)
{
    return strbuf_str(&c->warnings);
}

void config_log_warnings(const struct config *c)
{
    for (const char *line = config_warnings(c); *line; line += strcspn(line, "\n"), line += *line == '\n') {
        cleanup_free char *text = must_strndup(line, strcspn(line, "\n"));
        log_warning("config.warning", "text=%s", log_quote(text));
    }
}

void config_check_file(struct config *c, const char *path)
{
    const char *file = config_str(c, path);
    if (file && *file && access(file, R_OK) < 0)
        config_problem(c, path, "cannot read %s: %s", file, strerror(errno));
}

static void add_warnings(const struct config *c, struct strbuf *out)
{
    for (const char *line = config_warnings(c); *line; line += strcspn(line, "\n"), line += *line == '\n')
        strbuf_addf(out, "\nwarning: %.*s", (int)strcspn(line, "\n"), line);
}

int config_problems(struct config *c, struct error *err)
{
    if (c->problems.n == 0)
        return 0;
    enum error_kind kind = c->problems.n == c->option_problems ? ERR_USAGE : ERR_INVALID;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, strbuf_str(&c->problems.text));
    add_warnings(c, &text);
    return error_set(err, kind, "%s", strbuf_str(&text));
}
