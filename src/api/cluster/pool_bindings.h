/* May a workspace use a resource pool? */
#ifndef DET_API_POOL_BINDINGS_H
#define DET_API_POOL_BINDINGS_H

#include "api/pipeline/handler.h"

/* Refuses it if not. Read and write steps. */
int pool_check_workspace(struct req *r, struct store *db, const char *pool, int32_t workspace_id, struct error *err);
/* Refuses a move of a project, or of one experiment of it (0: all), to a workspace that may not use the pool in which
 * something of it still has to run. */
int pool_check_move(struct req *r, struct store *db, int32_t project_id, int32_t experiment_id, int32_t workspace_id,
                    struct error *err);

#endif
