#include "api/webhooks/webhook_payload.h"

#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/utf8.h"
#include "common/json/json.h"

#define US_PER_S 1000000ll

static struct json_object *text(const char *s)
{
    return json_object_new_string(s ? s : "");
}

static int64_t slots_per_trial(const char *config)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *resources = NULL, *slots = NULL;
    if (json_parse(config, strlen(config), &v, NULL) < 0 || !json_object_object_get_ex(v, "resources", &resources) ||
        !json_object_object_get_ex(resources, "slots_per_trial", &slots))
        return 0;
    return json_object_get_int64(slots);
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

static struct json_object *experiment_of(const struct webhook_event *e)
{
    const struct store_webhook_subject *x = e->experiment;
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "id", json_object_new_int(x->id));
    json_object_object_add(o, "state", text(e->state ? e->state : x->state));
    json_object_object_add(o, "name", text(x->name));
    json_object_object_add(o, "duration", json_object_new_int64(x->end_us ? (x->end_us - x->start_us) / US_PER_S : 0));
    json_object_object_add(o, "resource_pool", text(x->resource_pool));
    json_object_object_add(o, "slots_per_trial", json_object_new_int64(slots_per_trial(x->config)));
    json_object_object_add(o, "workspace", text(x->workspace_name));
    json_object_object_add(o, "project", text(x->project_name));
    if (e->trial_id)
        json_object_object_add(o, "trial_id", json_object_new_int(e->trial_id));
    return o;
}

/* The condition of the trigger has one key at most; key NULL: none. */
static struct json_object *message_of(const char *event_id, const char *type, int64_t now_us, const char *key,
                                      const char *value, struct json_object *data)
{
    struct json_object *o = json_object_new_object(), *condition = json_object_new_object();
    if (key)
        json_object_object_add(condition, key, text(value));
    json_object_object_add(o, "event_id", text(event_id));
    json_object_object_add(o, "event_type", text(type));
    json_object_object_add(o, "timestamp", json_object_new_int64(now_us / US_PER_S));
    json_object_object_add(o, "condition", condition);
    json_object_object_add(o, "event_data", data);
    return o;
}

void webhook_payload_default(const struct webhook_event *e, struct strbuf *out)
{
    struct json_object *data = json_object_new_object();
    json_object_object_add(data, "experiment", experiment_of(e));
    if (!e->state) {
        struct json_object *custom = json_object_new_object();
        json_object_object_add(custom, "title", text(e->title));
        json_object_object_add(custom, "description", text(e->description));
        json_object_object_add(custom, "level", text(e->level));
        json_object_object_add(data, "custom_data", custom);
    }
    cleanup_json struct json_object *o = message_of(e->event_id, e->state ? "EXPERIMENT_STATE_CHANGE" : "CUSTOM",
                                                    e->now_us, e->state ? "state" : NULL, e->state, data);
    json_print(o, out);
}

/* The text, or as much of it as the message may have. */
static struct json_object *text_up_to(const char *s, size_t max)
{
    return json_object_new_string_len(s, (int)utf8_cut(s, strlen(s), max));
}

enum { LINE_MAX_BYTES = 8192 };

void webhook_payload_log_default(const struct webhook_log_event *e, struct strbuf *out)
{
    struct json_object *data = json_object_new_object(), *log = json_object_new_object();
    json_object_object_add(log, "task_id", text(e->task->id));
    json_object_object_add(log, "node_name", text(e->node_name));
    json_object_object_add(log, "triggering_log", text_up_to(e->line, LINE_MAX_BYTES));
    json_object_object_add(data, "task_log", log);
    cleanup_json struct json_object *o = message_of(e->event_id, "TASK_LOG", e->now_us, "regex", e->regex, data);
    json_print(o, out);
}

void webhook_payload_alias_default(const struct webhook_alias_event *e, struct strbuf *out)
{
    struct json_object *data = json_object_new_object(), *alias = json_object_new_object();
    json_object_object_add(alias, "model_id", json_object_new_int(e->model_id));
    json_object_object_add(alias, "model_name", text(e->model_name));
    json_object_object_add(alias, "workspace_id", json_object_new_int(e->workspace_id));
    json_object_object_add(alias, "alias", text(e->alias));
    if (e->version)
        json_object_object_add(alias, "version", json_object_new_int(e->version));
    if (e->version_before)
        json_object_object_add(alias, "previous_version", json_object_new_int(e->version_before));
    json_object_object_add(alias, "username", text(e->username));
    json_object_object_add(data, "model_alias", alias);
    cleanup_json struct json_object *o = message_of(e->event_id, "CUSTOM", e->now_us, "event", "MODEL_ALIAS", data);
    json_print(o, out);
}

/* ---- for Slack --------------------------------------------------------------------------------------------------- */

/* A text in which Slack finds no links and no markup of its own: a name that a user has chosen stays a name. */
static void add_plain(struct strbuf *out, const char *s)
{
    for (; s && *s; s++)
        if (*s == '&')
            strbuf_adds(out, "&amp;");
        else if (*s == '<')
            strbuf_adds(out, "&lt;");
        else if (*s == '>')
            strbuf_adds(out, "&gt;");
        else
            strbuf_addc(out, *s);
}

static void add_link(struct strbuf *out, const char *base_url, const char *path, int32_t id, const char *rest,
                     const char *name)
{
    if (*base_url)
        strbuf_addf(out, "<%s/det/%s/%d%s | ", base_url, path, id, rest);
    add_plain(out, name);
    if (*base_url)
        strbuf_addc(out, '>');
}

static struct json_object *text_block(const char *type, const char *s)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "text", text(s));
    json_object_object_add(o, "type", text(type));
    return o;
}

static struct json_object *section(const char *type, const char *s)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "text", text_block(type, s));
    json_object_object_add(o, "type", text("section"));
    return o;
}

static void add_field(struct json_object *fields, const char *name, const struct strbuf *value)
{
    cleanup_strbuf struct strbuf s = STRBUF_INIT;
    strbuf_addf(&s, "*%s*: %s", name, strbuf_str(value));
    json_object_array_add(fields, text_block("mrkdwn", strbuf_str(&s)));
}

static void add_plain_field(struct json_object *fields, const char *name, const char *value)
{
    cleanup_strbuf struct strbuf s = STRBUF_INIT;
    add_plain(&s, value);
    add_field(fields, name, &s);
}

static struct json_object *list_of(struct json_object *item)
{
    struct json_object *list = json_object_new_array();
    json_object_array_add(list, item);
    return list;
}

/* How each state is told. The last row is for all other states. */
static const struct {
    const char *state, *sentence, *status, *mark, *color;
} looks[] = {
    {"COMPLETED", "Your experiment completed successfully 🎉", "Completed", "✅ ", "#13B670"},
    {"ERROR", "Your experiment has stopped with errors", "Errored", "❌ ", "#DD5040"},
    {NULL, "The status of your experiment is", NULL, "", "#009bde"},
};

static int look_of(const char *state)
{
    int i = 0;
    while (looks[i].state && strcmp(looks[i].state, state) != 0)
        i++;
    return i;
}

static struct json_object *fields_of(const struct webhook_event *e, const char *status)
{
    const struct store_webhook_subject *x = e->experiment;
    struct json_object *fields = json_object_new_array();
    int64_t s = ((x->end_us ? x->end_us : e->now_us) - x->start_us) / US_PER_S;
    char number[32];
    cleanup_strbuf struct strbuf duration = STRBUF_INIT, workspace = STRBUF_INIT, project = STRBUF_INIT;
    strbuf_addf(&duration, "%lldh %lldmin", (long long)(s / 3600), (long long)(s % 3600 / 60));
    add_link(&workspace, e->base_url, "workspaces", x->workspace_id, "/projects", x->workspace_name);
    add_link(&project, e->base_url, "projects", x->project_id, "", x->project_name);
    add_plain_field(fields, "Status", status);
    add_field(fields, "Duration", &duration);
    add_field(fields, "Workspace", &workspace);
    add_field(fields, "Project", &project);
    snprintf(number, sizeof(number), "%d", e->trial_id);
    if (e->trial_id)
        add_plain_field(fields, "Trial ID", number);
    return fields;
}

static struct json_object *top_of(const struct webhook_event *e, const char *state, int look)
{
    cleanup_strbuf struct strbuf s = STRBUF_INIT;
    strbuf_addf(&s, "%s%s%s", looks[look].sentence, looks[look].state ? "" : " ", looks[look].state ? "" : state);
    struct json_object *top = section("plain_text", strbuf_str(&s));
    if (e->state)
        return top;
    struct json_object *fields = json_object_new_array();
    add_plain_field(fields, "Level", e->level);
    add_plain_field(fields, "Title", e->title);
    add_plain_field(fields, "Description", e->description);
    json_object_object_add(top, "fields", fields);
    return top;
}

void webhook_payload_slack(const struct webhook_event *e, struct strbuf *out)
{
    const struct store_webhook_subject *x = e->experiment;
    const char *state = e->state ? e->state : x->state;
    int look = look_of(state);
    cleanup_strbuf struct strbuf name = STRBUF_INIT, title = STRBUF_INIT;
    cleanup_json struct json_object *o = json_object_new_object();
    struct json_object *attachment = json_object_new_object();
    strbuf_addf(&name, "%s (#%d)", x->name ? x->name : "", x->id);
    strbuf_adds(&title, looks[look].mark);
    add_link(&title, e->base_url, "experiments", x->id, "/overview", strbuf_str(&name));
    struct json_object *block = section("mrkdwn", strbuf_str(&title));
    json_object_object_add(block, "fields", fields_of(e, looks[look].status ? looks[look].status : state));
    json_object_object_add(attachment, "color", text(looks[look].color));
    json_object_object_add(attachment, "blocks", list_of(block));
    json_object_object_add(o, "blocks", list_of(top_of(e, state, look)));
    json_object_object_add(o, "attachments", list_of(attachment));
    json_print(o, out);
}

/* A message that is one section of text. */
static void print_section(const char *type, const char *s, struct strbuf *out)
{
    cleanup_json struct json_object *o = json_object_new_object();
    json_object_object_add(o, "blocks", list_of(section(type, s)));
    json_print(o, out);
}

/* Text between triple back-ticks, which Slack shows as it is. Slack takes 3,000 characters in a section, so that what
 * is longer is cut. Back-ticks within become apostrophes: three of them would end the quotation. */
static void add_quoted(struct strbuf *out, const char *s, size_t max)
{
    cleanup_json struct json_object *cut = text_up_to(s, max);
    cleanup_free char *shown = must_strdup(json_object_get_string(cut));
    for (char *c = shown; *c; c++)
        if (*c == '`')
            *c = '\'';
    strbuf_adds(out, "```");
    add_plain(out, shown);
    strbuf_adds(out, shown[0] && s[strlen(shown)] ? "…```\n" : "```\n");
}

/* Where the whole log is shown; a task that is no trial has no page of its own. */
static void add_log_link(struct strbuf *out, const struct webhook_log_event *e)
{
    const struct store_webhook_task *k = e->task;
    if (!k->experiment_id)
        return;
    strbuf_addf(out,
                *e->base_url ? "<%s/det/experiments/%d/trials/%d/logs | View full logs here>"
                             : "View full logs at %s/det/experiments/%d/trials/%d/logs",
                e->base_url, k->experiment_id, k->trial_id);
}

void webhook_payload_log_slack(const struct webhook_log_event *e, struct strbuf *out)
{
    enum { LINE_MAX = 1500, REGEX_MAX = 400 };
    const struct store_webhook_task *k = e->task;
    cleanup_strbuf struct strbuf s = STRBUF_INIT;
    if (k->experiment_id)
        strbuf_addf(&s, "Experiment ID `%d`, Trial ID `%d`", k->experiment_id, k->trial_id);
    else
        strbuf_addf(&s, "Task ID `%s`, task type `%s`", k->id, k->type);
    strbuf_adds(&s, ", running on node `");
    add_plain(&s, e->node_name);
    strbuf_adds(&s, "`, reported a log\n");
    add_quoted(&s, e->line, LINE_MAX);
    strbuf_adds(&s, "This log matched the regex\n");
    add_quoted(&s, e->regex, REGEX_MAX);
    add_log_link(&s, e);
    print_section("mrkdwn", strbuf_str(&s), out);
}

void webhook_payload_alias_slack(const struct webhook_alias_event *e, struct strbuf *out)
{
    cleanup_strbuf struct strbuf s = STRBUF_INIT;
    strbuf_addf(&s, "Alias `%s` of model ", e->alias);
    add_link(&s, e->base_url, "models", e->model_id, "", e->model_name);
    if (e->version)
        strbuf_addf(&s, " is version %d now", e->version);
    else
        strbuf_adds(&s, " was removed");
    if (e->version_before)
        strbuf_addf(&s, " (before: version %d)", e->version_before);
    strbuf_adds(&s, ", changed by ");
    add_plain(&s, e->username);
    print_section("mrkdwn", strbuf_str(&s), out);
}

void webhook_payload_test(bool slack, const char *event_id, int64_t now_us, struct strbuf *out)
{
    if (slack) {
        print_section("plain_text", "test", out);
        return;
    }
    struct json_object *data = json_object_new_object();
    json_object_object_add(data, "data", text("test"));
    cleanup_json struct json_object *o = message_of(event_id, "EXPERIMENT_STATE_CHANGE", now_us, "state", "COMPLETED",
                                                    data);
    json_print(o, out);
}
