#include "store/workspaces.h"

#include "store/list.h"

/* Workspace 1 and project 1 stay as they are. */
static int check_mutable(struct store *st, enum sql_query immutable, const char *kind, int32_t id, struct error *err)
{
    bool is;
    if (query_bool(st, immutable, SQL_ARGS(sql_int(id)), &is, err) < 0)
        return -1;
    return is ? error_set(err, ERR_PRECONDITION, "%s %d is immutable: it belongs to every cluster", kind, id) : 0;
}

/* ---- workspaces ---- */

int store_workspace_update(struct store *st, const struct store_workspace *w, struct error *err)
{
    if (check_mutable(st, Q_WORKSPACES_IMMUTABLE, "workspace", w->id, err) < 0)
        return -1;
    if (query_exec_one(st, Q_WORKSPACES_UPDATE, ARGS_WORKSPACES_UPDATE(w), err, "workspace %d", w->id) < 0)
        return explain_conflict(err, "workspace \"%s\" already exists", w->name);
    return 0;
}

int store_workspace_pin(struct store *st, int32_t id, int32_t user_id, bool pinned, int64_t now_us, struct error *err)
{
    if (!pinned)
        return query_exec(st, Q_WORKSPACES_UNPIN, SQL_ARGS(sql_int(id), sql_int(user_id)), NULL, err);
    if (query_exec(st, Q_WORKSPACES_PIN, SQL_ARGS(sql_int(id), sql_int(user_id), sql_int(now_us)), NULL, err) < 0)
        return explain_conflict(err, "workspace %d or user %d does not exist", id, user_id);
    return 0;
}

int store_workspace_get(struct store *st, int32_t id, int32_t asking_user_id, struct arena *a,
                        struct store_workspace *ret, struct error *err)
{
    int rc = get_workspaces_by_id(st, SQL_ARGS(sql_int(asking_user_id), sql_int(id)), a, ret, err);
    return query_found(rc, err, "workspace '%d'", id);
}

int store_workspace_by_name(struct store *st, const char *name, struct arena *a, struct store_workspace *ret,
                            struct error *err)
{
    int rc = get_workspaces_by_name(st, SQL_ARGS(sql_int(0), sql_text(name)), a, ret, err);
    return query_found(rc, err, "workspace '%s'", name);
}

/* By the numbers of api.v1.GetWorkspacesRequest.SortBy. */
static const struct list_sort workspace_sorts[] = {
    {0, F_WORKSPACES_SORT_ID, F_WORKSPACES_SORT_ID_DESC},
    {1, F_WORKSPACES_SORT_ID, F_WORKSPACES_SORT_ID_DESC},
    {2, F_WORKSPACES_SORT_NAME, F_WORKSPACES_SORT_NAME_DESC},
};

static void start_workspaces(struct compose *c, enum sql_fragment f, const void *filter)
{
    compose_add(c, f, SQL_ARGS(sql_int(((const struct store_workspace_filter *)filter)->asking_user_id)));
}

static void add_workspace_filters(struct compose *c, const void *filter, struct arena *a)
{
    const struct store_workspace_filter *f = filter;
    if (f->name && *f->name)
        compose_add(c, F_WORKSPACES_FILTER_NAME, SQL_ARGS(sql_text(f->name)));
    if (f->name_exact && *f->name_exact)
        compose_add(c, F_WORKSPACES_FILTER_NAME_EXACT, SQL_ARGS(sql_text(f->name_exact)));
    if (f->has_archived)
        compose_add(c, F_WORKSPACES_FILTER_ARCHIVED, SQL_ARGS(sql_bool(f->archived)));
    if (f->has_pinned)
        compose_add(c, F_WORKSPACES_FILTER_PINNED, SQL_ARGS(sql_bool(f->pinned)));
    if (f->usernames.n || f->user_ids.n)
        compose_add(c, F_WORKSPACES_FILTER_OWNER,
                    SQL_ARGS(sql_text(json_of_texts(a, f->usernames)), sql_text(json_of_ints(a, f->user_ids))));
}

int store_workspace_list(struct store *st, const struct store_workspace_filter *f, struct arena *a,
                         struct store_workspace_list *ret, struct error *err)
{
    const struct list_spec spec = {
        .count = F_WORKSPACES_COUNT, .rows = F_WORKSPACES_ROWS, .start = start_workspaces,
        .add_filters = add_workspace_filters, .filter = f,
        .sort = workspace_sorts, .sort_n = sizeof(workspace_sorts) / sizeof(*workspace_sorts),
        .sort_by = f->sort_by, .descending = f->descending,
        .page = f->page, .window = page_of_memory_list,
    };
    return list_run(st, &spec, a, &ret->workspace, &ret->workspace_n, &ret->window, err);
}

/* ---- projects ---- */

/* Which of the two unique things is taken, or which parent is missing. */
static int explain_project(struct error *err, const struct store_project *p)
{
    if (error_is_constraint(err, CONSTRAINT_UNIQUE, "projects.key"))
        return explain_conflict(err, "a project with the key \"%s\" already exists", p->key);
    if (error_is_constraint(err, CONSTRAINT_FOREIGN_KEY, NULL))
        return explain_conflict(err, "workspace %d does not exist", p->workspace_id);
    return explain_conflict(err, "project \"%s\" already exists in workspace %d", p->name, p->workspace_id);
}

int store_project_insert(struct store *st, const struct store_project *p, struct error *err)
{
    if (query_exec(st, Q_PROJECTS_INSERT, ARGS_PROJECTS_INSERT(p), NULL, err) < 0)
        return explain_project(err, p);
    return 0;
}

int store_project_update(struct store *st, const struct store_project *p, struct error *err)
{
    if (check_mutable(st, Q_PROJECTS_IMMUTABLE, "project", p->id, err) < 0)
        return -1;
    if (query_exec_one(st, Q_PROJECTS_UPDATE, ARGS_PROJECTS_UPDATE(p), err, "project %d", p->id) < 0)
        return explain_project(err, p);
    return 0;
}

int store_project_place_by_names(struct store *st, const char *workspace, const char *project, struct arena *a,
                                 struct store_project_place *ret, struct error *err)
{
    struct store_project_place place;
    int rc = get_project_places_by_names(st, SQL_ARGS(sql_text(workspace), sql_text(project)), a, &place, err);
    if (query_found(rc, err, "workspace '%s'", workspace) < 0)
        return -1;
    if (!place.id)
        return error_set(err, ERR_NOT_FOUND, "project '%s' not found", project);
    *ret = place;
    return 0;
}

/* By the numbers of api.v1.GetWorkspaceProjectsRequest.SortBy. */
static const struct list_sort project_sorts[] = {
    {0, F_PROJECTS_SORT_ID, F_PROJECTS_SORT_ID_DESC},
    {1, F_PROJECTS_SORT_CREATED, F_PROJECTS_SORT_CREATED_DESC},
    {2, F_PROJECTS_SORT_LAST_START, F_PROJECTS_SORT_LAST_START_DESC},
    {3, F_PROJECTS_SORT_NAME, F_PROJECTS_SORT_NAME_DESC},
    {4, F_PROJECTS_SORT_DESCRIPTION, F_PROJECTS_SORT_DESCRIPTION_DESC},
    {5, F_PROJECTS_SORT_ID, F_PROJECTS_SORT_ID_DESC},
};

static void add_project_filters(struct compose *c, const void *filter, struct arena *a)
{
    const struct store_project_filter *f = filter;
    if (f->workspace_id)
        compose_add(c, F_PROJECTS_FILTER_WORKSPACE, SQL_ARGS(sql_int(f->workspace_id)));
    if (f->name && *f->name)
        compose_add(c, F_PROJECTS_FILTER_NAME, SQL_ARGS(sql_text(f->name)));
    if (f->has_archived)
        compose_add(c, F_PROJECTS_FILTER_ARCHIVED, SQL_ARGS(sql_bool(f->archived)));
    if (f->usernames.n || f->user_ids.n)
        compose_add(c, F_PROJECTS_FILTER_OWNER,
                    SQL_ARGS(sql_text(json_of_texts(a, f->usernames)), sql_text(json_of_ints(a, f->user_ids))));
}

int store_project_list(struct store *st, const struct store_project_filter *f, struct arena *a,
                       struct store_project_list *ret, struct error *err)
{
    const struct list_spec spec = {
        .count = F_PROJECTS_COUNT, .rows = F_PROJECTS_ROWS, .add_filters = add_project_filters, .filter = f,
        .sort = project_sorts, .sort_n = sizeof(project_sorts) / sizeof(*project_sorts),
        .sort_by = f->sort_by, .descending = f->descending,
        .page = f->page, .window = page_of_memory_list,
    };
    return list_run(st, &spec, a, &ret->project, &ret->project_n, &ret->window, err);
}
