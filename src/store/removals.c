#include "store/removals.h"

#include "store/checkpoints.h"
#include "store/query.h"
#include "store/take.h"

int store_collection_ask(struct store *st, int32_t experiment_id, struct error *err)
{
    return query_exec(st, Q_COLLECTIONS_ASK, SQL_ARGS(sql_int(experiment_id)), NULL, err);
}

static void read_collection(struct query *q, struct arena *a, void *row)
{
    struct store_collection *c = row;
    c->experiment_id = take_i32(q);
    c->asked = take_int(q);
}

int store_collection_next(struct store *st, struct store_collection *ret, struct error *err)
{
    *ret = (struct store_collection){0};
    return query_one(st, Q_COLLECTIONS_NEXT, SQL_NO_ARGS, read_collection, NULL, ret, err) < 0 ? -1 : 0;
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

static void read_site(struct query *q, struct arena *a, void *row)
{
    struct store_site *s = row;
    s->storage = take_opt_text(q, a);
    s->experiment_config = take_opt_text(q, a);
    s->admin_storage = take_opt_text(q, a);
    s->owner_id = take_i32(q);
}

static void read_removal(struct query *q, struct arena *a, void *row)
{
    struct store_removal *r = row;
    r->uuid = take_text(q, a);
    r->globs = take_text(q, a);
    r->tries = take_i32(q);
    read_site(q, a, &r->site);
}

int store_removals_due(struct store *st, int64_t now_us, int64_t limit, struct arena *a, struct store_removal **ret,
                       size_t *ret_n, struct error *err)
{
    return query_all(st, Q_REMOVALS_DUE, SQL_ARGS(sql_int(now_us), sql_int(limit)), read_removal, sizeof(**ret), a, ret,
                     ret_n, err);
}

int store_removals_of_task(struct store *st, const char *task_id, struct arena *a, struct store_removal **ret,
                           size_t *ret_n, struct error *err)
{
    return query_all(st, Q_REMOVALS_OF_TASK, SQL_ARGS(sql_text(task_id)), read_removal, sizeof(**ret), a, ret, ret_n, err);
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

static void read_text(struct query *q, struct arena *a, void *row) { *(const char **)row = take_text(q, a); }

int store_removal_reason(struct store *st, int32_t experiment_id, int32_t trial_id, struct arena *a, const char **ret,
                         struct error *err)
{
    *ret = NULL;
    return query_one(st, Q_REMOVALS_REASON, SQL_ARGS(sql_int(experiment_id), sql_int(trial_id)), read_text, a, ret, err) < 0
        ? -1 : 0;
}

int store_checkpoint_site(struct store *st, const char *uuid, struct arena *a, struct store_site *ret, struct error *err)
{
    int rc = query_one(st, Q_CHECKPOINTS_STORAGE, SQL_ARGS(sql_text(uuid)), read_site, a, ret, err);
    return rc == 0 ? error_set(err, ERR_NOT_FOUND, "checkpoint '%s' not found", uuid) : rc < 0 ? -1 : 0;
}

int store_checkpoint_user(struct store *st, const char *uuid, int32_t *ret, struct error *err)
{
    int64_t id;
    if (query_int(st, Q_CHECKPOINTS_USER, SQL_ARGS(sql_text(uuid)), &id, err) < 0)
        return -1;
    *ret = (int32_t)id;
    return 0;
}
