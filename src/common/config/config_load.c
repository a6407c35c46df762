/* Reads the layers: file, environment, command line. */
#include "common/config/config_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/config/config_names.h"
#include "common/system/files.h"

#define CONFIG_FILE_MAX (4 << 20)

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
    config_put_value(c->keys, c->given, name->path, value);
    config_set_origin(c, name->path, source);
}

static void load_environment(struct config *c, char *const *environment)
{
    for (; environment && *environment; environment++) {
        const char *eq = strchr(*environment, '=');
        if (strncmp(*environment, "DET_", 4) != 0 || !eq)
            continue;
        cleanup_free char *variable = must_strndup(*environment, (size_t)(eq - *environment));
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
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
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
        *s->found = (struct config_name){.key = key, .path = must_strdup(path)};
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

/* Reads one option with its value. Returns how many arguments it has used. */
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
    cleanup_free char *source = must_strndup(arg, n);
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
    c->file = must_strdup(path);
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

/* Finds out which file to read. That has to be known before its values can be overridden, so variables and options are
 * searched once just for it. */
static char *choose_file(const struct config_input *in, bool *ret_explicit)
{
    struct config probe = {.keys = in->keys, .checks = in->checks, .given = json_object_new_object()};
    load_environment(&probe, in->environ_);
    load_options(&probe, in->argc, in->argv);
    const char *chosen = json_object_get_string(json_object_object_get(probe.given, "config_file"));
    *ret_explicit = chosen && *chosen;
    char *file = must_strdup(*ret_explicit ? chosen : in->default_file);
    config_origins_free(&probe);
    schema_problems_release(&probe.problems);
    json_object_put(probe.given);
    return file;
}

static void tell_unserved(void *ctx, const char *path, const struct schema_key *key)
{
    struct config *c = ctx;
    cleanup_strbuf struct strbuf origin = STRBUF_INIT;
    if (key->refused) {
        config_problem(c, path, "refused: %s", key->refused);
        return;
    }
    config_origin(c, path, &origin);
    config_warn(c, "%s: %s: ignored: %s", strbuf_str(&origin), path, key->ignored);
}

int config_read(const struct config_input *in, struct config **ret, struct error *err)
{
    cleanup_config struct config *c = must_calloc(1, sizeof(*c));
    c->keys = in->keys;
    c->checks = in->checks;
    c->given = json_object_new_object();
    bool explicit_file;
    cleanup_free char *file = choose_file(in, &explicit_file);
    if (load_file(c, file, explicit_file) < 0)
        return config_problems(c, err);
    schema_rename(c->keys, c->given);
    load_environment(c, in->environ_);
    load_options(c, in->argc, in->argv);
    /* These mistakes show only when the layers are merged: missing keys, and keys of another kind. */
    enum schema_phase phase = c->problems.n == 0 ? SCHEMA_FINISHED : SCHEMA_MISSING;
    struct schema_place place = {.file = c->file, .positions = c->positions};
    schema_rename(c->keys, c->given);
    schema_validate(c->keys, c->given, phase, c->checks, &place, &c->problems);
    c->by_table_n = c->problems.text.n;
    schema_prune(c->keys, c->given);
    schema_each_unserved(c->keys, c->given, tell_unserved, c);
    c->tree = schema_fill(c->keys, c->given);
    *ret = take_ptr(c);
    return 0;
}

int config_load(const struct config_input *in, struct config **ret, struct error *err)
{
    cleanup_config struct config *c = NULL;
    if (config_read(in, &c, err) < 0 || config_problems(c, err) < 0)
        return -1;
    *ret = take_ptr(c);
    return 0;
}
