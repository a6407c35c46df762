/* Which workspaces may use which resource pools. All workspaces may use a pool that is bound to none. */
#ifndef DET_STORE_CLUSTER_POOL_BINDINGS_H
#define DET_STORE_CLUSTER_POOL_BINDINGS_H

#include "store/functions.h"

/* Binds the pool to these workspaces as well. Workspaces that it is bound to already stay bound. */
int store_pool_bind(struct store *st, const char *pool, const int32_t *workspace_id, size_t n, struct error *err);
int store_pool_unbind(struct store *st, const char *pool, const int32_t *workspace_id, size_t n, struct error *err);
int store_pool_bind_only(struct store *st, const char *pool, const int32_t *workspace_id, size_t n, struct error *err);

#endif
