#include "api/webhooks/webhook_events.h"

#include <stdio.h>
#include <string.h>

#include "api/webhooks/webhook_payload.h"
#include "api/webhooks/webhook_rules.h"
#include "common/system/log.h"
#include "common/system/random.h"
#include "store/webhooks/webhooks.h"

/* A webhook whose receiver has been away for long has this many messages at most; further events are not told it. */
enum { WAITING_MAX = 1000 };

/* Something that webhooks are told. */
struct news {
    const char *kind, *id; /* what the news is about, as the log of the master names it */
    int64_t now_us;
    void *event;
    void (*write)(void *event, const char *event_id, bool slack, struct strbuf *out);
};

/* Returns 1 when a message for the webhook is stored, 0 if too many are waiting there. */
static int add_message(struct store *db, const struct store_webhook *h, const struct news *n, struct error *err)
{
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    char event_id[UUID_TEXT_MAX];
    int64_t waiting;
    if (store_webhook_deliveries_waiting(db, h->id, &waiting, err) < 0 || random_uuid(event_id, err) < 0)
        return -1;
    if (waiting >= WAITING_MAX) {
        log_warning("webhook.full", "webhook=%d waiting=%lld %s=%s action=not_told", h->id, (long long)waiting, n->kind,
                    n->id);
        return 0;
    }
    n->write(n->event, event_id, strcmp(h->type, "SLACK") == 0, &body);
    return store_webhook_delivery_add(db, h->id, strbuf_str(&body), n->now_us, err) < 0 ? -1 : 1;
}

/* ---- states of experiments, and alerts --------------------------------------------------------------------------- */

static void write_event(void *event, const char *event_id, bool slack, struct strbuf *out)
{
    struct webhook_event *e = event;
    e->event_id = event_id;
    (slack ? webhook_payload_slack : webhook_payload_default)(e, out);
}

static int tell(struct store *db, int32_t experiment_id, const char *type, struct webhook_event *e, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_webhook_subject x;
    struct store_webhook *h;
    int64_t triggers;
    size_t n;
    const char *state = e->state ? e->state : "";
    if (store_webhook_trigger_count(db, type, state, &triggers, err) < 0)
        return -1;
    if (triggers == 0)
        return 0;
    if (store_webhook_subject(db, experiment_id, &a, &x, err) < 0)
        return -1;
    if (x.id == 0)
        return 0;
    if (store_webhooks_for_event(db, type, state, x.workspace_id, &a, &h, &n, err) < 0)
        return -1;
    char id[16];
    snprintf(id, sizeof(id), "%d", x.id);
    e->experiment = &x;
    const struct news news = {.kind = "exp", .id = id, .now_us = e->now_us, .event = e, .write = write_event};
    for (size_t i = 0; i < n; i++)
        if (webhook_concerns(&h[i], x.config) && add_message(db, &h[i], &news, err) < 0)
            return -1;
    return 0;
}

int webhook_state_changed(struct store *db, int32_t experiment_id, const char *state, const char *base_url,
                          int64_t now_us, struct error *err)
{
    struct webhook_event e = {.now_us = now_us, .base_url = base_url, .state = state};
    return tell(db, experiment_id, "EXPERIMENT_STATE_CHANGE", &e, err);
}

int webhook_alert(struct store *db, int32_t experiment_id, int32_t trial_id,
                  const struct wire_webhook_custom_webhook_event_data *data, const char *base_url, int64_t now_us,
                  struct error *err)
{
    static const char *const levels[] = {[WIRE_LOG_LEVEL_TRACE] = "TRACE", [WIRE_LOG_LEVEL_DEBUG] = "DEBUG",
                                         [WIRE_LOG_LEVEL_INFO] = "INFO",   [WIRE_LOG_LEVEL_WARNING] = "WARNING",
                                         [WIRE_LOG_LEVEL_ERROR] = "ERROR", [WIRE_LOG_LEVEL_CRITICAL] = "CRITICAL"};
    struct webhook_event e = {.now_us = now_us,
                              .base_url = base_url,
                              .title = data->title,
                              .description = data->description,
                              .level = (size_t)data->level < sizeof(levels) / sizeof(levels[0]) && levels[data->level]
                                           ? levels[data->level]
                                           : "INFO",
                              .trial_id = trial_id};
    return tell(db, experiment_id, "CUSTOM", &e, err);
}

/* ---- lines of task logs ------------------------------------------------------------------------------------------ */

static void write_log_event(void *event, const char *event_id, bool slack, struct strbuf *out)
{
    struct webhook_log_event *e = event;
    e->event_id = event_id;
    (slack ? webhook_payload_log_slack : webhook_payload_log_default)(e, out);
}

/* The match is noted before anything else is looked at: a task whose lines match again and again costs one statement
 * for each of them. */
int webhook_log_matched(struct store *db, const char *task_id, const struct webhook_log_hit *hit, const char *base_url,
                        int64_t now_us, bool *ret_told, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_webhook_task task;
    struct store_webhook h;
    int64_t added;
    *ret_told = false;
    if (store_webhook_log_match_add(db, task_id, hit->trigger_id, now_us, &added, err) < 0)
        return -1;
    if (added == 0)
        return 0;
    if (store_webhook_task(db, task_id, &a, &task, err) < 0 || store_webhook_get(db, hit->webhook_id, &a, &h, err) < 0)
        return -1;
    if (!webhook_concerns(&h, task.config ? task.config : "{}"))
        return 0;
    struct webhook_log_event e = {.now_us = now_us,
                                  .base_url = base_url,
                                  .task = &task,
                                  .node_name = hit->node_name,
                                  .regex = hit->regex,
                                  .line = hit->line};
    const struct news news = {.kind = "task", .id = task_id, .now_us = now_us, .event = &e, .write = write_log_event};
    int stored = add_message(db, &h, &news, err);
    *ret_told = stored > 0;
    return stored < 0 ? -1 : 0;
}

/* ---- aliases of models ------------------------------------------------------------------------------------------- */

static void write_alias_event(void *event, const char *event_id, bool slack, struct strbuf *out)
{
    struct webhook_alias_event *e = event;
    e->event_id = event_id;
    (slack ? webhook_payload_alias_slack : webhook_payload_alias_default)(e, out);
}

int webhook_alias_changed(struct store *db, struct webhook_alias_event *e, const char *base_url, int64_t now_us,
                          struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_webhook *h;
    size_t n;
    e->base_url = base_url;
    e->now_us = now_us;
    if (e->version == e->version_before)
        return 0;
    if (store_webhooks_for_event(db, "MODEL_ALIAS", "", e->workspace_id, &a, &h, &n, err) < 0)
        return -1;
    char id[16];
    snprintf(id, sizeof(id), "%d", e->model_id);
    const struct news news = {.kind = "model", .id = id, .now_us = now_us, .event = e, .write = write_alias_event};
    for (size_t i = 0; i < n; i++)
        if (add_message(db, &h[i], &news, err) < 0)
            return -1;
    return 0;
}
