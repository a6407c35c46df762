/* Webhooks: create, list, change, delete, test; alerts that tasks raise. */
#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/internal.h"
#include "api/webhooks/webhook_events.h"
#include "api/webhooks/webhook_rules.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "gen/handlers.h"
#include "store/experiments/trials.h"
#include "store/webhooks/webhooks.h"

/* ---- showing ----------------------------------------------------------------------------------------------------- */

static const char *condition_of(struct arena *a, const char *key, const char *value)
{
    cleanup_json struct json_object *o = json_object_new_object();
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_object_object_add(o, key, json_object_new_string(value));
    json_print(o, &text);
    return arena_strdup(a, strbuf_str(&text));
}

static struct wire_webhook_trigger trigger_to_wire(const struct store_webhook_trigger *t, struct arena *a)
{
    struct wire_webhook_trigger w = {.id = t->id, .webhook_id = t->webhook_id, .condition = "{}"};
    if (strcmp(t->type, "TASK_LOG") == 0) {
        w.trigger_type = WIRE_WEBHOOK_TRIGGER_TYPE_TASK_LOG;
        w.condition = condition_of(a, "regex", t->regex);
    } else if (strcmp(t->type, "EXPERIMENT_STATE_CHANGE") == 0) {
        w.trigger_type = WIRE_WEBHOOK_TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE;
        w.condition = condition_of(a, "state", t->state);
    } else {
        w.trigger_type = WIRE_WEBHOOK_TRIGGER_TYPE_CUSTOM;
        if (strcmp(t->type, "MODEL_ALIAS") == 0)
            w.condition = condition_of(a, "event", WEBHOOK_EVENT_MODEL_ALIAS);
    }
    return w;
}

static int webhook_to_wire(struct req *r, struct store *db, const struct store_webhook *h, struct wire_webhook *ret,
                           struct error *err)
{
    struct store_webhook_trigger *t;
    size_t n;
    if (store_webhook_triggers(db, h->id, &r->arena, &t, &n, err) < 0)
        return -1;
    *ret = (struct wire_webhook){.id = h->id,
                                 .url = h->url,
                                 .name = h->name,
                                 .workspace_id = h->workspace_id,
                                 .webhook_type = strcmp(h->type, "SLACK") == 0 ? WIRE_WEBHOOK_TYPE_SLACK
                                                                               : WIRE_WEBHOOK_TYPE_DEFAULT,
                                 .mode = strcmp(h->mode, "SPECIFIC") == 0 ? WIRE_WEBHOOK_MODE_SPECIFIC
                                                                          : WIRE_WEBHOOK_MODE_WORKSPACE,
                                 .triggers = arena_array(&r->arena, struct wire_webhook_trigger, n + 1),
                                 .triggers_n = n};
    for (size_t i = 0; i < n; i++)
        ret->triggers[i] = trigger_to_wire(&t[i], &r->arena);
    return 0;
}

/* The address of a webhook may be a secret, as Slack's are. So only those see it who may change the webhook: without
 * roles nobody else sees the webhook at all; with roles, everybody who may view it sees stars in place of the address.
 */
int api_get_webhooks(struct req *r, struct store *db, const struct wire_get_webhooks_request *in,
                     struct wire_get_webhooks_response *ret, struct error *err)
{
    struct store_webhook *h;
    size_t n;
    bool sees_all = r->who.kind == PRINCIPAL_USER && r->who.admin;
    if (store_webhooks_of(db, sees_all || r->may ? 0 : r->who.user_id, access_workspaces(r, PERMISSION_VIEW_WEBHOOKS),
                          &r->arena, &h, &n, err) < 0)
        return -1;
    ret->webhooks = arena_array(&r->arena, struct wire_webhook, n + 1);
    ret->webhooks_n = n;
    for (size_t i = 0; i < n; i++) {
        if (webhook_to_wire(r, db, &h[i], &ret->webhooks[i], err) < 0)
            return -1;
        if (!access_has(r, PERMISSION_EDIT_WEBHOOKS, h[i].workspace_id))
            ret->webhooks[i].url = SCHEMA_MASKED;
    }
    return 0;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static int check_kind(const struct wire_webhook *w, struct error *err)
{
    if (w->webhook_type != WIRE_WEBHOOK_TYPE_DEFAULT && w->webhook_type != WIRE_WEBHOOK_TYPE_SLACK)
        return error_set(err, ERR_INVALID,
                         "webhookType is missing; WEBHOOK_TYPE_DEFAULT and WEBHOOK_TYPE_SLACK are allowed");
    if (w->mode != WIRE_WEBHOOK_MODE_WORKSPACE && w->mode != WIRE_WEBHOOK_MODE_SPECIFIC)
        return error_set(err, ERR_INVALID,
                         "mode is missing; WEBHOOK_MODE_WORKSPACE and WEBHOOK_MODE_SPECIFIC are allowed");
    return 0;
}

/* Patterns are looked for in each line of each task of the workspace, so that there is a limit to their number. */
static int check_patterns(struct store *db, int32_t workspace_id, const struct store_webhook_trigger *t, size_t n,
                          struct error *err)
{
    int64_t patterns = 0, there;
    for (size_t i = 0; i < n; i++)
        patterns += *t[i].regex != '\0';
    if (patterns == 0)
        return 0;
    if (store_webhook_pattern_count(db, workspace_id, &there, err) < 0)
        return -1;
    if (there + patterns <= WEBHOOK_PATTERNS_MAX)
        return 0;
    return error_set(err, ERR_INVALID,
                     "the webhooks of %s have %lld patterns for task logs, and this one would add %lld; together they "
                     "may have %d: remove one, or join patterns with |",
                     workspace_id ? "this workspace" : "the cluster", (long long)there, (long long)patterns,
                     WEBHOOK_PATTERNS_MAX);
}

/* A step on the loop, once the webhook is stored. */
static int use_patterns(struct req *r, struct core *core, struct error *err)
{
    r->api->services.webhook_patterns_changed(r->api->services.ctx);
    return 0;
}

int api_post_webhook(struct req *r, struct store *db, const struct wire_post_webhook_request *in,
                     struct wire_post_webhook_response *ret, struct error *err)
{
    const struct wire_webhook *w = in->webhook;
    struct wire_webhook *shown = arena_new(&r->arena, struct wire_webhook);
    struct store_webhook_trigger *t;
    int32_t id;
    if (!w)
        return error_set(err, ERR_INVALID, "webhook is missing");
    if (webhook_check_name(w->name, err) < 0 || webhook_check_url(w->url, err) < 0 || check_kind(w, err) < 0 ||
        webhook_read_triggers(w->triggers, w->triggers_n, &r->arena, &t, err) < 0 ||
        check_patterns(db, w->workspace_id, t, w->triggers_n, err) < 0)
        return -1;
    struct store_webhook h = {.name = w->name,
                              .url = w->url,
                              .type = w->webhook_type == WIRE_WEBHOOK_TYPE_SLACK ? "SLACK" : "DEFAULT",
                              .mode = w->mode == WIRE_WEBHOOK_MODE_SPECIFIC ? "SPECIFIC" : "WORKSPACE",
                              .workspace_id = w->workspace_id,
                              .user_id = r->who.user_id,
                              .created_us = r->now_us};
    if (store_webhook_insert(db, &h, t, w->triggers_n, &id, err) < 0 ||
        store_webhook_get(db, id, &r->arena, &h, err) < 0 || webhook_to_wire(r, db, &h, shown, err) < 0)
        return -1;
    ret->webhook = shown;
    return req_then_loop(r, use_patterns);
}

int api_patch_webhook(struct req *r, struct store *db, const struct wire_patch_webhook_request *in,
                      struct wire_patch_webhook_response *ret, struct error *err)
{
    if (!in->webhook)
        return error_set(err, ERR_INVALID, "webhook is missing: it has the url");
    return webhook_check_url(in->webhook->url, err) < 0 ? -1 : store_webhook_set_url(db, in->id, in->webhook->url, err);
}

/* What waits for the webhook is not sent any more. */
int api_delete_webhook(struct req *r, struct store *db, const struct wire_delete_webhook_request *in,
                       struct wire_delete_webhook_response *ret, struct error *err)
{
    return store_webhook_delete(db, in->id, err) < 0 ? -1 : req_then_loop(r, use_patterns);
}

/* ---- the test button --------------------------------------------------------------------------------------------- */

static void tested(void *ctx, const struct error *err)
{
    struct req *r = ctx;
    cleanup_error struct error copy = ERROR_INIT;
    struct wire_test_webhook_response *ret = r->ret;
    error_copy(&copy, err);
    ret->completed = !err;
    req_finish(r, &copy);
}

static int send_test(struct req *r, struct core *core, struct error *err)
{
    const struct store_webhook *h = r->state;
    const struct api_services *s = &r->api->services;
    return s->test_webhook(s->ctx, h->url, strcmp(h->type, "SLACK") == 0, tested, r, err) < 0 ? -1 : req_wait(r, NULL);
}

int api_test_webhook(struct req *r, struct store *db, const struct wire_test_webhook_request *in,
                     struct wire_test_webhook_response *ret, struct error *err)
{
    struct store_webhook *h = arena_new(&r->arena, struct store_webhook);
    if (store_webhook_get(db, in->id, &r->arena, h, err) < 0)
        return -1;
    r->state = h;
    return req_then_loop(r, send_test);
}

/* ---- alerts ------------------------------------------------------------------------------------------------------ */

static int wake_sender(struct req *r, struct core *core, struct error *err)
{
    r->api->services.webhooks_due(r->api->services.ctx);
    return 0;
}

static int check_trial(struct req *r, struct store *db, int32_t trial_id, int32_t experiment_id, struct error *err)
{
    struct store_trial t;
    if (trial_id == 0)
        return 0;
    if (store_trial_get(db, trial_id, /* full= */ false, &r->arena, &t, err) < 0)
        return -1;
    if (t.row.experiment_id == experiment_id)
        return 0;
    return error_set(err, ERR_INVALID, "trial %d is not of experiment %d", trial_id, experiment_id);
}

static int check_text(const char *name, const char *given, struct error *err)
{
    enum { TEXT_MAX = 10000 };
    size_t n = given ? strlen(given) : 0;
    return n <= TEXT_MAX
               ? 0
               : error_set(err, ERR_INVALID, "data.%s has %zu bytes, at most %d are allowed", name, n, TEXT_MAX);
}

int api_post_webhook_event_data(struct req *r, struct store *db, const struct wire_post_webhook_event_data_request *in,
                                struct wire_post_webhook_event_data_response *ret, struct error *err)
{
    if (!in->data)
        return error_set(err, ERR_INVALID, "data is missing: it has title, description and level");
    if (check_text("title", in->data->title, err) < 0 || check_text("description", in->data->description, err) < 0 ||
        check_trial(r, db, in->trial_id, in->experiment_id, err) < 0 ||
        webhook_alert(db, in->experiment_id, in->trial_id, in->data, api_info(r->api)->webhook_base_url, r->now_us,
                      err) < 0)
        return -1;
    return req_then_loop(r, wake_sender);
}
