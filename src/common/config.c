#include "common/config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/config_names.h"
#include "common/files.h"
#include "common/hash.h"

#define CONFIG_FILE_MAX (4 << 20)

struct origin {
    char *from; /* "DET_PORT", "--port", "derived" */
    UT_hash_handle hh;
    char path[];
};

struct config {
    const struct schema_key *keys;
    const struct schema_check *checks;
    char *file;                       /* NULL if none was read */
    struct yaml_positions *positions; /* of the file */
    struct json_object *given;        /* what the layers said */
    struct json_object *tree;         /* given, filled with defaults */
    struct origin *origin;            /* of values that do not come from the file */
    struct schema_problems problems;
    int option_problems; /* how many of them are about the command line */
    struct strbuf warnings;
};

/* ---- Paths -------------------------------------------------------------------------------------------------------- */

static struct json_object *step_into(struct json_object *v, const char *step, size_t n)
{
    if (*step == '[')
        return json_object_is_type(v, json_type_array) ? json_object_array_get_idx(v, strtoul(step + 1, NULL, 10)) : NULL;
    cleanup_free char *name = strndup(step, n);
    return json_object_is_type(v, json_type_object) ? json_object_object_get(v, name) : NULL;
}

static size_t step_length(const char *path)
{
    return *path == '[' ? strcspn(path, "]") + 1 : strcspn(path, ".[");
}

static struct json_object *lookup(struct json_object *v, const char *path)
{
    while (*path && v) {
        size_t n = step_length(path);
        v = step_into(v, path, n);
        path += n;
        path += *path == '.';
    }
    return v;
}

/* Names of map entries may hold dots, so the last step is all that the table does not know. */
static void put_value(const struct schema_key *key, struct json_object *tree, const char *path, struct json_object *take_value)
{
    for (;;) {
        size_t n = strcspn(path, ".");
        cleanup_free char *name = strndup(path, n);
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

/* ---- Origins ------------------------------------------------------------------------------------------------------ */

static struct origin *find_origin(const struct config *c, const char *path)
{
    struct origin *o;
    HASH_FIND_STR(c->origin, path, o);
    return o;
}

static void set_origin(struct config *c, const char *path, const char *from)
{
    struct origin *o = find_origin(c, path);
    if (!o) {
        size_t n = strlen(path);
        o = calloc(1, sizeof *o + n + 1);
        if (!o)
            abort();
        memcpy(o->path, path, n + 1);
        HASH_ADD_KEYPTR(hh, c->origin, o->path, n, o);
    }
    free(o->from);
    o->from = strdup(from);
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
    cleanup_free char *p = strdup(path);
    do {
        const struct origin *o = find_origin(c, p);
        if (o) {
            strbuf_adds(out, o->from);
            return;
        }
    } while (cut_last_step(p));
    struct yaml_mark mark;
    if (!lookup(c->given, path)) {
        strbuf_adds(out, "default");
    } else if (position_of(c, path, &mark)) {
        strbuf_addf(out, "%s:%d:%d", c->file, mark.line, mark.column);
    } else {
        strbuf_adds(out, c->file ? c->file : "default"); /* through an alias or an older spelling */
    }
}

/* ---- Layers ------------------------------------------------------------------------------------------------------- */

static void apply_text(struct config *c, const struct config_name *name, const char *source, const char *text)
{
    struct schema_place place = {.source = source};
    cleanup_error struct error err = ERROR_INIT;
    struct json_object *value = NULL;
    if (config_read_text(name->key, text, &value, &err) < 0) {
        schema_problem(&c->problems, &place, "", "%s", error_msg(&err));
        return;
    }
    int before = c->problems.n;
    if (name->key)
        schema_validate(name->key, value, SCHEMA_PRESENT, c->checks, &place, &c->problems);
    if (c->problems.n > before) {
        json_object_put(value);
        return;
    }
    put_value(c->keys, c->given, name->path, value);
    set_origin(c, name->path, source);
}

static void load_environment(struct config *c, char *const *environment)
{
    for (; environment && *environment; environment++) {
        const char *eq = strchr(*environment, '=');
        if (strncmp(*environment, "DET_", 4) != 0 || !eq)
            continue;
        cleanup_free char *variable = strndup(*environment, (size_t)(eq - *environment));
        struct config_name name;
        if (config_find_variable(c->keys, variable + 4, &name))
            apply_text(c, &name, variable, eq + 1);
        free(name.path);
    }
}

static void option_problem(struct config *c, const char *option, size_t n, const char *what)
{
    schema_problem(&c->problems, &(struct schema_place){0}, "", "%.*s: %s", (int)n, option, what);
    c->option_problems++;
}

static bool is_bool_word(const char *s)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(s, words[i]) == 0)
            return true;
    }
    return false;
}

struct letter_search {
    char letter;
    struct config_name *found;
};

static void consider_letter(void *ctx, const char *path, const struct schema_key *key)
{
    struct letter_search *s = ctx;
    if (key->option && key->option[0] == s->letter && !s->found->path)
        *s->found = (struct config_name){.key = key, .path = strdup(path)};
}

static bool find_option(const struct schema_key *keys, const char *arg, size_t n, struct config_name *ret)
{
    if (n > 2 && arg[0] == '-' && arg[1] == '-')
        return config_find_option(keys, arg + 2, n - 2, ret);
    *ret = (struct config_name){0};
    if (n == 2 && arg[0] == '-')
        config_each_key(keys, consider_letter, &(struct letter_search){arg[1], ret});
    return ret->path != NULL;
}

/* One option with its value; returns how many arguments it took. */
static int load_option(struct config *c, int argc, char *const *argv)
{
    const char *arg = argv[0], *eq = arg[0] == '-' ? strchr(arg, '=') : NULL;
    size_t n = eq ? (size_t)(eq - arg) : strlen(arg);
    struct config_name name;
    if (arg[0] != '-' || !find_option(c->keys, arg, n, &name)) {
        option_problem(c, arg, n, arg[0] == '-' ? "unknown option; --help lists them all" : "unexpected argument");
        return 1;
    }
    cleanup_free char *path = name.path;
    cleanup_free char *source = strndup(arg, n);
    bool is_bool = name.key && name.key->types == SCHEMA_BOOL;
    const char *value = eq ? eq + 1 : argc > 1 ? argv[1] : NULL;
    int used = eq ? 1 : 2;
    if (is_bool && !eq && (!value || !is_bool_word(value))) {
        value = "true";
        used = 1;
    }
    if (!value) {
        option_problem(c, arg, n, "needs a value");
        return 1;
    }
    int before = c->problems.n;
    apply_text(c, &name, source, value);
    c->option_problems += c->problems.n - before;
    return used;
}

static void load_options(struct config *c, int argc, char *const *argv)
{
    for (int i = 0; i < argc;)
        i += load_option(c, argc - i, argv + i);
}

static int load_file(struct config *c, const char *path, bool explicit_file)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct schema_place place = {.file = path};
    struct json_object *tree = NULL;
    if (file_read(path, CONFIG_FILE_MAX, &text, &err) < 0) {
        if (!explicit_file && err.kind == ERR_NOT_FOUND) {
            config_warn(c, "there is no configuration file %s; defaults, variables and options count", path);
            return 0;
        }
        schema_problem(&c->problems, &(struct schema_place){0}, "", "%s", error_msg(&err));
        return -1;
    }
    c->file = strdup(path);
    if (yaml_parse(strbuf_str(&text), text.n, &tree, &c->positions, &err) < 0) {
        schema_problem(&c->problems, &place, "", "%s", error_msg(&err));
        return -1;
    }
    place.positions = c->positions;
    schema_validate(c->keys, tree, SCHEMA_PRESENT, c->checks, &place, &c->problems);
    if (json_object_is_type(tree, json_type_object)) {
        json_object_put(c->given);
        c->given = tree;
    } else {
        json_object_put(tree);
    }
    return 0;
}

/* The file has to be known before its values can be overridden, so variables and options are read once just for it. */
static char *choose_file(const struct config_input *in, bool *ret_explicit)
{
    struct config probe = {.keys = in->keys, .checks = in->checks, .given = json_object_new_object()};
    load_environment(&probe, in->environ_);
    load_options(&probe, in->argc, in->argv);
    const char *chosen = json_object_get_string(json_object_object_get(probe.given, "config_file"));
    *ret_explicit = chosen && *chosen;
    char *file = strdup(*ret_explicit ? chosen : in->default_file);
    struct origin *o, *next;
    HASH_ITER(hh, probe.origin, o, next) {
        HASH_DEL(probe.origin, o);
        free(o->from);
        free(o);
    }
    schema_problems_release(&probe.problems);
    json_object_put(probe.given);
    return file;
}

int config_load(const struct config_input *in, struct config **ret, struct error *err)
{
    cleanup_config struct config *c = calloc(1, sizeof *c);
    if (!c)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the configuration");
    c->keys = in->keys;
    c->checks = in->checks;
    c->given = json_object_new_object();
    bool explicit_file;
    cleanup_free char *file = choose_file(in, &explicit_file);
    load_file(c, file, explicit_file);
    schema_rename(c->keys, c->given);
    load_environment(c, in->environ_);
    load_options(c, in->argc, in->argv);
    if (c->problems.n == 0) { /* what only the layers together show: missing keys, keys of another kind */
        schema_rename(c->keys, c->given);
        struct schema_place place = {.file = c->file, .positions = c->positions};
        schema_validate(c->keys, c->given, SCHEMA_FINISHED, c->checks, &place, &c->problems);
    }
    if (config_problems(c, err) < 0)
        return -1;
    c->tree = schema_fill(c->keys, c->given);
    *ret = take_ptr(c);
    return 0;
}

void config_free(struct config *c)
{
    if (!c)
        return;
    struct origin *o, *next;
    HASH_ITER(hh, c->origin, o, next) {
        HASH_DEL(c->origin, o);
        free(o->from);
        free(o);
    }
    yaml_positions_free(c->positions);
    json_object_put(c->given);
    json_object_put(c->tree);
    schema_problems_release(&c->problems);
    strbuf_release(&c->warnings);
    free(c->file);
    free(c);
}

/* ---- Values ------------------------------------------------------------------------------------------------------- */

struct json_object *config_get(const struct config *c, const char *path)
{
    assert(schema_find(c->keys, path));
    return lookup(c->tree, path);
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
    return lookup(c->given, path) != NULL;
}

void config_derive(struct config *c, const char *path, struct json_object *take_value)
{
    if (config_is_set(c, path)) {
        json_object_put(take_value);
        return;
    }
    put_value(c->keys, c->tree, path, take_value);
    set_origin(c, path, "derived");
}

int config_change(struct config *c, const char *path, struct json_object *take_value, struct error *err)
{
    cleanup_json struct json_object *value = take_value;
    const struct schema_key *key = schema_find(c->keys, path);
    if (!key)
        return error_set(err, ERR_INVALID, "there is no configuration key %s", path);
    if (!(key->flags & SCHEMA_RUNTIME))
        return error_set(err, ERR_INVALID, "%s cannot change while the program runs; set it in the file and start again", path);
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    schema_validate(key, value, SCHEMA_FINISHED, c->checks, &(struct schema_place){.source = path}, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    if (r < 0)
        return -1;
    put_value(c->keys, c->tree, path, take_ptr(value));
    set_origin(c, path, "changed at run time");
    return 0;
}

struct json_object *config_effective(const struct config *c)
{
    return schema_mask(c->keys, c->tree);
}

static void print_origins(const struct config *c, struct json_object *v, struct strbuf *path, struct strbuf *out)
{
    if (json_object_is_type(v, json_type_object) && json_object_object_length(v) > 0) {
        size_t length = path->n;
        json_object_object_foreach(v, name, value) {
            strbuf_addf(path, "%s%s", length ? "." : "", name);
            print_origins(c, value, path, out);
            strbuf_truncate(path, length);
        }
        return;
    }
    strbuf_addf(out, "%s: ", strbuf_str(path));
    if (json_object_is_type(v, json_type_array) || json_object_is_type(v, json_type_object))
        json_print(v, out);
    else
        yaml_print(v, out);
    if (out->s[out->n - 1] == '\n')
        strbuf_truncate(out, out->n - 1);
    strbuf_adds(out, "  # ");
    config_origin(c, strbuf_str(path), out);
    strbuf_addc(out, '\n');
}

void config_print(const struct config *c, bool origins, struct strbuf *out)
{
    cleanup_json struct json_object *shown = config_effective(c);
    cleanup_strbuf struct strbuf path = STRBUF_INIT;
    if (origins)
        print_origins(c, shown, &path, out);
    else
        yaml_print(shown, out);
}

/* ---- Mistakes and warnings ---------------------------------------------------------------------------------------- */

void config_problem(struct config *c, const char *path, const char *fmt, ...)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, origin = STRBUF_INIT;
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

int config_problems(struct config *c, struct error *err)
{
    if (c->problems.n == 0)
        return 0;
    enum error_kind kind = c->problems.n == c->option_problems ? ERR_USAGE : ERR_INVALID;
    return error_set(err, kind, "%s", strbuf_str(&c->problems.text));
}

/* ---- Help --------------------------------------------------------------------------------------------------------- */

bool config_wants_help(int argc, char *const *argv)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
            return true;
    }
    return false;
}

static void help_value(const struct schema_key *key, struct strbuf *out)
{
    if (key->choice) {
        for (const char *const *c = key->choice; *c; c++)
            strbuf_addf(out, "%s%s", c == key->choice ? " " : "|", **c ? *c : "\"\"");
    } else if (key->types & (SCHEMA_LIST | SCHEMA_MAP | SCHEMA_OBJECT)) {
        strbuf_adds(out, " YAML");
    } else if (key->types & (SCHEMA_INT | SCHEMA_NUMBER)) {
        strbuf_adds(out, key->types & SCHEMA_STRING ? " VALUE" : " N");
    } else if (!(key->types & SCHEMA_BOOL)) {
        strbuf_adds(out, key->types & SCHEMA_DURATION ? " DURATION" : key->types & SCHEMA_SIZE ? " SIZE" : " TEXT");
    }
}

static void help_row(void *ctx, const char *path, const struct schema_key *key)
{
    struct strbuf *out = ctx;
    if ((key->flags & SCHEMA_DROP) || (key->types == SCHEMA_OBJECT && key->child_n))
        return;
    strbuf_adds(out, "  ");
    if (key->option)
        strbuf_addf(out, "-%s, ", key->option);
    config_option_name(path, out);
    help_value(key, out);
    strbuf_addf(out, "\n        %s", key->help);
    if (key->unit)
        strbuf_addf(out, ", in %s", key->unit);
    if (key->def && strcmp(key->def, "\"\"") != 0)
        strbuf_addf(out, " (default %s)", key->def);
    strbuf_adds(out, ". ");
    config_variable_name(path, out);
    strbuf_addc(out, '\n');
}

void config_help(const struct config_input *in, const char *usage, struct strbuf *out)
{
    strbuf_addf(out, "%s\nEach option is also a variable, named after it, and a key of the file (default %s).\n"
                     "Options win over variables, variables over the file, the file over the defaults.\n\n", usage, in->default_file);
    config_each_key(in->keys, help_row, out);
    strbuf_adds(out, "  -h, --help\n        Show this.\n");
}
