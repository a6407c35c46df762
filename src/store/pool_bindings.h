/* Which workspaces may use which resource pools. All workspaces may use a pool that is bound to none. */
#ifndef DET_STORE_POOL_BINDINGS_H
#define DET_STORE_POOL_BINDINGS_H

#include "store/functions.h"

/* What is bound already stays bound. */
int store_pool_bind(struct store *st, const char *pool, const int32_t *workspace_id, size_t n, struct error *err);
int store_pool_unbind(struct store *st, const char *pool, const int32_t *workspace_id, size_t n, struct error *err);
int store_pool_bind_only(struct store *st, const char *pool, const int32_t *workspace_id, size_t n, struct error *err);

/* The first such experiment of a project; or only that experiment of it (experiment_id; 0: any). An experiment that stays in its
 * workspace is not one. */
int store_pool_stranded(struct store *st, int32_t project_id, int32_t experiment_id, int32_t workspace_id, struct arena *a,
                        struct store_stranded *ret, struct error *err);

#endif
