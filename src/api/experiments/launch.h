/* What creating and continuing an experiment have in common. */
#ifndef DET_API_EXPERIMENTS_LAUNCH_H
#define DET_API_EXPERIMENTS_LAUNCH_H

#include "api/pipeline/handler.h"
#include "core/config/expconf.h"
#include "core/config/policies.h"

/* What the cluster's configuration adds to an experiment's. Each request parses it anew, because json-c counts
 * references to trees without locks. */
int launch_context(struct req *r, struct expconf_context *ret, struct error *err);
struct store_project_place;
/* What the workspace adds: its storage and its default pools. */
int launch_context_place(const struct store_project_place *place, struct expconf_context *ctx, struct error *err);
/* The configuration policies that hold in the workspace. */
int launch_context_policies(struct req *r, struct store *db, enum policy_workload w, int32_t workspace_id,
                            struct expconf_context *ctx, struct error *err);
void launch_context_release(struct expconf_context *ctx);
/* The checkpoint that trials start from: searcher.source_trial_id (its latest one) or source_checkpoint_uuid; NULL:
 * none. Reads the store. */
int launch_warm_start(struct req *r, struct store *db, const struct exp_searcher *s, const char **ret,
                      struct error *err);
const char *launch_labels(const struct exp_config *config, struct arena *a); /* the labels as a JSON list */
/* Whether a trial is too large for its pool, even if all the pool's agents were idle. If so, the experiment is
 * refused or gets a warning, by the master's configuration. Call it on the loop. */
int launch_check_pool(struct req *r, struct core *core, const struct exp_config *config, bool *ret_exceeds_pool,
                      struct error *err);
struct store_workspace_agent;
/* The account that trials of this owner in this project run as. */
int launch_account(struct req *r, struct store *db, int32_t owner_id, int32_t project_id,
                   struct store_workspace_agent *ret, struct error *err);
/* Adds a sentence to config->warnings if that account can't store checkpoints where the configuration says. It is a
 * warning, not an error, because agents on other machines may see another directory there, because an agent that is not
 * root runs all tasks under its own account, because not every trial stores checkpoints, and because the person who
 * creates an experiment can seldom change the directory. The trial itself reports what it finds when it begins. Call it
 * on a thread that may wait for disks (req_then_transfer). */
void launch_warn_of_storage(struct req *r, struct exp_config *config, const struct store_workspace_agent *account);
void launch_warnings(struct req *r, bool exceeds_pool, enum wire_launch_warning **ret, size_t *ret_n);
/* Copies config->warnings into a reply. */
void launch_config_warnings(struct req *r, const struct exp_config *config, const char ***ret, size_t *ret_n);

#endif
