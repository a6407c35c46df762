/* What the files about workspaces and projects share. */
#ifndef DET_API_ACCOUNTS_WORKSPACES_H
#define DET_API_ACCOUNTS_WORKSPACES_H

#include "api/pipeline/handler.h"
#include "store/accounts/workspace_deletion.h"
#include "store/accounts/workspaces.h"

void workspace_to_wire(const struct store_workspace *s, struct arena *a, struct wire_workspace *ret);
int project_to_wire(const struct store_project *s, struct arena *a, struct wire_project *ret, struct error *err);
int project_reply(struct req *r, const struct store_project *s, const struct wire_project **ret, struct error *err);

/* Checks the name of a workspace or project (`kind`): 1 to 80 characters, not only blanks. */
int check_workspace_or_project_name(const char *kind, const char *name, struct error *err);
/* Marks a workspace or project (`kind`) as deleted unless something forbids it, and starts the deletion of its
 * experiments: `return delete_workspace_or_project(…)`. *ret_completed: nothing is left to be deleted. */
int delete_workspace_or_project(struct req *r, const char *kind, struct store_workspace_deletion p,
                                bool *ret_completed);

/* Always fails: this master has no resource manager for Kubernetes. */
int refuse_namespaces(struct error *err);

#endif
