#include "api/experiments/launch.h"

#include <string.h>

#include "api/checkpoints/task_account.h"
#include "api/cluster/config_policies.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/json/json.h"
#include "common/system/random.h"
#include "core/core.h"
#include "store/accounts/workspaces.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/trials.h"
#include "store/functions.h"

static int parse_part(const char *json, struct json_object **ret, struct error *err)
{
    return json ? json_parse(json, strlen(json), ret, err) : 0;
}

int launch_context(struct req *r, struct expconf_context *ret, struct error *err)
{
    const struct api_defaults *d = &r->api->defaults;
    struct expconf_pool *pool = arena_array(&r->arena, struct expconf_pool, d->pool_n);
    *ret = (struct expconf_context){.default_compute_pool = d->compute_pool,
                                    .default_aux_pool = d->aux_pool,
                                    .pool = pool,
                                    .pool_n = d->pool_n,
                                    .config_max = d->config_max,
                                    .seed = (uint32_t)(r->now_us / 1000000)};
    if (random_bytes(ret->random, sizeof(ret->random), err) < 0)
        return -1;
    for (size_t i = 0; i < d->pool_n; i++) {
        pool[i] = (struct expconf_pool){.name = d->pool[i].name, .default_priority = d->pool[i].default_priority};
        if (parse_part(d->pool[i].task_container_defaults, &pool[i].task_container_defaults, err) < 0)
            return -1;
    }
    return parse_part(d->checkpoint_storage, &ret->checkpoint_storage, err) < 0 ||
                   parse_part(d->task_container_defaults, &ret->task_container_defaults, err) < 0
               ? -1
               : 0;
}

int launch_context_place(const struct store_project_place *place, struct expconf_context *ctx, struct error *err)
{
    if (place->default_compute_pool && *place->default_compute_pool)
        ctx->default_compute_pool = place->default_compute_pool;
    if (place->default_aux_pool && *place->default_aux_pool)
        ctx->default_aux_pool = place->default_aux_pool;
    return parse_part(place->checkpoint_storage, &ctx->workspace_storage, err);
}

int launch_context_policies(struct req *r, struct store *db, enum policy_workload w, int32_t workspace_id,
                            struct expconf_context *ctx, struct error *err)
{
    ctx->policies = arena_new(&r->arena, struct policies);
    return config_policies_read(r, db, w, workspace_id, ctx->policies, err);
}

void launch_context_release(struct expconf_context *ctx)
{
    if (ctx->policies)
        policies_release(ctx->policies);
    json_object_put(ctx->template_config);
    json_object_put(ctx->checkpoint_storage);
    json_object_put(ctx->workspace_storage);
    json_object_put(ctx->task_container_defaults);
    for (size_t i = 0; i < ctx->pool_n; i++)
        json_object_put(ctx->pool[i].task_container_defaults);
}

static int start_from_trial(struct req *r, struct store *db, int32_t trial_id, const char **ret, struct error *err)
{
    struct store_trial t;
    struct store_latest_checkpoint latest;
    if (store_trial_get(db, trial_id, /* full= */ false, &r->arena, &t, err) < 0)
        return error_wrap(err, "searcher.source_trial_id");
    if (store_checkpoint_latest(db, trial_id, &latest, err) < 0)
        return -1;
    if (!latest.uuid[0])
        return error_set(err, ERR_INVALID, "searcher.source_trial_id: trial %d has no checkpoint to start from",
                         trial_id);
    *ret = arena_strdup(&r->arena, latest.uuid);
    return 0;
}

static int start_from_checkpoint(struct req *r, struct store *db, const char *uuid, const char **ret, struct error *err)
{
    struct store_checkpoint c;
    if (store_checkpoint_get(db, uuid, &r->arena, &c, err) < 0)
        return error_wrap(err, "searcher.source_checkpoint_uuid");
    if (strcmp(c.state, "COMPLETED") != 0 && strcmp(c.state, "PARTIALLY_DELETED") != 0)
        return error_set(err, ERR_INVALID,
                         "searcher.source_checkpoint_uuid: checkpoint %s is %s: no trial can start from it", uuid,
                         c.state);
    *ret = arena_strdup(&r->arena, uuid);
    return 0;
}

int launch_warm_start(struct req *r, struct store *db, const struct exp_searcher *s, const char **ret,
                      struct error *err)
{
    *ret = NULL;
    if (s->has_source_trial_id &&
        access_need_of(r, db, PERMISSION_VIEW_EXPERIMENT_ARTIFACTS, ACCESS_TRIAL(s->source_trial_id), err) < 0)
        return -1;
    if (!s->has_source_trial_id && s->source_checkpoint_uuid &&
        access_need_of(r, db, PERMISSION_VIEW_EXPERIMENT_ARTIFACTS, ACCESS_CHECKPOINT(s->source_checkpoint_uuid), err) <
            0)
        return -1;
    if (s->has_source_trial_id)
        return start_from_trial(r, db, s->source_trial_id, ret, err);
    return s->source_checkpoint_uuid ? start_from_checkpoint(r, db, s->source_checkpoint_uuid, ret, err) : 0;
}

const char *launch_labels(const struct exp_config *config, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_addc(&text, '[');
    for (size_t i = 0; i < config->values.labels_n; i++) {
        if (i)
            strbuf_addc(&text, ',');
        strbuf_add_json(&text, config->values.labels[i], strlen(config->values.labels[i]));
    }
    strbuf_addc(&text, ']');
    return arena_strdup(a, text.s);
}

int launch_check_pool(struct req *r, struct core *core, const struct exp_config *config, bool *ret_exceeds_pool,
                      struct error *err)
{
    const struct exp_resources *wanted = &config->values.resources;
    const struct sched_needs needs = needs_of(wanted->cpus, wanted->memory_bytes);
    const char *misfit = core_misfit(core, wanted->resource_pool, wanted->slots_per_trial, wanted->is_single_node,
                                     &needs, &r->arena);
    *ret_exceeds_pool = misfit != NULL;
    if (misfit && r->api->defaults.launch_error)
        return error_set(err, ERR_INVALID, "slots requested exceeds cluster capacity (and launch_error is set): %s",
                         misfit);
    return 0;
}

int launch_account(struct req *r, struct store *db, int32_t owner_id, int32_t project_id,
                   struct store_workspace_agent *ret, struct error *err)
{
    struct store_user owner;
    struct store_workspace_agent place;
    if (store_user_get(db, owner_id, &r->arena, &owner, err) < 0 ||
        store_workspace_agent_get(db, project_id, &r->arena, &place, err) < 0)
        return -1;
    const struct store_agent_user_group x = task_account_of(&owner.agent, &place, &r->api->defaults.default_task);
    *ret = (struct store_workspace_agent){
        .has_uid = true, .uid = x.uid, .has_gid = true, .gid = x.gid, .user = x.user, .group = x.group};
    return 0;
}

/* Whether the path is a mount's target: a task finds there what is mounted. */
static bool is_mounted(const struct exp_values *v)
{
    const struct exp_checkpoint_storage *storage = &v->checkpoint_storage;
    for (size_t i = 0; storage->kind == EXP_CHECKPOINT_STORAGE_DIRECTORY && i < v->bind_mounts_n; i++) {
        const char *path = v->bind_mounts[i].container_path, *place = storage->container_path;
        size_t length = strlen(path);
        if (length && strncmp(place, path, length) == 0 && (place[length] == '/' || place[length] == '\0'))
            return true;
    }
    return false;
}

void launch_warn_of_storage(struct req *r, struct exp_config *config, const struct store_workspace_agent *account)
{
    cleanup_error struct error problem = ERROR_INIT;
    struct json_object *storage = json_object_object_get(config->tree, "checkpoint_storage");
    if (is_mounted(&config->values) || task_account_check_storage(storage, account, &r->arena, &problem) == 0)
        return;
    if (!config->warnings)
        config->warnings = json_object_new_array();
    json_object_array_add(config->warnings,
                          json_object_new_string(
                              arena_printf(&r->arena, "checkpoints can't be stored: %s", error_msg(&problem))));
}

void launch_warnings(struct req *r, bool exceeds_pool, enum wire_launch_warning **ret, size_t *ret_n)
{
    if (!exceeds_pool)
        return;
    *ret = arena_new(&r->arena, enum wire_launch_warning);
    (*ret)[0] = WIRE_LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED;
    *ret_n = 1;
}

void launch_config_warnings(struct req *r, const struct exp_config *config, const char ***ret, size_t *ret_n)
{
    if (config->warnings)
        string_list_of_json(json_object_to_json_string_ext(config->warnings, JSON_C_TO_STRING_PLAIN), &r->arena, ret,
                            ret_n, NULL);
}
