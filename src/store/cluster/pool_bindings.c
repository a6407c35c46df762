#include "store/cluster/pool_bindings.h"

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
