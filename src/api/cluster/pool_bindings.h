/* Whether a workspace may use a resource pool. */
#ifndef DET_API_CLUSTER_POOL_BINDINGS_H
#define DET_API_CLUSTER_POOL_BINDINGS_H

#include "api/pipeline/handler.h"

/* An error if the workspace may not use the pool. Call it in read and write steps. */
int pool_check_workspace(struct req *r, struct store *db, const char *pool, int32_t workspace_id, struct error *err);
/* An error if a project, or one experiment of it (0: all), must not move to the workspace, because the workspace may
 * not use a pool in which something of it still has to run. */
int pool_check_move(struct req *r, struct store *db, int32_t project_id, int32_t experiment_id, int32_t workspace_id,
                    struct error *err);

#endif
