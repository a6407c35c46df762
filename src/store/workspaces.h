/* Workspaces and the projects in them. Workspace 1 and project 1 ("Uncategorized") are made by the first migration and
 * cannot be changed (ERR_PRECONDITION). */
#ifndef DET_STORE_WORKSPACES_H
#define DET_STORE_WORKSPACES_H

#include "store/page.h"
#include "store/store.h"
#include "store/users.h"

/* The account that tasks in it run under: what is set here goes before the owner's own. */
struct store_workspace_agent {
    bool has_uid, has_gid;
    int32_t uid, gid;
    const char *user, *group; /* NULL: not set */
};

struct store_workspace {
    int32_t id;
    const char *name; /* unique */
    int32_t user_id;
    bool archived, immutable;
    const char *state; /* NULL, "DELETING", "DELETE_FAILED" */
    const char *error_message;
    struct store_workspace_agent agent;
    const char *checkpoint_storage;               /* JSON or NULL */
    bool storage_by_admin;                        /* an admin has set it */
    const char *default_compute_pool, *default_aux_pool; /* NULL: the cluster's */
    int64_t created_us;
    /* read only, filled by get and list */
    const char *username;
    int32_t num_projects, num_experiments;
    int64_t pinned_us; /* when the asking user pinned it; 0: not pinned */
};

int store_workspace_insert(struct store *st, const struct store_workspace *w, struct error *err);
int store_workspace_update(struct store *st, const struct store_workspace *w, struct error *err);
int store_workspace_pin(struct store *st, int32_t id, int32_t user_id, bool pinned, int64_t now_us, struct error *err);
/* asking_user_id: whose pin counts; 0: nobody's. */
int store_workspace_get(struct store *st, int32_t id, int32_t asking_user_id, struct arena *a,
                        struct store_workspace *ret, struct error *err);
int store_workspace_by_name(struct store *st, const char *name, struct arena *a, struct store_workspace *ret,
                            struct error *err);

/* The account of tasks that is set for the workspace of a project. */
int store_workspace_agent_get(struct store *st, int32_t project_id, struct arena *a, struct store_workspace_agent *ret,
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

struct store_project {
    int32_t id, workspace_id, user_id;
    const char *name; /* unique within its workspace */
    const char *key;  /* unique, upper case, at most 5 characters */
    const char *description;
    const char *notes; /* JSON list of {name, contents} */
    bool archived, immutable;
    const char *state, *error_message; /* as in workspaces */
    int64_t created_us;
    /* read only */
    const char *workspace_name, *username;
    bool workspace_archived;
    int32_t num_experiments, num_active_experiments, num_runs;
    int64_t last_experiment_started_us;
};

int store_project_insert(struct store *st, const struct store_project *p, struct error *err);
int store_project_update(struct store *st, const struct store_project *p, struct error *err);
int store_project_get(struct store *st, int32_t id, struct arena *a, struct store_project *ret, struct error *err);
int store_project_by_key(struct store *st, const char *key, struct arena *a, struct store_project *ret,
                         struct error *err);

/* Where experiments go: what creating one asks of a project. The counts of store_project read every experiment in
 * it. */
struct store_project_place {
    int32_t id, workspace_id;
    const char *name;
    bool archived; /* the project or its workspace */
    bool deleting; /* the project or its workspace, or that has failed */
    const char *checkpoint_storage;                      /* of the workspace; JSON or NULL */
    const char *default_compute_pool, *default_aux_pool; /* of the workspace; NULL: the cluster's */
};
int store_project_place_get(struct store *st, int32_t id, struct arena *a, struct store_project_place *ret,
                            struct error *err);
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
