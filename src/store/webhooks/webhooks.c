#include "store/webhooks/webhooks.h"

#include "store/row_io.h"

int store_webhook_insert(struct store *st, const struct store_webhook *h, struct store_webhook_trigger *trigger,
                         size_t n, int32_t *ret_id, struct error *err)
{
    int32_t id;
    if (query_i32(st, Q_WEBHOOKS_INSERT, ARGS_WEBHOOKS_INSERT(h), &id, err) < 0) {
        if (error_is_constraint(err, CONSTRAINT_FOREIGN_KEY, NULL))
            return explain_conflict(err, "workspace %d does not exist", h->workspace_id);
        return explain_conflict(err, "a webhook is named \"%s\" already in this place", h->name);
    }
    for (size_t i = 0; i < n; i++) {
        trigger[i].webhook_id = id;
        if (store_webhook_trigger_insert(st, &trigger[i], err) < 0)
            return -1;
    }
    *ret_id = id;
    return 0;
}
