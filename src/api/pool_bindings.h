/* May a workspace use a resource pool? */
#ifndef DET_API_POOL_BINDINGS_H
#define DET_API_POOL_BINDINGS_H

#include "api/api.h"

/* Refuses it if not. Read and write steps. */
int pool_check_workspace(struct req *r, const char *pool, int32_t workspace_id, struct error *err);

#endif
