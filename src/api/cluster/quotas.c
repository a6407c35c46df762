/* Quotas of workspaces and users (docs/spec/scheduling.md#quotas). A change is given to the core, and stored with it.
 */
#include <string.h>

#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/functions.h"

struct setting {
    struct core_quota_change change;
    struct store_quota row;
};

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static int give_to_core(struct req *r, struct core *core, struct error *err);

static int check_numbers(const struct core_quota_change *q, struct error *err)
{
    if (!q->workspace_id && !q->user_id)
        return error_set(err, ERR_INVALID,
                         "a quota is of a workspace, of a user, or of a user within a workspace; name one");
    if (q->remove)
        return 0;
    if (q->own < 0)
        return error_set(err, ERR_INVALID, "the quota is %d slots, allowed is a number from 0", q->own);
    if (q->limit < q->own)
        return error_set(err, ERR_INVALID,
                         "the limit of %d slots is below the quota of %d; with what is borrowed it is at least that",
                         q->limit, q->own);
    return 0;
}

/* Finds the names, without which no quota is set: a workspace or a user that does not exist gets none. */
static int find_names(struct req *r, struct store *db, struct setting *s, struct error *err)
{
    struct store_workspace w = {0};
    struct store_user u = {0};
    if (s->change.workspace_id &&
        store_workspace_get(db, s->change.workspace_id, r->who.user_id, &r->arena, &w, err) < 0)
        return -1;
    if (s->change.user_id && store_user_get(db, s->change.user_id, &r->arena, &u, err) < 0)
        return -1;
    s->change.what = core_quota_what(w.name, u.username, &r->arena);
    return 0;
}

static int begin(struct req *r, struct store *db, const struct core_quota_change *change, struct error *err)
{
    struct setting *s = arena_new(&r->arena, struct setting);
    *s = (struct setting){.change = *change};
    if (check_numbers(change, err) < 0 || find_names(r, db, s, err) < 0)
        return -1;
    s->row = (struct store_quota){.workspace_id = change->workspace_id,
                                  .user_id = change->user_id,
                                  .own = change->own,
                                  .max_slots = change->limit};
    r->state = s;
    return req_then_loop(r, give_to_core);
}

/* ---- the change -------------------------------------------------------------------------------------------------- */

static int store_change(struct store *db, void *ctx, struct error *err)
{
    const struct setting *s = ((struct req *)ctx)->state;
    return s->change.remove ? store_quota_delete(db, s->row.workspace_id, s->row.user_id, err)
                            : store_quota_put(db, &s->row, err);
}

static void change_stored(void *ctx, const struct error *err)
{
    struct error copy = ERROR_INIT;
    if (err)
        error_set(&copy, err->kind, "%s", error_msg(err));
    req_finish(ctx, &copy);
}

static int give_to_core(struct req *r, struct core *core, struct error *err)
{
    const struct setting *s = r->state;
    struct core_event ev = {.type = CORE_QUOTA_SET, .now_us = r->now_us, .quota = &s->change};
    struct companion companion = {.store = store_change, .done = change_stored, .ctx = r};
    if (req_core_step(r, core, &ev, &companion, err) < 0)
        return -1;
    return req_wait(r, NULL);
}

int api_set_quota(struct req *r, struct store *db, const struct wire_set_quota_request *in,
                  struct wire_set_quota_response *ret, struct error *err)
{
    struct core_quota_change change = {.workspace_id = in->workspace_id,
                                       .user_id = in->user_id,
                                       .own = in->slots,
                                       .limit = in->has_limit ? in->limit : in->slots,
                                       .remove = in->remove};
    return begin(r, db, &change, err);
}

/* The route of release 0.38.1, which sets quotas in several Kubernetes clusters. Here there is one cluster. */
int api_set_resource_quotas(struct req *r, struct store *db, const struct wire_set_resource_quotas_request *in,
                            struct wire_set_resource_quotas_response *ret, struct error *err)
{
    const char *name = api_info(r->api)->cluster_name;
    if (in->cluster_quota_pairs_n != 1)
        return error_set(err, ERR_INVALID, "%zu quotas are given, expected is one: there is one cluster",
                         in->cluster_quota_pairs_n);
    const char *cluster = in->cluster_quota_pairs[0].key;
    if (*cluster && strcmp(cluster, name) != 0)
        return error_set(err, ERR_INVALID, "cluster '%s' does not exist; this cluster is '%s', which need not be named",
                         cluster, name);
    struct core_quota_change change = {.workspace_id = in->id,
                                       .own = in->cluster_quota_pairs[0].value,
                                       .limit = in->cluster_quota_pairs[0].value};
    return begin(r, db, &change, err);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int api_get_quotas(struct req *r, struct core *core, const struct wire_get_quotas_request *in,
                   struct wire_get_quotas_response *ret, struct error *err)
{
    size_t n;
    const struct core_quota_view *q = core_quotas(core, &r->arena, &n);
    struct wire_workspace_quota *list = arena_array(&r->arena, struct wire_workspace_quota, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (in->workspace_id && q[i].workspace_id != in->workspace_id)
            continue;
        list[ret->quotas_n++] = (struct wire_workspace_quota){.workspace_id = q[i].workspace_id,
                                                              .user_id = q[i].user_id,
                                                              .name = q[i].what,
                                                              .slots = q[i].own,
                                                              .limit = q[i].limit,
                                                              .used = q[i].held,
                                                              .borrowed = q[i].borrowed};
    }
    ret->quotas = list;
    return 0;
}

/* The page of release 0.38.1 shows one number for each cluster. */
int api_get_kubernetes_resource_quotas(struct req *r, struct core *core,
                                       const struct wire_get_kubernetes_resource_quotas_request *in,
                                       struct wire_get_kubernetes_resource_quotas_response *ret, struct error *err)
{
    size_t n;
    const struct core_quota_view *q = core_quotas(core, &r->arena, &n);
    ret->resource_quotas = arena_new(&r->arena, struct wire_map_double);
    for (size_t i = 0; i < n; i++)
        if (q[i].workspace_id == in->id && q[i].user_id == 0)
            ret->resource_quotas[ret->resource_quotas_n++] =
                (struct wire_map_double){.key = api_info(r->api)->cluster_name, .value = q[i].own};
    return 0;
}
