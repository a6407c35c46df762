/* Quotas follow what happens to workspaces, users and experiments: an experiment that was moved counts where it is now,
 * and the reasons why jobs wait name a workspace or user as it is called now. These functions are called in the write
 * step that has made the change. */
#ifndef DET_API_CLUSTER_QUOTA_FOLLOW_H
#define DET_API_CLUSTER_QUOTA_FOLLOW_H

#include "api/pipeline/handler.h"

/* The names of all quotas, or the workspaces in which the experiments of one project are. */
struct quota_news;

/* Reads the names of all quotas: the names of their workspaces and users. */
int quota_read_names(struct req *r, struct store *db, struct quota_news **ret, struct error *err);
/* Reads in which workspace the experiments of a project are that are not over. */
int quota_read_project(struct req *r, struct store *db, int32_t project_id, struct quota_news **ret, struct error *err);
/* Tells the core. On the loop. */
int quota_tell(struct req *r, struct core *core, const struct quota_news *news, struct error *err);

/* The same for a request that has nothing else to do any more: `return quota_follow_names(...)`. r->state is used. */
int quota_follow_names(struct req *r, struct store *db, struct error *err);
int quota_follow_project(struct req *r, struct store *db, int32_t project_id, struct error *err);

#endif
