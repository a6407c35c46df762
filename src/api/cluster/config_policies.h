/* The configuration policies that hold in a workspace (core/config/policies.h), read from the store and asked about
 * what exists already. New configurations get them through their context (core/config/expconf.h). */
#ifndef DET_API_CLUSTER_CONFIG_POLICIES_H
#define DET_API_CLUSTER_CONFIG_POLICIES_H

#include "api/pipeline/handler.h"
#include "core/config/policies.h"

/* Reads the policies. The caller releases them, also after an error. Call it in read and write steps, as all functions
 * here. */
int config_policies_read(struct req *r, struct store *db, enum policy_workload w, int32_t workspace_id,
                         struct policies *ret, struct error *err);
/* An error if a job of the workspace must not be changed in this way. */
int config_policies_check_change(struct req *r, struct store *db, enum policy_workload w, int32_t workspace_id,
                                 const struct policy_change *change, struct error *err);
/* An error if a project, or one experiment of it (0: all), must not move to the workspace, because something of it is
 * not over and does not fit the policies there. */
int config_policies_check_move(struct req *r, struct store *db, int32_t project_id, int32_t experiment_id,
                               int32_t workspace_id, struct error *err);

static inline void policies_release_p(struct policies *p)
{
    policies_release(p);
}
#define cleanup_policies __attribute__((cleanup(policies_release_p)))

#endif
