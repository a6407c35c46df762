#include "store/accounts/workspaces.h"

#include "store/lists/list.h"

/* Refuses a change of workspace 1 and of project 1. */
static int check_mutable(struct store *st, enum sql_query immutable, const char *kind, int32_t id, struct error *err)
{
    bool is;
    if (query_bool(st, immutable, SQL_ARGS(sql_int(id)), &is, err) < 0)
        return -1;
    return is ? error_set(err, ERR_PRECONDITION, "%s %d is immutable: it belongs to every cluster", kind, id) : 0;
}

/* ---- workspaces -------------------------------------------------------------------------------------------------- */

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

/* ---- projects ---------------------------------------------------------------------------------------------------- */

/* Says which of the two unique columns, name or key, has a value that is taken, or which parent is missing. */
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
