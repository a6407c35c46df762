#include "store/pool_bindings.h"

#include "store/query.h"
#include "store/take.h"

int store_pool_bind(struct store *st, const char *pool, const int32_t *workspace_id, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (query_exec(st, Q_POOL_BINDINGS_ADD, SQL_ARGS(sql_text(pool), sql_int(workspace_id[i])), NULL, err) < 0)
            return -1;
    return 0;
}

int store_pool_unbind(struct store *st, const char *pool, const int32_t *workspace_id, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (query_exec(st, Q_POOL_BINDINGS_REMOVE, SQL_ARGS(sql_text(pool), sql_int(workspace_id[i])), NULL, err) < 0)
            return -1;
    return 0;
}

int store_pool_bind_only(struct store *st, const char *pool, const int32_t *workspace_id, size_t n, struct error *err)
{
    if (query_exec(st, Q_POOL_BINDINGS_CLEAR, SQL_ARGS(sql_text(pool)), NULL, err) < 0)
        return -1;
    return store_pool_bind(st, pool, workspace_id, n, err);
}

static void read_id(struct query *q, struct arena *a, void *row)
{
    (void)a;
    *(int32_t *)row = take_i32(q);
}

static void read_name(struct query *q, struct arena *a, void *row)
{
    *(const char **)row = take_text(q, a);
}

int store_pool_workspaces(struct store *st, const char *pool, struct arena *a, int32_t **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_POOL_BINDINGS_OF_POOL, SQL_ARGS(sql_text(pool)), read_id, sizeof(**ret), a, ret, ret_n, err);
}

int store_pools_bound(struct store *st, struct arena *a, const char ***ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_POOL_BINDINGS_POOLS, SQL_NO_ARGS, read_name, sizeof(**ret), a, ret, ret_n, err);
}

int store_pool_allows(struct store *st, const char *pool, int32_t workspace_id, bool *ret, struct error *err)
{
    int32_t allowed = 0;
    if (query_one(st, Q_POOL_BINDINGS_ALLOW, SQL_ARGS(sql_text(pool), sql_int(workspace_id)), read_id, NULL, &allowed, err) < 0)
        return -1;
    *ret = allowed != 0;
    return 0;
}

static void read_stranded(struct query *q, struct arena *a, void *row)
{
    struct store_stranded *x = row;
    x->experiment_id = take_i32(q);
    x->pool = take_text(q, a);
}

int store_pool_stranded(struct store *st, int32_t project_id, int32_t experiment_id, int32_t workspace_id, struct arena *a,
                        struct store_stranded *ret, struct error *err)
{
    struct store_stranded found = {0};
    if (query_one(st, Q_POOL_BINDINGS_STRANDED, SQL_ARGS(sql_int(project_id), sql_int(experiment_id), sql_int(workspace_id)),
                  read_stranded, a, &found, err) < 0)
        return -1;
    *ret = found;
    return 0;
}
