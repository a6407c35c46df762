#include "store/experiments/removals.h"

#include "store/experiments/checkpoints.h"
#include "store/row_io.h"

int store_collection_ask(struct store *st, int32_t experiment_id, struct error *err)
{
    return query_exec(st, Q_COLLECTIONS_ASK, SQL_ARGS(sql_int(experiment_id)), NULL, err);
}

int store_collection_next(struct store *st, struct store_collection *ret, struct error *err)
{
    *ret = (struct store_collection){0};
    return get_collections_next(st, SQL_NO_ARGS, NULL, ret, err) < 0 ? -1 : 0;
}

int store_collection_done(struct store *st, const struct store_collection *c, bool *ret_done, struct error *err)
{
    int64_t n;
    if (query_exec(st, Q_COLLECTIONS_DONE, SQL_ARGS(sql_int(c->experiment_id), sql_int(c->asked)), &n, err) < 0)
        return -1;
    *ret_done = n > 0;
    return 0;
}

int store_removal_add(struct store *st, const char *uuid, const char *globs, int64_t now_us, struct error *err)
{
    if (query_exec(st, Q_REMOVALS_ADD, SQL_ARGS(sql_text(uuid), sql_text(globs), sql_int(now_us)), NULL, err) < 0)
        return explain_conflict(err, "checkpoint '%s' not found", uuid);
    return 0;
}

int store_removal_add_all(struct store *st, int32_t experiment_id, int32_t trial_id, int64_t now_us, struct error *err)
{
    return query_exec(st, Q_REMOVALS_ADD_OF_EXPERIMENT, SQL_ARGS(sql_int(experiment_id), sql_int(now_us), sql_int(trial_id)),
                      NULL, err);
}

int store_removals_due(struct store *st, int64_t now_us, int64_t limit, struct arena *a, struct store_removal **ret,
                       size_t *ret_n, struct error *err)
{
    return list_removals_due(st, SQL_ARGS(sql_int(now_us), sql_int(limit)), a, ret, ret_n, err);
}

int store_removals_of_task(struct store *st, const char *task_id, struct arena *a, struct store_removal **ret,
                           size_t *ret_n, struct error *err)
{
    return list_removals_of_task(st, SQL_ARGS(sql_text(task_id)), a, ret, ret_n, err);
}

int store_removals_next(struct store *st, int64_t now_us, int64_t *ret_us, struct error *err)
{
    return query_int(st, Q_REMOVALS_NEXT, SQL_ARGS(sql_int(now_us)), ret_us, err);
}

int store_removal_done(struct store *st, const char *uuid, const char *globs, const char *resources, struct error *err)
{
    if (store_checkpoint_set_resources(st, uuid, resources, err) < 0)
        return -1;
    return query_exec(st, Q_REMOVALS_DONE, SQL_ARGS(sql_text(uuid), sql_text(globs)), NULL, err);
}

int store_removal_failed(struct store *st, const char *uuid, const char *globs, int64_t next_us, const char *reason,
                         struct error *err)
{
    return query_exec(st, Q_REMOVALS_FAILED,
                      SQL_ARGS(sql_text(uuid), sql_text(globs), sql_int(next_us), sql_text(reason)), NULL, err);
}

int store_removal_reason(struct store *st, int32_t experiment_id, int32_t trial_id, struct arena *a, const char **ret,
                         struct error *err)
{
    return query_text(st, Q_REMOVALS_REASON, SQL_ARGS(sql_int(experiment_id), sql_int(trial_id)), a, ret, err);
}

int store_checkpoint_site(struct store *st, const char *uuid, struct arena *a, struct store_site *ret, struct error *err)
{
    return query_found(get_checkpoints_storage(st, SQL_ARGS(sql_text(uuid)), a, ret, err), err, "checkpoint '%s'", uuid);
}

int store_checkpoint_user(struct store *st, const char *uuid, int32_t *ret, struct error *err)
{
    return query_i32(st, Q_CHECKPOINTS_USER, SQL_ARGS(sql_text(uuid)), ret, err);
}
