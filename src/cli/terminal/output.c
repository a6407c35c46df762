#include "cli/terminal/output.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/terminal/formats.h"
#include "common/base/cleanup.h"
#include "common/base/compare.h"
#include "common/base/must.h"

struct style {
    int indent;
    bool sorted, colored;
};

static void put_colored(struct strbuf *out, const struct style *s, int color, const char *text, size_t n)
{
    if (s->colored && color)
        strbuf_addf(out, "\x1b[%dm", color);
    strbuf_add(out, text, n);
    if (s->colored && color)
        strbuf_adds(out, "\x1b[0m");
}

enum { COLOR_KEY = 34, COLOR_STRING = 32, COLOR_SEPARATOR = 33 };

static void put_separator(struct strbuf *out, const struct style *s, const char *text)
{
    put_colored(out, s, COLOR_SEPARATOR, text, strlen(text));
}

/* Writes a string as Python's json.dumps does: characters that are not ASCII are escaped. */
static void put_string(struct strbuf *out, const struct style *s, int color, const char *text, size_t n)
{
    struct json_object *v = json_object_new_string_len(text, (int)n);
    struct strbuf one = STRBUF_INIT;
    json_print_sorted(v, 0, &one);
    put_colored(out, s, color, strbuf_str(&one), one.n);
    strbuf_release(&one);
    json_object_put(v);
}

static void new_line(struct strbuf *out, const struct style *s, int depth)
{
    strbuf_addf(out, "\n%*s", s->indent * depth, "");
}

static void print_value(struct strbuf *out, const struct style *s, struct json_object *v, int depth);

static void print_object(struct strbuf *out, const struct style *s, struct json_object *v, int depth)
{
    size_t n = (size_t)json_object_object_length(v), i = 0;
    if (n == 0) {
        put_separator(out, s, "{}");
        return;
    }
    const char **key = must_calloc(n, sizeof(*key));
    json_object_object_foreach(v, name, value)
    {
        (void)value;
        key[i++] = name;
    }
    if (s->sorted)
        qsort(key, n, sizeof(*key), compare_texts);
    put_separator(out, s, "{");
    for (i = 0; i < n; i++) {
        if (i)
            put_separator(out, s, ",");
        new_line(out, s, depth + 1);
        put_string(out, s, COLOR_KEY, key[i], strlen(key[i]));
        put_separator(out, s, ": ");
        print_value(out, s, json_object_object_get(v, key[i]), depth + 1);
    }
    new_line(out, s, depth);
    put_separator(out, s, "}");
    free(key);
}

static void print_array(struct strbuf *out, const struct style *s, struct json_object *v, int depth)
{
    size_t n = json_object_array_length(v);
    put_separator(out, s, n ? "[" : "[]");
    for (size_t i = 0; i < n; i++) {
        if (i)
            put_separator(out, s, ",");
        new_line(out, s, depth + 1);
        print_value(out, s, json_object_array_get_idx(v, i), depth + 1);
    }
    if (n) {
        new_line(out, s, depth);
        put_separator(out, s, "]");
    }
}

static void print_value(struct strbuf *out, const struct style *s, struct json_object *v, int depth)
{
    switch (json_object_get_type(v)) {
    case json_type_object:
        print_object(out, s, v, depth);
        break;
    case json_type_array:
        print_array(out, s, v, depth);
        break;
    case json_type_string:
        put_string(out, s, COLOR_STRING, json_object_get_string(v), (size_t)json_object_get_string_len(v));
        break;
    default:
        json_print_sorted(v, 0, out);
        break;
    }
}

static void print_json(struct cli *cli, struct json_object *v)
{
    const char *wish = getenv("DET_CLI_COLORIZE");
    struct style s = {.indent = 2, .sorted = true};
    s.colored = cli_colors(cli->out_terminal) && wish && (strcmp(wish, "1") == 0 || strcasecmp(wish, "true") == 0);
    struct strbuf text = STRBUF_INIT;
    print_value(&text, &s, v, 0);
    strbuf_addc(&text, '\n');
    fwrite(text.s, 1, text.n, cli->out);
    strbuf_release(&text);
}

static const char *dumps(struct arena *a, struct json_object *v, int indent)
{
    struct style s = {.indent = indent};
    struct strbuf text = STRBUF_INIT;
    print_value(&text, &s, v, 0);
    const char *ret = arena_strndup(a, strbuf_str(&text), text.n);
    strbuf_release(&text);
    return ret;
}

const char *output_dumps(struct arena *a, struct json_object *v)
{
    return dumps(a, v, 4);
}

const char *output_dumps_by(struct arena *a, const char *json, int indent)
{
    struct json_object *v = NULL;
    if (json && json_parse(json, strlen(json), &v, NULL) < 0)
        return json;
    const char *ret = dumps(a, v, indent);
    json_object_put(v);
    return ret;
}

const char *output_dumps_raw(struct arena *a, const char *json)
{
    return output_dumps_by(a, json, 4);
}

static void print_yaml(struct cli *cli, struct json_object *v)
{
    struct strbuf text = STRBUF_INIT;
    yaml_print(v, &text);
    fwrite(strbuf_str(&text), 1, text.n, cli->out);
    strbuf_release(&text);
}

static void print_csv(struct cli *cli, struct json_object *v)
{
    cleanup_table struct table t = TABLE_INIT;
    table_of_document(v, &t);
    table_print_csv(&t, /* titles= */ true, cli->out);
}

static void print_as(struct cli *cli, struct json_object *v, enum cli_format usual)
{
    enum cli_format format = cli->format ? cli->format : usual;
    if (format == CLI_FORMAT_CSV)
        print_csv(cli, v);
    else if (format == CLI_FORMAT_YAML)
        print_yaml(cli, v);
    else
        print_json(cli, v);
}

void output_json(struct cli *cli, struct json_object *v)
{
    print_as(cli, v, CLI_FORMAT_JSON);
}

void output_yaml(struct cli *cli, struct json_object *v, bool empty_line)
{
    print_as(cli, v, CLI_FORMAT_YAML);
    if (empty_line && (!cli->format || cli->format == CLI_FORMAT_YAML))
        fputc('\n', cli->out);
}

static void keep_names(struct cli *cli, struct json_object *first)
{
    cleanup_free const char **name = json_sorted_names(first, &cli->record_name_n);
    cli->record_name = arena_array(&cli->arena, const char *, cli->record_name_n + 1);
    for (size_t i = 0; i < cli->record_name_n; i++)
        cli->record_name[i] = arena_strdup(&cli->arena, name[i]);
}

static void print_csv_record(struct cli *cli, struct json_object *v)
{
    cleanup_table struct table t = TABLE_INIT;
    bool first = !cli->record_name;
    if (first)
        keep_names(cli, v);
    if (cli->record_name_n == 0)
        return;
    table_of_object(v, cli->record_name, cli->record_name_n, &t);
    table_print_csv(&t, /* titles= */ first, cli->out);
}

void output_record(struct cli *cli, struct json_object *v)
{
    cleanup_json struct json_object *item = NULL;
    if (cli->format == CLI_FORMAT_CSV) {
        print_csv_record(cli, v);
    } else if (cli->format == CLI_FORMAT_YAML) {
        item = json_object_new_array();
        json_object_array_add(item, json_object_get(v));
        print_yaml(cli, item);
    } else {
        print_json(cli, v);
    }
}

/* Makes a whole number in a field for fractions print as a fraction. */
static struct json_object *as_fraction(struct json_object *v)
{
    return json_object_is_type(v, json_type_int) ? json_new_double(json_object_get_double(v)) : json_object_get(v);
}

static void fill_field(const struct codec_field *f, struct json_object *v)
{
    if (f->flags & CODEC_REPEATED && json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(v); i++)
            output_fill_absent(f->message, json_object_array_get_idx(v, i));
    } else if (f->flags & CODEC_MAP && json_object_is_type(v, json_type_object)) {
        json_object_object_foreach(v, key, value)
        {
            (void)key;
            output_fill_absent(f->message, value);
        }
    } else {
        output_fill_absent(f->message, v);
    }
}

void output_fill_absent(const struct codec_message *m, struct json_object *document)
{
    if (!json_object_is_type(document, json_type_object))
        return;
    for (size_t i = 0; i < m->field_n; i++) {
        const struct codec_field *f = &m->field[i];
        struct json_object *v;
        if (!json_object_object_get_ex(document, f->json, &v)) {
            /* fields that release 0.38.1 does not have are left out if they are absent: scripts see what
             * that release printed */
            if (!(f->flags & CODEC_ADDED))
                json_object_object_add(document, f->json, NULL);
        } else if ((f->type == CODEC_DOUBLE || f->type == CODEC_FLOAT) && !(f->flags & (CODEC_REPEATED | CODEC_MAP)))
            json_object_object_add(document, f->json, as_fraction(v));
        else if (f->type == CODEC_MESSAGE)
            fill_field(f, v);
    }
}
