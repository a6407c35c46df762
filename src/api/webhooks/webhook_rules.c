#include "api/webhooks/webhook_rules.h"

#include <string.h>
#include <strings.h>

#include "common/base/utf8.h"
#include "common/json/json.h"

enum { NAME_MAX_BYTES = 255, URL_MAX_BYTES = 2000, TRIGGERS_MAX = 50 };

int webhook_check_name(const char *name, struct error *err)
{
    size_t n = name ? strlen(name) : 0;
    if (n == 0 || n > NAME_MAX_BYTES || !name[strspn(name, " ")])
        return error_set(err, ERR_INVALID, "the name of a webhook has 1 to %d bytes and is not blank, this one has %zu",
                         NAME_MAX_BYTES, n);
    const char *bad = text_find_control(name);
    return bad ? error_set(err, ERR_INVALID, "the name of a webhook has no control characters; byte %zu is 0x%02x",
                           (size_t)(bad - name) + 1, (unsigned char)*bad)
               : 0;
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

static int read_state(const char *condition, struct arena *a, const char **ret, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *state = NULL;
    if (condition && json_parse(condition, strlen(condition), &v, err) < 0)
        return error_wrap(err, "condition");
    if (!v || !json_object_object_get_ex(v, "state", &state) || !json_object_is_type(state, json_type_string))
        return error_set(err, ERR_INVALID,
                         "the condition of a change of state names the state: {\"state\": \"COMPLETED\"}");
    const char *text = json_object_get_string(state);
    char name[64];
    int32_t number;
    snprintf(name, sizeof(name), "STATE_%s", strncmp(text, "STATE_", 6) == 0 ? text + 6 : text);
    if (codec_enum_number(&wire_enum_experiment_state, name, &number) < 0 || number == 0)
        return error_set(err, ERR_INVALID,
                         "condition.state '%.40s' is no state of an experiment, such as COMPLETED or ERROR", text);
    *ret = arena_strdup(a, name + 6);
    return 0;
}

static int read_trigger(const struct wire_webhook_trigger *given, struct arena *a, struct store_webhook_trigger *ret,
                        struct error *err)
{
    *ret = (struct store_webhook_trigger){.state = ""};
    switch (given->trigger_type) {
    case WIRE_WEBHOOK_TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE:
        ret->type = "EXPERIMENT_STATE_CHANGE";
        return read_state(given->condition, a, &ret->state, err);
    case WIRE_WEBHOOK_TRIGGER_TYPE_CUSTOM:
        ret->type = "CUSTOM";
        return 0;
    case WIRE_WEBHOOK_TRIGGER_TYPE_TASK_LOG:
        return error_set(err, ERR_INVALID,
                         "TRIGGER_TYPE_TASK_LOG is planned; this version of the master does not look for patterns of "
                         "webhooks in task logs. log_policies of an experiment's configuration do");
    case WIRE_WEBHOOK_TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED:
        return error_set(err, ERR_INVALID, "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED is not served");
    default:
        return error_set(
            err, ERR_INVALID,
            "triggerType is missing; TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE and TRIGGER_TYPE_CUSTOM are allowed");
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
            if (strcmp(t[i].type, t[j].type) == 0 && strcmp(t[i].state, t[j].state) == 0)
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
