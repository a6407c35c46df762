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

enum { WEBHOOK_UUID_MAX = 37 };
int webhook_new_uuid(char ret[WEBHOOK_UUID_MAX], struct error *err);

/* An experiment has entered a state, which is stored already. */
int webhook_state_changed(struct store *db, int32_t experiment_id, const char *state, const char *base_url,
                          int64_t now_us, struct error *err);
/* Code of an experiment has raised an alert. trial_id is 0 if it names none. */
int webhook_alert(struct store *db, int32_t experiment_id, int32_t trial_id,
                  const struct wire_webhook_custom_webhook_event_data *data, const char *base_url, int64_t now_us,
                  struct error *err);

#endif
