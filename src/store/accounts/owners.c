#include "store/accounts/owners.h"

#include "store/row_io.h"

static const enum sql_query queries[] = {
    [STORE_OWNED_EXPERIMENT] = Q_OWNERS_OF_EXPERIMENT,
    [STORE_OWNED_TRIAL] = Q_OWNERS_OF_TRIAL,
    [STORE_OWNED_TASK] = Q_OWNERS_OF_TASK,
    [STORE_OWNED_ALLOCATION] = Q_OWNERS_OF_ALLOCATION,
    [STORE_OWNED_CHECKPOINT] = Q_OWNERS_OF_CHECKPOINT,
    [STORE_OWNED_WORKSPACE] = Q_OWNERS_OF_WORKSPACE,
    [STORE_OWNED_PROJECT] = Q_OWNERS_OF_PROJECT,
    [STORE_OWNED_TEMPLATE] = Q_OWNERS_OF_TEMPLATE,
    [STORE_OWNED_MODEL] = Q_OWNERS_OF_MODEL,
    [STORE_OWNED_WEBHOOK] = Q_OWNERS_OF_WEBHOOK,
};

int store_owner_get(struct store *st, enum store_owned what, int32_t number, const char *text, struct arena *a,
                    struct store_owner *ret, struct error *err)
{
    return query_one(st, queries[what], SQL_ARGS(text ? sql_text(text) : sql_int(number)), read_store_owner, a, ret,
                     err);
}
