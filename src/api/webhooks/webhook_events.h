/* What happens, and whom it is told: each function finds the webhooks that an event concerns, and puts a message for
 * each into the queue of the store. Call these on the writer's thread, in the transaction of the event: the message is
 * stored if and only if the event is. After the commit the sender is to be woken (struct api_services.webhooks_due). */
#ifndef DET_API_WEBHOOKS_WEBHOOK_EVENTS_H
#define DET_API_WEBHOOKS_WEBHOOK_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "gen/wire.h"

struct store;

/* An experiment has entered a state, which is stored already. */
int webhook_state_changed(struct store *db, int32_t experiment_id, const char *state, const char *base_url,
                          int64_t now_us, struct error *err);
/* Code of an experiment has raised an alert. trial_id is 0 if it names none. */
int webhook_alert(struct store *db, int32_t experiment_id, int32_t trial_id,
                  const struct wire_webhook_custom_webhook_event_data *data, const char *base_url, int64_t now_us,
                  struct error *err);

/* A pattern of a trigger was found in a line of a task's log. */
struct webhook_log_hit {
    int32_t trigger_id, webhook_id;
    const char *regex, *node_name, *line;
};
/* Tells it once for each task and trigger; *ret_told says whether there is a new message. */
int webhook_log_matched(struct store *db, const char *task_id, const struct webhook_log_hit *hit, const char *base_url,
                        int64_t now_us, bool *ret_told, struct error *err);

/* An alias of a model stands for another version. event_id, now_us and base_url of the event are filled in. */
struct webhook_alias_event;
int webhook_alias_changed(struct store *db, struct webhook_alias_event *e, const char *base_url, int64_t now_us,
                          struct error *err);

#endif
