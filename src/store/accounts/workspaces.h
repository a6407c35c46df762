/* Workspaces and the projects in them. Workspace 1 and project 1 ("Uncategorized") are made by the first migration and
 * cannot be changed (ERR_PRECONDITION). */
#ifndef DET_STORE_ACCOUNTS_WORKSPACES_H
#define DET_STORE_ACCOUNTS_WORKSPACES_H

#include "store/functions.h"
#include "store/lists/page.h"

int store_workspace_update(struct store *st, const struct store_workspace *w, struct error *err);
int store_workspace_pin(struct store *st, int32_t id, int32_t user_id, bool pinned, int64_t now_us, struct error *err);

int store_project_insert(struct store *st, const struct store_project *p, struct error *err);
int store_project_update(struct store *st, const struct store_project *p, struct error *err);

int store_project_place_by_names(struct store *st, const char *workspace, const char *project, struct arena *a,
                                 struct store_project_place *ret, struct error *err);

#endif
