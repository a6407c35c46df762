#include "store/owners.h"

#include "store/query.h"
#include "store/take.h"

static const enum sql_query queries[] = {
    [STORE_OWNED_EXPERIMENT] = Q_OWNERS_OF_EXPERIMENT, [STORE_OWNED_TRIAL] = Q_OWNERS_OF_TRIAL,
    [STORE_OWNED_TASK] = Q_OWNERS_OF_TASK,             [STORE_OWNED_ALLOCATION] = Q_OWNERS_OF_ALLOCATION,
    [STORE_OWNED_CHECKPOINT] = Q_OWNERS_OF_CHECKPOINT, [STORE_OWNED_WORKSPACE] = Q_OWNERS_OF_WORKSPACE,
    [STORE_OWNED_PROJECT] = Q_OWNERS_OF_PROJECT,       [STORE_OWNED_TEMPLATE] = Q_OWNERS_OF_TEMPLATE,
};

static void read_owner(struct query *q, struct arena *a, void *row)
{
    struct store_owner *o = row;
    o->user_id = take_i32(q);
    o->username = take_opt_text(q, a);
    o->experiment_id = take_i32(q);
    o->trial_id = take_i32(q);
}

int store_owner_get(struct store *st, enum store_owned what, int32_t number, const char *text, struct arena *a,
                    struct store_owner *ret, struct error *err)
{
    return query_one(st, queries[what], SQL_ARGS(text ? sql_text(text) : sql_int(number)), read_owner, a, ret, err);
}
