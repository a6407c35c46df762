/* Webhooks: what takes more than one statement. The other functions are made of queries/webhooks.sql. */
#ifndef DET_STORE_WEBHOOKS_WEBHOOKS_H
#define DET_STORE_WEBHOOKS_WEBHOOKS_H

#include "store/functions.h"

/* Stores a webhook with its triggers, of which webhook_id is set. *ret_id receives the id of the webhook. */
int store_webhook_insert(struct store *st, const struct store_webhook *h, struct store_webhook_trigger *trigger,
                         size_t n, int32_t *ret_id, struct error *err);

#endif
