#include "store/accounts/workspace_deletion.h"

#include "store/engine/query.h"

/* No object has the id -1, so it excludes the one of the two that is not to be deleted. */
#define DELETION_ARGS(d) \
    sql_int((d).project_id ? (d).project_id : -1), sql_int((d).workspace_id ? (d).workspace_id : -1)

int store_workspace_deletion_check(struct store *st, struct store_workspace_deletion d, int32_t user_id,
                                   struct store_workspace_deletion_check *ret, struct error *err)
{
    int64_t projects = 0;
    if (query_int(st, Q_WORKSPACE_DELETIONS_COUNT_LIVE, SQL_ARGS(DELETION_ARGS(d)), &ret->live, err) < 0 ||
        query_int(st, Q_WORKSPACE_DELETIONS_COUNT_TASKS, SQL_ARGS(sql_int(d.workspace_id)), &ret->tasks, err) < 0 ||
        query_int(st, Q_WORKSPACE_DELETIONS_COUNT_OF_OTHERS, SQL_ARGS(DELETION_ARGS(d), sql_int(user_id)),
                  &ret->of_others, err) < 0 ||
        query_int(st, Q_WORKSPACE_DELETIONS_COUNT_PROJECTS_OF_OTHERS,
                  SQL_ARGS(sql_int(d.workspace_id), sql_int(user_id)), &projects, err) < 0 ||
        query_int(st, Q_WORKSPACE_DELETIONS_COUNT_MODELS, SQL_ARGS(sql_int(d.workspace_id)), &ret->models, err) < 0)
        return -1;
    ret->of_others += projects;
    return 0;
}

int store_workspace_deletion_start(struct store *st, struct store_workspace_deletion d, struct arena *a,
                                   struct store_ints *ret, struct error *err)
{
    const struct sql_value deleting = sql_text("DELETING"), no_reason = sql_null();
    int32_t *id = NULL;
    size_t n = 0;
    if (query_ids(st, Q_WORKSPACE_DELETIONS_EXPERIMENTS, SQL_ARGS(DELETION_ARGS(d)), a, &id, &n, err) < 0 ||
        query_exec(st, Q_WORKSPACE_DELETIONS_EXPERIMENTS_DELETE, SQL_ARGS(DELETION_ARGS(d)), NULL, err) < 0 ||
        query_exec(st, Q_WORKSPACE_DELETIONS_PROJECTS_SET_STATE, SQL_ARGS(DELETION_ARGS(d), deleting, no_reason), NULL,
                   err) < 0 ||
        query_exec(st, Q_WORKSPACE_DELETIONS_WORKSPACE_SET_STATE,
                   SQL_ARGS(sql_int(d.workspace_id), deleting, no_reason), NULL, err) < 0)
        return -1;
    *ret = (struct store_ints){id, n};
    return store_workspace_deletions_finish(st, err);
}

int store_workspace_deletions_finish(struct store *st, struct error *err)
{
    int64_t deleting;
    if (query_int(st, Q_WORKSPACE_DELETIONS_DELETING, SQL_NO_ARGS, &deleting, err) < 0)
        return -1;
    if (deleting == 0)
        return 0;
    if (mark_last_id(st, STORE_IDS_PROJECTS, err) < 0 || mark_last_id(st, STORE_IDS_WORKSPACES, err) < 0)
        return -1;
    if (query_exec(st, Q_WORKSPACE_DELETIONS_FINISH_PROJECTS, SQL_NO_ARGS, NULL, err) < 0)
        return -1;
    return query_exec(st, Q_WORKSPACE_DELETIONS_FINISH_WORKSPACES, SQL_NO_ARGS, NULL, err);
}
