/* Workspaces and the projects in them. Workspace 1 and project 1 ("Uncategorized") are made by the first migration and
 * cannot be changed (ERR_PRECONDITION). */
#ifndef DET_STORE_WORKSPACES_H
#define DET_STORE_WORKSPACES_H

#include "store/page.h"
#include "store/functions.h"
#include "store/users.h"

int store_workspace_update(struct store *st, const struct store_workspace *w, struct error *err);
int store_workspace_pin(struct store *st, int32_t id, int32_t user_id, bool pinned, int64_t now_us, struct error *err);
/* asking_user_id: whose pin counts; 0: nobody's. */
int store_workspace_get(struct store *st, int32_t id, int32_t asking_user_id, struct arena *a,
                        struct store_workspace *ret, struct error *err);
int store_workspace_by_name(struct store *st, const char *name, struct arena *a, struct store_workspace *ret,
                            struct error *err);

/* Sorting by the numbers of api.v1.GetWorkspacesRequest.SortBy. */
struct store_workspace_filter {
    int32_t asking_user_id;
    const char *name;       /* substring without regard to case */
    const char *name_exact; /* the whole name, with regard to case */
    bool has_archived, archived, has_pinned, pinned;
    struct store_texts usernames; /* owner; joined with user_ids by "or" */
    struct store_ints user_ids;
    int32_t sort_by;
    bool descending;
    struct page page;
};
struct store_workspace_list { struct store_workspace *workspace; size_t workspace_n; struct page_window window; };
int store_workspace_list(struct store *st, const struct store_workspace_filter *f, struct arena *a,
                         struct store_workspace_list *ret, struct error *err);

int store_project_insert(struct store *st, const struct store_project *p, struct error *err);
int store_project_update(struct store *st, const struct store_project *p, struct error *err);

int store_project_place_by_names(struct store *st, const char *workspace, const char *project, struct arena *a,
                                 struct store_project_place *ret, struct error *err);

/* Sorting by the numbers of api.v1.GetWorkspaceProjectsRequest.SortBy. */
struct store_project_filter {
    int32_t workspace_id; /* 0: all */
    const char *name;     /* substring without regard to case */
    bool has_archived, archived;
    struct store_texts usernames;
    struct store_ints user_ids;
    int32_t sort_by;
    bool descending;
    struct page page;
};
struct store_project_list { struct store_project *project; size_t project_n; struct page_window window; };
int store_project_list(struct store *st, const struct store_project_filter *f, struct arena *a,
                       struct store_project_list *ret, struct error *err);

#endif
