#include "store/pool_bindings.h"

#include "store/row_io.h"

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

int store_pool_stranded(struct store *st, int32_t project_id, int32_t experiment_id, int32_t workspace_id, struct arena *a,
                        struct store_stranded *ret, struct error *err)
{
    struct store_stranded found = {0};
    const struct sql_args args = SQL_ARGS(sql_int(project_id), sql_int(experiment_id), sql_int(workspace_id));
    if (get_pool_bindings_stranded(st, args, a, &found, err) < 0)
        return -1;
    *ret = found;
    return 0;
}
