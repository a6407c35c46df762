#include "api/webhooks/webhook_rules.h"

#include <string.h>
#include <strings.h>

#include "api/pipeline/names.h"
#include "common/json/json.h"
#include "core/config/log_policies.h"

enum { URL_MAX_BYTES = 2000, TRIGGERS_MAX = 50 };

int webhook_check_name(const char *name, struct error *err)
{
    return name_check("webhook", name, "", err);
}

int webhook_check_url(const char *url, struct error *err)
{
    size_t n = url ? strlen(url) : 0;
    if (n == 0 || n > URL_MAX_BYTES)
        return error_set(err, ERR_INVALID, "the url of a webhook has 1 to %d bytes, this one has %zu", URL_MAX_BYTES,
                         n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)url[i] <= ' ' || (unsigned char)url[i] >= 0x7f)
            return error_set(err, ERR_INVALID,
                             "the url of a webhook has printable characters of ASCII only; byte %zu is 0x%02x: write "
                             "it as %%%02X",
                             i + 1, (unsigned char)url[i], (unsigned char)url[i]);
    size_t scheme = strncasecmp(url, "https://", 8) == 0 ? 8 : strncasecmp(url, "http://", 7) == 0 ? 7 : 0;
    size_t host = scheme ? strcspn(url + scheme, "/?#") : 0;
    if (host == 0)
        return error_set(err, ERR_INVALID, "the url of a webhook begins with http:// or https:// and names a host");
    if (memchr(url + scheme, '@', host))
        return error_set(err, ERR_INVALID, "the url of a webhook must not have a user name or a password");
    return 0;
}

/* ---- triggers ---------------------------------------------------------------------------------------------------- */

/* Reads the text at a key of the condition; *ret is NULL if there is none. */
static int read_condition(const char *condition, const char *key, struct arena *a, const char **ret, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *value = NULL;
    *ret = NULL;
    if (condition && json_parse(condition, strlen(condition), &v, err) < 0)
        return error_wrap(err, "condition");
    if (!json_object_is_type(v, json_type_object) || !json_object_object_get_ex(v, key, &value) ||
        !json_object_is_type(value, json_type_string))
        return 0;
    /* A zero byte within the text would end it unnoticed. */
    if (strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value))
        return error_set(err, ERR_INVALID, "condition.%s has a character U+0000, which is not allowed", key);
    *ret = arena_strdup(a, json_object_get_string(value));
    return 0;
}

static int read_state(const char *condition, struct arena *a, const char **ret, struct error *err)
{
    const char *text;
    if (read_condition(condition, "state", a, &text, err) < 0)
        return -1;
    if (!text)
        return error_set(err, ERR_INVALID,
                         "the condition of a change of state names the state: {\"state\": \"COMPLETED\"}");
    char name[64];
    int32_t number;
    snprintf(name, sizeof(name), "STATE_%s", strncmp(text, "STATE_", 6) == 0 ? text + 6 : text);
    if (codec_enum_number(&wire_enum_experiment_state, name, &number) < 0 || number == 0)
        return error_set(err, ERR_INVALID,
                         "condition.state '%.40s' is no state of an experiment, such as COMPLETED or ERROR", text);
    *ret = arena_strdup(a, name + 6);
    return 0;
}

static int read_regex(const char *condition, struct arena *a, const char **ret, struct error *err)
{
    const char *text;
    if (read_condition(condition, "regex", a, &text, err) < 0)
        return -1;
    size_t n = text ? strlen(text) : 0;
    if (n == 0)
        return error_set(err, ERR_INVALID,
                         "the condition of a trigger on task logs is a pattern: {\"regex\": \"out of memory\"}");
    if (n > WEBHOOK_REGEX_MAX_BYTES)
        return error_set(err, ERR_INVALID, "condition.regex has %zu bytes, at most %d are allowed", n,
                         WEBHOOK_REGEX_MAX_BYTES);
    if (log_policy_check_pattern(text, err) < 0)
        return error_wrap(err, "condition.regex");
    *ret = text;
    return 0;
}

/* A custom trigger without a condition is told of alerts. Changes of aliases are a condition of it and no type of
 * trigger, since clients of release 0.38.1 refuse a list that has a type which they do not know. */
static int read_custom(const char *condition, struct arena *a, const char **ret, struct error *err)
{
    const char *event;
    if (read_condition(condition, "event", a, &event, err) < 0)
        return -1;
    if (event && strcmp(event, WEBHOOK_EVENT_MODEL_ALIAS) != 0)
        return error_set(err, ERR_INVALID,
                         "condition.event '%.40s' is no event: " WEBHOOK_EVENT_MODEL_ALIAS
                         " is a change of a model's alias; leave the condition out for alerts of experiments",
                         event);
    *ret = event ? "MODEL_ALIAS" : "CUSTOM";
    return 0;
}

static int read_trigger(const struct wire_webhook_trigger *given, struct arena *a, struct store_webhook_trigger *ret,
                        struct error *err)
{
    *ret = (struct store_webhook_trigger){.state = "", .regex = ""};
    switch (given->trigger_type) {
    case WIRE_WEBHOOK_TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE:
        ret->type = "EXPERIMENT_STATE_CHANGE";
        return read_state(given->condition, a, &ret->state, err);
    case WIRE_WEBHOOK_TRIGGER_TYPE_CUSTOM:
        return read_custom(given->condition, a, &ret->type, err);
    case WIRE_WEBHOOK_TRIGGER_TYPE_TASK_LOG:
        ret->type = "TASK_LOG";
        return read_regex(given->condition, a, &ret->regex, err);
    case WIRE_WEBHOOK_TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED:
        return error_set(err, ERR_INVALID,
                         "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED is not served: no release has ever sent such a "
                         "message. Code of the experiment can raise an alert (TRIGGER_TYPE_CUSTOM)");
    default:
        return error_set(err, ERR_INVALID,
                         "triggerType is missing; TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE, TRIGGER_TYPE_TASK_LOG and "
                         "TRIGGER_TYPE_CUSTOM are allowed");
    }
}

int webhook_read_triggers(const struct wire_webhook_trigger *given, size_t n, struct arena *a,
                          struct store_webhook_trigger **ret, struct error *err)
{
    struct store_webhook_trigger *t = arena_array(a, struct store_webhook_trigger, n + 1);
    if (n == 0 || n > TRIGGERS_MAX)
        return error_set(err, ERR_INVALID, "a webhook has 1 to %d triggers, this one has %zu", TRIGGERS_MAX, n);
    for (size_t i = 0; i < n; i++) {
        if (read_trigger(&given[i], a, &t[i], err) < 0)
            return error_wrap(err, "triggers[%zu]", i);
        for (size_t j = 0; j < i; j++)
            if (strcmp(t[i].type, t[j].type) == 0 && strcmp(t[i].state, t[j].state) == 0 &&
                strcmp(t[i].regex, t[j].regex) == 0)
                return error_set(err, ERR_INVALID, "triggers[%zu] is the same as triggers[%zu]", i, j);
    }
    *ret = t;
    return 0;
}

/* ---- the experiment's own choice --------------------------------------------------------------------------------- */

static bool names_id(struct json_object *list, int32_t id)
{
    for (size_t i = 0; json_object_is_type(list, json_type_array) && i < json_object_array_length(list); i++)
        if (json_object_get_int64(json_object_array_get_idx(list, i)) == id)
            return true;
    return false;
}

static bool names_name(struct json_object *list, const char *name)
{
    for (size_t i = 0; json_object_is_type(list, json_type_array) && i < json_object_array_length(list); i++)
        if (strcmp(json_object_get_string(json_object_array_get_idx(list, i)), name) == 0)
            return true;
    return false;
}

bool webhook_concerns(const struct store_webhook *h, const char *experiment_config)
{
    cleanup_json struct json_object *config = NULL;
    struct json_object *integrations = NULL, *own = NULL, *x = NULL;
    bool is_specific = strcmp(h->mode, "SPECIFIC") == 0;
    if (json_parse(experiment_config, strlen(experiment_config), &config, NULL) < 0 ||
        !json_object_object_get_ex(config, "integrations", &integrations) ||
        !json_object_object_get_ex(integrations, "webhooks", &own) || !own)
        return !is_specific;
    if (json_object_object_get_ex(own, "exclude", &x) && json_object_get_boolean(x))
        return false;
    if (!is_specific)
        return true;
    return (json_object_object_get_ex(own, "webhook_id", &x) && names_id(x, h->id)) ||
           (json_object_object_get_ex(own, "webhook_name", &x) && names_name(x, h->name));
}
