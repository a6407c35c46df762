#include "store/experiments/removals.h"

#include "store/experiments/checkpoints.h"
#include "store/row_io.h"

int store_collection_done(struct store *st, const struct store_collection *c, bool *ret_done, struct error *err)
{
    int64_t n;
    if (query_exec(st, Q_COLLECTIONS_DONE, SQL_ARGS(sql_int(c->experiment_id), sql_int(c->asked)), &n, err) < 0)
        return -1;
    *ret_done = n > 0;
    return 0;
}

int store_removal_done(struct store *st, const char *uuid, const char *globs, const char *resources, struct error *err)
{
    if (store_checkpoint_set_resources(st, uuid, resources, err) < 0)
        return -1;
    return query_exec(st, Q_REMOVALS_DONE, SQL_ARGS(sql_text(uuid), sql_text(globs)), NULL, err);
}
