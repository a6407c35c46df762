#include "api/webhooks/webhook_events.h"

#include <openssl/rand.h>
#include <string.h>

#include "api/webhooks/webhook_payload.h"
#include "api/webhooks/webhook_rules.h"
#include "common/base/hex.h"
#include "common/system/log.h"
#include "store/webhooks/webhooks.h"

int webhook_new_uuid(char ret[WEBHOOK_UUID_MAX], struct error *err)
{
    unsigned char random[UUID_BYTES];
    if (RAND_bytes(random, sizeof(random)) != 1)
        return error_set(err, ERR_INTERNAL, "the system gives no random bytes");
    uuid_encode(random, ret);
    return 0;
}

/* A webhook whose receiver has been away for long has this many messages at most; further events are not told it. */
enum { WAITING_MAX = 1000 };

static int add_message(struct store *db, const struct store_webhook *h, struct webhook_event *e, struct error *err)
{
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    char event_id[WEBHOOK_UUID_MAX];
    int64_t waiting;
    if (store_webhook_deliveries_waiting(db, h->id, &waiting, err) < 0 || webhook_new_uuid(event_id, err) < 0)
        return -1;
    if (waiting >= WAITING_MAX) {
        log_warning("webhook.full", "webhook=%d waiting=%lld exp=%d action=not_told", h->id, (long long)waiting,
                    e->experiment->id);
        return 0;
    }
    e->event_id = event_id;
    if (strcmp(h->type, "SLACK") == 0)
        webhook_payload_slack(e, &body);
    else
        webhook_payload_default(e, &body);
    return store_webhook_delivery_add(db, h->id, strbuf_str(&body), e->now_us, err);
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
    e->experiment = &x;
    for (size_t i = 0; i < n; i++)
        if (webhook_concerns(&h[i], x.config) && add_message(db, &h[i], e, err) < 0)
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
