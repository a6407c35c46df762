#include "cli/files/config_file.h"

#include <stdio.h>
#include <string.h>

#include "cli/files/override.h"
#include "common/base/cleanup.h"
#include "common/base/utf8.h"
#include "common/config/schema.h"
#include "common/system/files.h"
#include "core/config/expconf.h"

#define CONFIG_MAX (16 << 20)

static int read_stream(FILE *from, struct strbuf *ret, struct error *err)
{
    char piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof(piece), from)) > 0) {
        strbuf_add(ret, piece, n);
        if (ret->n > CONFIG_MAX)
            return error_set(err, ERR_TOO_LARGE, "the configuration is longer than %d bytes", CONFIG_MAX);
    }
    return ferror(from) ? error_errno(err, "reading the configuration") : 0;
}

static const char *shown_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Appends the line and a caret below its column: "\n  12 | lr: [0.1\n     |     ^". Columns count characters, not
 * bytes. */
static void show_place(const char *text, int line, int column, struct strbuf *out)
{
    enum { LINE_MAX_SHOWN = 200 };
    for (int i = 1; i < line && text; i++)
        text = (text = strchr(text, '\n')) ? text + 1 : NULL;
    size_t n = text ? strcspn(text, "\r\n") : 0;
    if (n == 0 || n > LINE_MAX_SHOWN)
        return;
    strbuf_addf(out, "\n%5d | %.*s\n      | ", line, (int)n, text);
    for (size_t i = 0, left = (size_t)(column - 1); i < n && left > 0; i++) {
        bool continues = utf8_is_tail(text[i]);
        if (!continues)
            strbuf_addc(out, text[i] == '\t' ? '\t' : ' ');
        left -= !continues;
    }
    strbuf_addc(out, '^');
}

/* Puts the file's name before the YAML parser's "line 3, column 7: …". */
static int blame_yaml(const char *path, const char *text, struct error *err)
{
    cleanup_strbuf struct strbuf where = STRBUF_INIT;
    int line, column, taken = 0;
    const char *message = error_msg(err);
    if (sscanf(message, "line %d, column %d: %n", &line, &column, &taken) != 2 || !taken)
        return error_wrap(err, "%s", shown_name(path));
    show_place(text, line, column, &where);
    return error_set(err, ERR_INVALID, "%s:%d:%d: %s%s", shown_name(path), line, column, message + taken,
                     strbuf_str(&where));
}

int config_file_read(struct cli *cli, const char *path, struct strbuf *ret_text, struct json_object **ret,
                     struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    int rc = strcmp(path, "-") == 0 ? read_stream(cli->in, ret_text, err) : file_read(path, CONFIG_MAX, ret_text, err);
    if (rc < 0)
        return -1;
    if (yaml_parse(strbuf_str(ret_text), ret_text->n, &config, NULL, err) < 0)
        return blame_yaml(path, strbuf_str(ret_text), err);
    if (!json_object_is_type(config, json_type_object))
        return error_set(err, ERR_USAGE, "Error: invalid config file %s: expected keys and values", shown_name(path));
    *ret = take_ptr(config);
    return 0;
}

void config_file_warn_of_words(struct cli *cli, const struct strbuf *text)
{
    cleanup_json struct json_object *config = NULL, *sentences = NULL;
    struct yaml_positions *positions = NULL;
    if (yaml_parse(strbuf_str(text), text->n, &config, &positions, NULL) < 0)
        return;
    expconf_warn_words(positions, &sentences);
    yaml_positions_free(positions);
    for (size_t i = 0; sentences && i < json_object_array_length(sentences); i++)
        cli_say(cli, CLI_YELLOW, "Warning: %s.", json_object_get_string(json_object_array_get_idx(sentences, i)));
}

int config_file_read_with(struct cli *cli, const char *path, const char *const *override, size_t override_n,
                          struct strbuf *ret_text, struct json_object **ret, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    if (config_file_read(cli, path, ret_text, &config, err) < 0)
        return -1;
    for (size_t i = 0; i < override_n; i++)
        if (override_apply(config, override[i], err) < 0)
            return -1;
    if (override_n) {
        config_file_warn_of_words(cli, ret_text);
        strbuf_reset(ret_text);
        yaml_print(config, ret_text);
    }
    *ret = take_ptr(config);
    return 0;
}

/* ---- where in the file a mistake is ------------------------------------------------------------------------------ */

/* Finds "PATH (line L, column C): " at the start of a line of n bytes. Returns the text after it, and sets the
 * path's length. */
static const char *find_mark(const char *line, size_t n, size_t *ret_path_n, int *ret_line, int *ret_column)
{
    const char *mark = memmem(line, n, " (line ", 7);
    int taken = 0;
    if (!mark || memmem(line, (size_t)(mark - line), ": ", 2) ||
        sscanf(mark, " (line %d, column %d)%n", ret_line, ret_column, &taken) != 2 || taken == 0)
        return NULL;
    *ret_path_n = (size_t)(mark - line);
    return mark + taken;
}

static void blame_line(const char *line, size_t n, const char *path, bool rewritten, struct strbuf *out)
{
    size_t path_n;
    int row, column;
    const char *rest = find_mark(line, n, &path_n, &row, &column);
    if (!rest) { /* the message is about a key that is missing */
        path_n = 0;
        rest = line;
    }
    if (rest == line || rewritten)
        strbuf_addf(out, "%s: ", path);
    else
        strbuf_addf(out, "%s:%d:%d: ", path, row, column);
    strbuf_add(out, line, path_n);
    strbuf_add(out, rest, n - (size_t)(rest - line));
}

int config_file_blame(const char *path, bool rewritten, struct error *err)
{
    const char *message = error_msg(err), *line = strstr(message, "<config>");
    if (!line)
        return -1;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    size_t head_n = (size_t)(line - message);
    /* a single message stays on the line of the sentence, several are printed below it */
    bool several = strchr(line, '\n') != NULL;
    while (several && head_n && message[head_n - 1] == ' ')
        head_n--;
    strbuf_add(&out, message, head_n);
    for (;;) {
        size_t n = strcspn(line, "\n");
        strbuf_adds(&out, several ? "\n" : "");
        blame_line(line, n, shown_name(path), rewritten, &out);
        if (!line[n])
            break;
        line += n + 1;
    }
    return error_set(err, err->kind, "%s", out.s);
}

/* Adds a message "ROOT.a.b: words" of n bytes together with its place in the file. */
static void locate_line(const char *line, size_t n, const struct schema_place *place, struct schema_problems *out)
{
    enum { NAME_MAX_BYTES = 200 };
    cleanup_arena struct arena a = ARENA_INIT;
    const char *l = arena_strndup(&a, line, n), *words = strstr(l, ": ");
    size_t root_n = strlen(place->root);
    char name[NAME_MAX_BYTES + 1];
    if (strncmp(l, place->root, root_n) != 0 || !words) {
        strbuf_addf(&out->text, "%s%s", out->n++ ? "\n" : "", l);
        return;
    }
    const char *at = l + root_n + (l[root_n] == '.'),
               *path = arena_strndup(&a, at, at < words ? (size_t)(words - at) : 0);
    if (sscanf(words + 2, "unknown field \"%200[^\"]\"", name) == 1)
        schema_problem_member(out, place, path, name, "%s", words + 2);
    else
        schema_problem(out, place, path, "%s", words + 2);
}

int config_file_locate(const char *path, const char *root, const char *text, struct error *err)
{
    const char *message = error_msg(err), *line = strstr(message, root);
    cleanup_json struct json_object *config = NULL;
    struct yaml_positions *positions = NULL;
    struct schema_problems found = SCHEMA_PROBLEMS_INIT;
    if (!line || yaml_parse(text, strlen(text), &config, &positions, NULL) < 0)
        return -1;
    const struct schema_place place = {.positions = positions, .file = shown_name(path), .root = root};
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    size_t head_n = (size_t)(line - message);
    bool several = strchr(line, '\n') != NULL;
    while (several && head_n && message[head_n - 1] == ' ')
        head_n--;
    strbuf_add(&out, message, head_n);
    for (size_t n = strcspn(line, "\n");; line += n + 1, n = strcspn(line, "\n")) {
        locate_line(line, n, &place, &found);
        if (!line[n])
            break;
    }
    strbuf_addf(&out, "%s%s", several ? "\n" : "", strbuf_str(&found.text));
    schema_problems_release(&found);
    yaml_positions_free(positions);
    return error_set(err, err->kind, "%s", out.s);
}
