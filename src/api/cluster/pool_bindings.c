/* Bindings: which workspaces may use which resource pools. They are checked when something is launched, when a job
 * changes its pool, and when something that is not over moves to another workspace. Changing a binding does not
 * affect what is in the pool already. */
#include "api/cluster/pool_bindings.h"

#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"
#include "store/cluster/pool_bindings.h"

int pool_check_workspace(struct req *r, struct store *db, const char *pool, int32_t workspace_id, struct error *err)
{
    bool allowed;
    if (store_pool_allows(db, pool, workspace_id, &allowed, err) < 0)
        return -1;
    if (!allowed)
        return error_set(
            err, ERR_INVALID,
            "resource pool %s does not exist or is not available to workspace id %d: it is bound to other workspaces "
            "(det resource-pool bindings list-workspaces %s)",
            pool, workspace_id, pool);
    return 0;
}

int pool_check_move(struct req *r, struct store *db, int32_t project_id, int32_t experiment_id, int32_t workspace_id,
                    struct error *err)
{
    struct store_stranded x;
    if (store_pool_stranded(db, project_id, experiment_id, workspace_id, &r->arena, &x, err) < 0)
        return -1;
    if (x.experiment_id)
        return error_set(
            err, ERR_PRECONDITION,
            "experiment %d is not over, and its resource pool %s does not exist or is not available to workspace id %d: "
            "wait for its end, give it another pool (det job update --resource-pool), or bind the pool "
            "(det resource-pool bindings add %s)",
            x.experiment_id, x.pool, workspace_id, x.pool);
    return 0;
}

/* ---- checking a request ------------------------------------------------------------------------------------------ */

static int check_pool(const struct req *r, const char *pool, struct error *err)
{
    const struct api_defaults *d = &r->api->defaults;
    for (size_t i = 0; i < d->pool_n; i++)
        if (strcmp(d->pool[i].name, pool) == 0)
            return 0;
    return error_set(err, ERR_NOT_FOUND, "resource pool \"%s\" does not exist", pool);
}

static bool is_default(const char *name, const char *pool)
{
    return name && strcmp(name, pool) == 0;
}

static int check_change(const struct req *r, const char *pool, struct error *err)
{
    const struct api_defaults *d = &r->api->defaults;
    if (check_pool(r, pool, err) < 0)
        return -1;
    if (is_default(d->compute_pool, pool) || is_default(d->aux_pool, pool))
        return error_set(err, ERR_INVALID,
                         "default resource pool %s cannot be bound to any workspace: all of them need it", pool);
    return 0;
}

/* The workspaces of a request, by their ids and by their names; all of them exist. */
struct wanted {
    int32_t *id;
    size_t n;
};

static int find_workspaces(struct req *r, struct store *db, const int32_t *id, size_t id_n, const char *const *name,
                           size_t name_n, struct wanted *ret, struct error *err)
{
    struct store_workspace w;
    struct wanted wanted = {.id = arena_array(&r->arena, int32_t, id_n + name_n + 1)};
    for (size_t i = 0; i < id_n; i++) {
        if (store_workspace_get(db, id[i], r->who.user_id, &r->arena, &w, err) < 0)
            return -1;
        wanted.id[wanted.n++] = w.id;
    }
    for (size_t i = 0; i < name_n; i++) {
        if (store_workspace_by_name(db, name[i], 0, &r->arena, &w, err) < 0)
            return -1;
        wanted.id[wanted.n++] = w.id;
    }
    *ret = wanted;
    return 0;
}

/* ---- changing bindings ------------------------------------------------------------------------------------------- */

int api_bind_rp_to_workspace(struct req *r, struct store *db, const struct wire_bind_rp_to_workspace_request *in,
                             struct wire_bind_rp_to_workspace_response *ret, struct error *err)
{
    struct wanted w;
    if (check_change(r, in->resource_pool_name, err) < 0 ||
        find_workspaces(r, db, in->workspace_ids, in->workspace_ids_n, in->workspace_names, in->workspace_names_n, &w,
                        err) < 0)
        return -1;
    return store_pool_bind(db, in->resource_pool_name, w.id, w.n, err);
}

int api_unbind_rp_from_workspace(struct req *r, struct store *db,
                                 const struct wire_unbind_rp_from_workspace_request *in,
                                 struct wire_unbind_rp_from_workspace_response *ret, struct error *err)
{
    struct wanted w;
    if (check_change(r, in->resource_pool_name, err) < 0 ||
        find_workspaces(r, db, in->workspace_ids, in->workspace_ids_n, in->workspace_names, in->workspace_names_n, &w,
                        err) < 0)
        return -1;
    return store_pool_unbind(db, in->resource_pool_name, w.id, w.n, err);
}

int api_overwrite_rp_workspace_bindings(struct req *r, struct store *db,
                                        const struct wire_overwrite_rp_workspace_bindings_request *in,
                                        struct wire_overwrite_rp_workspace_bindings_response *ret, struct error *err)
{
    struct wanted w;
    if (check_change(r, in->resource_pool_name, err) < 0 ||
        find_workspaces(r, db, in->workspace_ids, in->workspace_ids_n, in->workspace_names, in->workspace_names_n, &w,
                        err) < 0)
        return -1;
    return store_pool_bind_only(db, in->resource_pool_name, w.id, w.n, err);
}

/* ---- reading bindings -------------------------------------------------------------------------------------------- */

static size_t only_visible(struct req *r, int32_t *id, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (access_has(r, PERMISSION_VIEW_WORKSPACE, id[i]))
            id[kept++] = id[i];
    access_has(r, PERMISSION_VIEW_WORKSPACE, 0); /* for access_check_asked(): the loop may have asked for nothing */
    return kept;
}

int api_list_workspaces_bound_to_rp(struct req *r, struct store *db,
                                    const struct wire_list_workspaces_bound_to_rp_request *in,
                                    struct wire_list_workspaces_bound_to_rp_response *ret, struct error *err)
{
    int32_t *id;
    size_t n;
    struct page page = page_of(in->offset, in->limit);
    struct page_window w;
    if (check_pool(r, in->resource_pool_name, err) < 0 ||
        store_pool_workspaces(db, in->resource_pool_name, &r->arena, &id, &n, err) < 0)
        return -1;
    n = only_visible(r, id, n);
    if (page_of_memory_list(page, (int64_t)n, &w, err) < 0)
        return -1;
    ret->workspace_ids = id + w.start;
    ret->workspace_ids_n = (size_t)(w.end - w.start);
    ret->pagination = pagination(page, w, &r->arena);
    return 0;
}

int api_list_r_ps_bound_to_workspace(struct req *r, struct store *db,
                                     const struct wire_list_r_ps_bound_to_workspace_request *in,
                                     struct wire_list_r_ps_bound_to_workspace_response *ret, struct error *err)
{
    const struct api_defaults *d = &r->api->defaults;
    const char **pool = arena_array(&r->arena, const char *, d->pool_n + 1);
    size_t n = 0;
    struct store_workspace workspace;
    struct page page = page_of(in->offset, in->limit);
    struct page_window w;
    if (store_workspace_get(db, in->workspace_id, r->who.user_id, &r->arena, &workspace, err) < 0)
        return -1;
    for (size_t i = 0; i < d->pool_n; i++) {
        bool allowed;
        if (store_pool_allows(db, d->pool[i].name, in->workspace_id, &allowed, err) < 0)
            return -1;
        if (allowed)
            pool[n++] = d->pool[i].name;
    }
    if (page_of_memory_list(page, (int64_t)n, &w, err) < 0)
        return -1;
    ret->resource_pools = pool + w.start;
    ret->resource_pools_n = (size_t)(w.end - w.start);
    ret->pagination = pagination(page, w, &r->arena);
    return 0;
}
