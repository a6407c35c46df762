/* Configuration policies: showing, setting and removing them, and asking them. A policy counts for what is created,
 * continued, changed or moved after it was set; what runs already goes on as it is. */
#include "api/cluster/config_policies.h"

#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "core/config/expconf_secrets.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"
#include "store/functions.h"

enum { WHOLE_CLUSTER = 0 };

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static const char *scope_of(struct req *r, const struct store_config_policy *row)
{
    return row->workspace_id == WHOLE_CLUSTER ? "the cluster"
                                              : arena_printf(&r->arena, "workspace '%s'", row->workspace);
}

int config_policies_read(struct req *r, struct store *db, enum policy_workload w, int32_t workspace_id,
                         struct policies *ret, struct error *err)
{
    struct store_config_policy *row;
    size_t n;
    *ret = (struct policies){0};
    if (store_config_policies_of(db, workspace_id, policy_workload_name(w), &r->arena, &row, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        cleanup_json struct json_object *policy = NULL;
        if (json_parse(row[i].policy, strlen(row[i].policy), &policy, err) < 0)
            return error_wrap(err, "the stored configuration policy of %s", scope_of(r, &row[i]));
        policies_add(ret, w, scope_of(r, &row[i]), policy);
    }
    return 0;
}

int config_policies_check_change(struct req *r, struct store *db, enum policy_workload w, int32_t workspace_id,
                                 const struct policy_change *change, struct error *err)
{
    cleanup_policies struct policies p;
    return config_policies_read(r, db, w, workspace_id, &p, err) < 0 ? -1 : policies_check_change(&p, change, err);
}

static int check_moving(const struct policies *p, const struct store_moving *x, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    cleanup_error struct error problem = ERROR_INIT;
    if (json_parse(x->config, strlen(x->config), &config, err) < 0)
        return error_wrap(err, "the stored configuration of experiment %d", x->experiment_id);
    if (policies_check_effective(p, config, &problem) == 0)
        return 0;
    return error_set(err, ERR_PRECONDITION, "experiment %d is not over and cannot move to this workspace: %s",
                     x->experiment_id, error_msg(&problem));
}

int config_policies_check_move(struct req *r, struct store *db, int32_t project_id, int32_t experiment_id,
                               int32_t workspace_id, struct error *err)
{
    cleanup_policies struct policies p;
    struct store_moving *x;
    size_t n;
    if (config_policies_read(r, db, POLICY_EXPERIMENT, workspace_id, &p, err) < 0)
        return -1;
    if (!p.invariant && !p.max_slots.is_set && !p.priority_limit.is_set)
        return 0;
    if (store_moving_list(db, project_id, experiment_id, workspace_id, &r->arena, &x, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (check_moving(&p, &x[i], err) < 0)
            return -1;
    return 0;
}

/* ---- the routes -------------------------------------------------------------------------------------------------- */

static int parse_workload(const char *name, enum policy_workload *ret, struct error *err)
{
    if (policy_workload_parse(name, ret) == 0)
        return 0;
    return error_set(err, ERR_INVALID,
                     "the workload type is '%.80s', allowed are EXPERIMENT, and NTSC for commands, notebooks, shells, "
                     "TensorBoards and generic tasks",
                     name ? name : "");
}

/* Returns a policy with its secrets hidden. */
static const char *hide_secrets(struct req *r, const char *policy)
{
    cleanup_json struct json_object *tree = NULL, *hidden = NULL;
    cleanup_strbuf struct strbuf part = STRBUF_INIT, text = STRBUF_INIT;
    struct json_object *invariant = NULL;
    if (json_parse(policy, strlen(policy), &tree, NULL) < 0)
        return "{}";
    if (!json_object_object_get_ex(tree, "invariant_config", &invariant) || !invariant)
        return policy;
    json_print(invariant, &part);
    const char *masked = expconf_hide_secrets(strbuf_str(&part), SCHEMA_MASKED, &r->arena);
    if (json_parse(masked, strlen(masked), &hidden, NULL) < 0)
        return "{}";
    json_object_object_add(tree, "invariant_config", take_ptr(hidden));
    json_print(tree, &text);
    return arena_strdup(&r->arena, strbuf_str(&text));
}

/* Reads the policy of a scope itself; {} if there is none. owner_id: the user who, beside admins, sees secrets. */
static int show(struct req *r, struct store *db, int32_t workspace_id, int32_t owner_id, const char *workload,
                const char **ret, struct error *err)
{
    enum policy_workload w;
    struct store_config_policy *row;
    size_t n;
    if (parse_workload(workload, &w, err) < 0 ||
        store_config_policies_of(db, workspace_id, workload, &r->arena, &row, &n, err) < 0)
        return -1;
    *ret = "{}";
    for (size_t i = 0; i < n; i++)
        if (row[i].workspace_id == workspace_id)
            *ret = access_sees_secrets(r, owner_id) ? row[i].policy : hide_secrets(r, row[i].policy);
    return 0;
}

static int set(struct req *r, struct store *db, int32_t workspace_id, const char *workload, const char *text,
               const char **ret, struct error *err)
{
    enum policy_workload w;
    cleanup_json struct json_object *policy = NULL;
    cleanup_strbuf struct strbuf json = STRBUF_INIT;
    size_t n = text ? strlen(text) : 0, max = r->api->defaults.config_max;
    if (parse_workload(workload, &w, err) < 0)
        return -1;
    if (n > max)
        return error_set(err, ERR_INVALID,
                         "the policy has %zu bytes, at most %zu are allowed (the master's limits.config_size)", n, max);
    if (policy_parse(text ? text : "", n, w, &policy, err) < 0)
        return -1;
    json_print(policy, &json);
    *ret = arena_strdup(&r->arena, strbuf_str(&json));
    return store_config_policy_set(db, workspace_id, workload, *ret, r->who.user_id, r->now_us, err);
}

static int find_workspace(struct req *r, struct store *db, int32_t id, struct store_workspace *ret, struct error *err)
{
    return store_workspace_get(db, id, r->who.user_id, &r->arena, ret, err);
}

int api_get_global_config_policies(struct req *r, struct store *db,
                                   const struct wire_get_global_config_policies_request *in,
                                   struct wire_get_global_config_policies_response *ret, struct error *err)
{
    return show(r, db, WHOLE_CLUSTER, /* owner_id= */ 0, in->workload_type, &ret->config_policies, err);
}

int api_get_workspace_config_policies(struct req *r, struct store *db,
                                      const struct wire_get_workspace_config_policies_request *in,
                                      struct wire_get_workspace_config_policies_response *ret, struct error *err)
{
    struct store_workspace w;
    if (find_workspace(r, db, in->workspace_id, &w, err) < 0)
        return -1;
    return show(r, db, w.id, w.user_id, in->workload_type, &ret->config_policies, err);
}

int api_put_global_config_policies(struct req *r, struct store *db,
                                   const struct wire_put_global_config_policies_request *in,
                                   struct wire_put_global_config_policies_response *ret, struct error *err)
{
    return set(r, db, WHOLE_CLUSTER, in->workload_type, in->config_policies, &ret->config_policies, err);
}

int api_put_workspace_config_policies(struct req *r, struct store *db,
                                      const struct wire_put_workspace_config_policies_request *in,
                                      struct wire_put_workspace_config_policies_response *ret, struct error *err)
{
    struct store_workspace w;
    if (find_workspace(r, db, in->workspace_id, &w, err) < 0)
        return -1;
    return set(r, db, w.id, in->workload_type, in->config_policies, &ret->config_policies, err);
}

/* To remove a policy that does not exist is no error, as in release 0.38.1. */
static int remove_policy(struct store *db, int32_t workspace_id, const char *workload, struct error *err)
{
    enum policy_workload w;
    return parse_workload(workload, &w, err) < 0 ? -1 : store_config_policy_delete(db, workspace_id, workload, err);
}

int api_delete_global_config_policies(struct req *r, struct store *db,
                                      const struct wire_delete_global_config_policies_request *in,
                                      struct wire_delete_global_config_policies_response *ret, struct error *err)
{
    return remove_policy(db, WHOLE_CLUSTER, in->workload_type, err);
}

int api_delete_workspace_config_policies(struct req *r, struct store *db,
                                         const struct wire_delete_workspace_config_policies_request *in,
                                         struct wire_delete_workspace_config_policies_response *ret, struct error *err)
{
    struct store_workspace w;
    if (find_workspace(r, db, in->workspace_id, &w, err) < 0)
        return -1;
    return remove_policy(db, w.id, in->workload_type, err);
}
