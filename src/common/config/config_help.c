/* Writes a configuration, and the help on all keys, as text. */
#include "common/config/config_internal.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/config/config_names.h"

static void print_origins(const struct config *c, struct json_object *v, struct strbuf *path, struct strbuf *out)
{
    if (json_object_is_type(v, json_type_object) && json_object_object_length(v) > 0) {
        size_t length = path->n;
        json_object_object_foreach(v, name, value)
        {
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
    strbuf_addf(out,
                "%s\nEach option is also a variable, named after it, and a key of the file (default %s).\n"
                "Options win over variables, variables over the file, the file over the defaults.\n\n",
                usage, in->default_file);
    config_each_key(in->keys, help_row, out);
    strbuf_adds(out, "  -h, --help\n        Show this.\n");
}
