/* Shows configurations without their secrets to users who may not see them. A flag in a member's row says that the
 * member is a secret. */
#include "core/config/expconf_secrets.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/config/schema.h"
#include "core/config/expconf.h"
#include "core/config/expconf_internal.h"
#include "gen/config_tables.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether text[0..n) ends with the name of a secret, as a whole word. */
static bool ends_with_secret(const char *text, size_t n)
{
    for (const char *const *name = config_secret_names; *name; name++) {
        size_t length = strlen(*name);
        if (n >= length && memcmp(text + n - length, *name, length) == 0 &&
            (n == length || !is_word(text[n - length - 1])))
            return true;
    }
    return false;
}

/* Whether the character may stand between a name and its colon. */
static bool is_between(char c)
{
    return c == '"' || c == ' ' || c == '\'' || c == '\t' || c == '\r' || c == '\n';
}

/* Whether a value in JSON is null. The caller must not ask this of YAML, where a text may begin with "null". */
static bool is_null(const char *value)
{
    value += strspn(value, " \t\r\n");
    return strncmp(value, "null", 4) == 0 && (value[4] == ',' || value[4] == '}');
}

/* Whether a text may hold a secret, found without parsing the text. Lists hold thousands of configurations and few
 * of them have secrets, so parsing all of them would be far too slow. JSON and YAML both have a colon after each
 * name. */
static bool names_secret(const char *text, bool json)
{
    bool last[UCHAR_MAX + 1] = {false}; /* which letters are the last one of some secret's name */
    for (const char *const *name = config_secret_names; *name; name++)
        last[(unsigned char)(*name)[strlen(*name) - 1]] = true;
    for (const char *colon = text; (colon = strchr(colon, ':')); colon++) {
        size_t n = (size_t)(colon - text);
        while (n > 0 && is_between(text[n - 1]))
            n--;
        if (n > 0 && last[(unsigned char)text[n - 1]] && ends_with_secret(text, n) && !(json && is_null(colon + 1)))
            return true;
    }
    return false;
}

/* Whether the text has escape sequences, such as \u0041. A user may have written the name of a secret with them. */
static bool has_escapes(const char *text)
{
    for (const char *at = text; (at = strchr(at, '\\')); at += 2)
        if (at[1] == 'u' || at[1] == 'U' || at[1] == 'x')
            return true;
        else if (!at[1])
            break;
    return false;
}

static struct json_object *mask(struct json_object *config, const char *shown)
{
    cleanup_json struct json_object *once = schema_mask(experiment_config_keys, config, shown);
    return schema_mask(task_config_keys, once, shown); /* a template may be an experiment's or a task's */
}

const char *expconf_hide_secrets(const char *json, const char *shown, struct arena *a)
{
    cleanup_json struct json_object *tree = NULL, *masked = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!json || (!names_secret(json, true) && !has_escapes(json)))
        return json;
    if (json_parse(json, strlen(json), &tree, NULL) < 0)
        return "{}";
    masked = mask(tree, shown);
    json_print(masked, &text);
    return arena_strdup(a, strbuf_str(&text));
}

const char *expconf_hide_secrets_yaml(const char *yaml, struct arena *a)
{
    cleanup_json struct json_object *tree = NULL, *masked = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!yaml || (!names_secret(yaml, false) && !has_escapes(yaml)))
        return yaml;
    if (expconf_read(yaml, strlen(yaml), &tree, NULL, NULL) < 0)
        return "";
    masked = mask(tree, SCHEMA_MASKED);
    yaml_print(masked, &text);
    return arena_strdup(a, strbuf_str(&text));
}
