/* What somebody has written that does something else than it looks like: keys without effect, and words that YAML 1.1
 * reads as truth values. */
#include <stdarg.h>
#include <string.h>

#include "core/config/expconf_internal.h"

static void add_sentence(struct json_object **list, const struct strbuf *text)
{
    if (!*list)
        *list = json_object_new_array();
    json_object_array_add(*list, json_object_new_string_len(text->s, (int)text->n));
}

static void add_unserved(void *list, const char *path, const struct schema_key *key)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%s has no effect: %s", path, key->ignored);
    add_sentence(list, &text);
}

static bool lies_in(const char *path, const char *section)
{
    size_t n = strlen(section);
    return strncmp(path, section, n) == 0 && (!path[n] || path[n] == '.' || path[n] == '[');
}

/* Adds a sentence about a word, if the word stands in a place where any type of value is allowed. In other places the
 * type is known: "on" for a switch is what was meant, and "on" for a text is refused. */
static void add_word(void *list, const struct yaml_word *word)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!word->is_key && !lies_in(word->path, "hyperparameters") && !lies_in(word->path, "data"))
        return;
    yaml_word_describe(word, &text);
    add_sentence(list, &text);
}

void expconf_warn(struct json_object **list, const char *fmt, ...)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    add_sentence(list, &text);
}

void expconf_warn_unserved(const struct schema_key *table, struct json_object *config, struct json_object **list)
{
    schema_each_unserved(table, config, add_unserved, list);
}

void expconf_warn_words(const struct yaml_positions *positions, struct json_object **list)
{
    yaml_each_word(positions, add_word, list);
}
