#include "store/accounts/places.h"

#include "store/engine/query.h"

#define PLACE_ARGS(p) sql_int((p).project_id ? (p).project_id : -1), sql_int((p).workspace_id ? (p).workspace_id : -1)

int store_place_check(struct store *st, struct store_place p, int32_t user_id, struct store_place_check *ret,
                      struct error *err)
{
    int64_t projects = 0;
    if (query_int(st, Q_PLACES_COUNT_LIVE, SQL_ARGS(PLACE_ARGS(p)), &ret->live, err) < 0 ||
        query_int(st, Q_PLACES_COUNT_OF_OTHERS, SQL_ARGS(PLACE_ARGS(p), sql_int(user_id)), &ret->of_others, err) < 0 ||
        query_int(st, Q_PLACES_COUNT_PROJECTS_OF_OTHERS, SQL_ARGS(sql_int(p.workspace_id), sql_int(user_id)), &projects,
                  err) < 0)
        return -1;
    ret->of_others += projects;
    return 0;
}

int store_place_delete(struct store *st, struct store_place p, struct arena *a, struct store_ints *ret,
                       struct error *err)
{
    const struct sql_value deleting = sql_text("DELETING"), no_reason = sql_null();
    int32_t *id = NULL;
    size_t n = 0;
    if (query_ids(st, Q_PLACES_EXPERIMENTS, SQL_ARGS(PLACE_ARGS(p)), a, &id, &n, err) < 0 ||
        query_exec(st, Q_PLACES_EXPERIMENTS_DELETE, SQL_ARGS(PLACE_ARGS(p)), NULL, err) < 0 ||
        query_exec(st, Q_PLACES_PROJECTS_SET_STATE, SQL_ARGS(PLACE_ARGS(p), deleting, no_reason), NULL, err) < 0 ||
        query_exec(st, Q_PLACES_WORKSPACE_SET_STATE, SQL_ARGS(sql_int(p.workspace_id), deleting, no_reason), NULL,
                   err) < 0)
        return -1;
    *ret = (struct store_ints){id, n};
    return store_places_finish(st, err);
}

int store_places_finish(struct store *st, struct error *err)
{
    int64_t deleting;
    if (query_int(st, Q_PLACES_DELETING, SQL_NO_ARGS, &deleting, err) < 0)
        return -1;
    if (deleting == 0)
        return 0;
    if (mark_last_id(st, STORE_IDS_PROJECTS, err) < 0 || mark_last_id(st, STORE_IDS_WORKSPACES, err) < 0)
        return -1;
    if (query_exec(st, Q_PLACES_FINISH_PROJECTS, SQL_NO_ARGS, NULL, err) < 0)
        return -1;
    return query_exec(st, Q_PLACES_FINISH_WORKSPACES, SQL_NO_ARGS, NULL, err);
}

int store_places_fail(struct store *st, int32_t experiment_id, const char *reason, struct error *err)
{
    if (query_exec(st, Q_PLACES_FAIL_WORKSPACE_OF, SQL_ARGS(sql_int(experiment_id), sql_text(reason)), NULL, err) < 0)
        return -1;
    return query_exec(st, Q_PLACES_FAIL_PROJECT_OF, SQL_ARGS(sql_int(experiment_id), sql_text(reason)), NULL, err);
}

int store_places_fail_all(struct store *st, struct error *err)
{
    const struct sql_value reason = sql_text("the master was stopped before everything in it was deleted: ask again");
    if (query_exec(st, Q_PLACES_FAIL_WORKSPACES, SQL_ARGS(reason), NULL, err) < 0)
        return -1;
    return query_exec(st, Q_PLACES_FAIL_PROJECTS, SQL_ARGS(reason), NULL, err);
}
