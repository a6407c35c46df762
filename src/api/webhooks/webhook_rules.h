/* What a webhook may be. Pure functions. */
#ifndef DET_API_WEBHOOKS_WEBHOOK_RULES_H
#define DET_API_WEBHOOKS_WEBHOOK_RULES_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"
#include "store/rows.h"

/* A pattern has this many bytes at most, and the webhooks of one workspace, or of the whole cluster, have this many
 * patterns at most together: each of them is looked for in each line. */
enum { WEBHOOK_REGEX_MAX_BYTES = 1000, WEBHOOK_PATTERNS_MAX = 50 };
#define WEBHOOK_EVENT_MODEL_ALIAS "MODEL_ALIAS" /* the condition of a custom trigger: {"event": "MODEL_ALIAS"} */

int webhook_check_name(const char *name, struct error *err);
/* http:// or https:// with a host; without a user name or password, which every reader of the webhook would see. */
int webhook_check_url(const char *url, struct error *err);
/* Reads the triggers of a request: one at least, each of a kind that is served, none twice. */
int webhook_read_triggers(const struct wire_webhook_trigger *given, size_t n, struct arena *a,
                          struct store_webhook_trigger **ret, struct error *err);

/* Whether the webhook is told of this experiment, as `integrations.webhooks` of the experiment's configuration has it.
 */
bool webhook_concerns(const struct store_webhook *h, const char *experiment_config);

#endif
