/* Creates, changes, archives and pins workspaces, and begins their deletion (place_deletion.c). All of it runs on the
 * writer's thread and is checked against what that thread reads. */
#include <ctype.h>
#include <string.h>

#include "api/accounts/account_rules.h"
#include "api/accounts/workspaces.h"
#include "api/checkpoints/task_account.h"
#include "api/cluster/quota_follow.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/unchanged.h"
#include "api/rights/permissions.h"
#include "common/base/utf8.h"
#include "common/config/config.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "core/config/expconf.h"
#include "gen/handlers.h"
#include "store/models/models.h"

enum { NAME_MAX_CHARACTERS = 80 };

/* ---- shared with projects ---------------------------------------------------------------------------------------- */

int check_workspace_or_project_name(const char *kind, const char *name, struct error *err)
{
    size_t characters = name ? utf8_count(name) : 0, blanks = 0;
    for (const char *p = name ? name : ""; *p; p++)
        blanks += isspace((unsigned char)*p) != 0;
    if (name && text_find_control(name))
        return error_set(err, ERR_INVALID, "the name of a %s must not contain control characters", kind);
    if (characters == 0 || characters > NAME_MAX_CHARACTERS)
        return error_set(err, ERR_INVALID, "the name of a %s must have 1 to %d characters, it has %zu", kind,
                         NAME_MAX_CHARACTERS, characters);
    if (blanks == strlen(name))
        return error_set(err, ERR_INVALID, "the name of a %s must not be blank", kind);
    return 0;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* "" means no pool. */
static int check_pool(struct req *r, const char *name, struct error *err)
{
    const struct api_defaults *d = &r->api->defaults;
    for (size_t i = 0; i < d->pool_n; i++)
        if (!*name || strcmp(d->pool[i].name, name) == 0)
            return 0;
    cleanup_strbuf struct strbuf all = STRBUF_INIT;
    for (size_t i = 0; i < d->pool_n; i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", d->pool[i].name);
    return error_set(err, ERR_INVALID, "there is no resource pool \"%s\" (pools: %s)", name, strbuf_str(&all));
}

static int set_pool(struct req *r, const char *name, const char **ret, struct error *err)
{
    if (!name)
        return 0;
    if (check_pool(r, name, err) < 0)
        return -1;
    *ret = *name ? name : NULL;
    return 0;
}

/* Sets the storage; {} removes it. Credentials are shown as stars, so stars are refused as credentials. The master
 * itself may open a directory that an admin sets (storage_roots.h); of those that an owner sets, only directories
 * below one that an admin has named. */
static int set_storage(const struct req *r, const char *json, struct store_workspace *w, struct error *err)
{
    cleanup_json struct json_object *storage = NULL;
    if (!json)
        return 0;
    if (json_parse(json, strlen(json), &storage, err) < 0)
        return error_wrap(err, "checkpoint_storage_config");
    if (json_object_is_type(storage, json_type_object) && json_object_object_length(storage) == 0) {
        w->checkpoint_storage = NULL;
        w->storage_by_admin = false;
        return 0;
    }
    if (expconf_check_storage_section(storage, err) < 0)
        return -1;
    w->checkpoint_storage = json;
    w->storage_by_admin = r->who.admin;
    return 0;
}

/* Sets the account that the workspace's tasks run as. Only an admin may: it decides what the tasks may do on the
 * agents. */
static int set_agent(struct req *r, const struct wire_user_agent_user_group *g, struct store_workspace_agent *ret,
                     struct error *err)
{
    if (!g)
        return 0;
    if (req_need_admin(r, "set the account that tasks of a workspace run under", err) < 0)
        return -1;
    if (account_check_link(g, api_allows_root_links(r->api), err) < 0)
        return -1;
    *ret = (struct store_workspace_agent){.has_uid = g->has_agent_uid,
                                          .uid = g->agent_uid,
                                          .has_gid = g->has_agent_gid,
                                          .gid = g->agent_gid,
                                          .user = g->agent_user,
                                          .group = g->agent_group};
    return 0;
}

static int refuse_kubernetes(size_t n, struct error *err)
{
    return n == 0 ? 0 : refuse_namespaces(err);
}

/* ---- make and change --------------------------------------------------------------------------------------------- */

static int read_workspace_reply(struct req *r, struct store *db, int32_t id, const struct wire_workspace **ret,
                                struct error *err)
{
    struct store_workspace s;
    if (store_workspace_get(db, id, r->who.user_id, &r->arena, &s, err) < 0)
        return -1;
    struct wire_workspace *w = arena_new(&r->arena, struct wire_workspace);
    workspace_to_wire(&s, &r->arena, w);
    *ret = w;
    return 0;
}

/* The workspace that a request asks for. Called twice: by a reader, so that the storage is checked before the writer is
 * occupied, and by the writer, whose view of the other workspaces decides. */
static int wanted_new(struct req *r, const struct wire_post_workspace_request *in, struct store_workspace *ret,
                      struct error *err)
{
    *ret = (struct store_workspace){.name = in->name,
                                    .user_id = r->who.user_id,
                                    .created_us = r->now_us,
                                    .modified_us = r->now_us};
    if (check_workspace_or_project_name("workspace", in->name, err) < 0 ||
        refuse_kubernetes(in->cluster_namespace_meta_n + in->cluster_quota_pairs_n, err) < 0 ||
        set_pool(r, in->default_compute_pool, &ret->default_compute_pool, err) < 0 ||
        set_pool(r, in->default_aux_pool, &ret->default_aux_pool, err) < 0 ||
        set_storage(r, in->checkpoint_storage_config, ret, err) < 0)
        return -1;
    return set_agent(r, in->agent_user_group, &ret->agent, err);
}

/* Checks whether the account may write to the workspace's storage, else to the cluster's. Runs on a thread that may
 * wait for the disk. */
static int check_account_with_storage(struct req *r, const struct store_workspace *w, struct error *err)
{
    const char *text = w->checkpoint_storage ? w->checkpoint_storage : r->api->defaults.checkpoint_storage;
    cleanup_json struct json_object *storage = NULL;
    if (text && json_parse(text, strlen(text), &storage, err) < 0)
        return -1;
    return task_account_check_storage(storage, &w->agent, &r->arena, err);
}

/* The role that the creator of a workspace gets in it; 0: none. An admin needs none. */
static int32_t role_of_creator(const struct req *r)
{
    const struct config *c = r->api->info.config;
    if (!r->api->by_roles || r->who.admin || !config_bool(c, "security.authz.workspace_creator_assign_role.enabled"))
        return 0;
    return (int32_t)config_int(c, "security.authz.workspace_creator_assign_role.role_id");
}

/* Drops the roles in a deleted workspace that had the number of the new one, and gives the creator a role. */
static int begin_membership(struct req *r, struct core *core, struct error *err)
{
    const struct wire_post_workspace_response *ret = r->ret;
    const struct role_given given = {.user_id = r->who.user_id,
                                     .role_id = role_of_creator(r),
                                     .workspace_id = ret->workspace->id};
    permissions_drop_workspace(r->api->permissions, ret->workspace->id);
    if (given.role_id)
        permissions_give(r->api->permissions, &given);
    return 0;
}

static int store_role_of_creator(struct req *r, struct store *db, int32_t workspace_id, struct error *err)
{
    const struct store_role_assignment row = {.user_id = r->who.user_id,
                                              .role_id = role_of_creator(r),
                                              .workspace_id = workspace_id};
    return row.role_id ? store_role_assignment_add(db, &row, err) : 0;
}

static int store_new(struct req *r, struct store *db, struct error *err)
{
    struct wire_post_workspace_response *ret = r->ret;
    struct store_workspace w;
    int64_t last;
    if (wanted_new(r, r->in, &w, err) < 0 || store_last_id(db, STORE_IDS_WORKSPACES, &last, err) < 0)
        return -1;
    w.id = (int32_t)last + 1;
    /* the one who creates a workspace also gets it pinned */
    if (store_workspace_insert(db, &w, err) < 0 ||
        store_workspace_pin(db, w.id, r->who.user_id, true, r->now_us, err) < 0 ||
        store_role_of_creator(r, db, w.id, err) < 0)
        return -1;
    return read_workspace_reply(r, db, w.id, &ret->workspace, err) < 0 ? -1 : req_then_loop(r, begin_membership);
}

static int check_new(struct req *r, struct error *err)
{
    return check_account_with_storage(r, r->state, err) < 0 ? -1 : req_then_write(r, store_new);
}

int api_post_workspace(struct req *r, struct store *db, const struct wire_post_workspace_request *in,
                       struct wire_post_workspace_response *ret, struct error *err)
{
    struct store_workspace *w = r->state = arena_new(&r->arena, struct store_workspace);
    if (wanted_new(r, in, w, err) < 0)
        return -1;
    return w->agent.has_uid ? req_then_transfer(r, check_new) : req_then_write(r, store_new);
}

static int read_workspace(struct req *r, struct store *db, int32_t id, struct store_workspace *ret, struct error *err)
{
    return store_workspace_get(db, id, r->who.user_id, &r->arena, ret, err);
}

/* The storage and the default pools need permissions of their own. */
static int check_settings(struct req *r, const struct wire_workspace_patch_workspace *p, int32_t id, struct error *err)
{
    bool pools = p->default_compute_pool || p->default_aux_pool || p->default_compute_resource_pool ||
                 p->default_aux_resource_pool;
    if (p->checkpoint_storage_config && access_need(r, PERMISSION_SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG, id, err) < 0)
        return -1;
    return pools ? access_need(r, PERMISSION_SET_WORKSPACE_DEFAULT_RESOURCE_POOL, id, err) : 0;
}

/* Like wanted_new(), for a workspace that exists. */
static int wanted_changed(struct req *r, struct store *db, const struct wire_patch_workspace_request *in,
                          struct store_workspace *w, struct error *err)
{
    const struct wire_workspace_patch_workspace *p = in->workspace;
    if (!p)
        return error_set(err, ERR_INVALID, "the request names nothing to change; name at least one field");
    if (read_workspace(r, db, in->id, w, err) < 0)
        return -1;
    if (check_settings(r, p, w->id, err) < 0 ||
        need_unchanged(p->has_if_modified_at, p->if_modified_at, w->modified_us,
                       arena_printf(&r->arena, "workspace \"%s\"", w->name), err) < 0)
        return -1;
    if (w->archived)
        return error_set(err, ERR_PRECONDITION, "workspace %d is archived; unarchive it before you change it", w->id);
    if (p->name && check_workspace_or_project_name("workspace", p->name, err) < 0)
        return -1;
    w->name = p->name ? p->name : w->name;
    if (refuse_kubernetes(p->cluster_namespace_meta_n, err) < 0 ||
        set_pool(r, p->default_compute_pool && *p->default_compute_pool ? p->default_compute_pool : NULL,
                 &w->default_compute_pool, err) < 0 || /* the older field cannot express that there is no pool */
        set_pool(r, p->default_aux_pool && *p->default_aux_pool ? p->default_aux_pool : NULL, &w->default_aux_pool,
                 err) < 0 ||
        set_pool(r, p->default_compute_resource_pool, &w->default_compute_pool, err) < 0 ||
        set_pool(r, p->default_aux_resource_pool, &w->default_aux_pool, err) < 0 ||
        set_storage(r, p->checkpoint_storage_config, w, err) < 0)
        return -1;
    return set_agent(r, p->agent_user_group, &w->agent, err);
}

static int store_changed(struct req *r, struct store *db, struct error *err)
{
    struct wire_patch_workspace_response *ret = r->ret;
    struct store_workspace w;
    if (wanted_changed(r, db, r->in, &w, err) < 0)
        return -1;
    w.modified_us = modified_after(w.modified_us, r->now_us);
    if (store_workspace_update(db, &w, err) < 0 || read_workspace_reply(r, db, w.id, &ret->workspace, err) < 0)
        return -1;
    return quota_follow_names(r, db, err);
}

static int check_changed(struct req *r, struct error *err)
{
    return check_account_with_storage(r, r->state, err) < 0 ? -1 : req_then_write(r, store_changed);
}

int api_patch_workspace(struct req *r, struct store *db, const struct wire_patch_workspace_request *in,
                        struct wire_patch_workspace_response *ret, struct error *err)
{
    const struct wire_workspace_patch_workspace *p = in->workspace;
    struct store_workspace *w = r->state = arena_new(&r->arena, struct store_workspace);
    if (wanted_changed(r, db, in, w, err) < 0)
        return -1;
    bool concerns_storage = (p->agent_user_group || p->checkpoint_storage_config) && w->agent.has_uid;
    return concerns_storage ? req_then_transfer(r, check_changed) : req_then_write(r, store_changed);
}

static int set_archived(struct req *r, struct store *db, int32_t id, bool archived, struct error *err)
{
    struct store_workspace w;
    if (read_workspace(r, db, id, &w, err) < 0)
        return -1;
    w.archived = archived;
    w.modified_us = modified_after(w.modified_us, r->now_us);
    return store_workspace_update(db, &w, err);
}

int api_archive_workspace(struct req *r, struct store *db, const struct wire_archive_workspace_request *in,
                          struct wire_archive_workspace_response *ret, struct error *err)
{
    return set_archived(r, db, in->id, true, err);
}

int api_unarchive_workspace(struct req *r, struct store *db, const struct wire_unarchive_workspace_request *in,
                            struct wire_unarchive_workspace_response *ret, struct error *err)
{
    return set_archived(r, db, in->id, false, err);
}

static int set_pinned(struct req *r, struct store *db, int32_t id, bool pinned, struct error *err)
{
    struct store_workspace w;
    if (read_workspace(r, db, id, &w, err) < 0)
        return -1;
    return store_workspace_pin(db, id, r->who.user_id, pinned, r->now_us, err);
}

int api_pin_workspace(struct req *r, struct store *db, const struct wire_pin_workspace_request *in,
                      struct wire_pin_workspace_response *ret, struct error *err)
{
    return set_pinned(r, db, in->id, true, err);
}

int api_unpin_workspace(struct req *r, struct store *db, const struct wire_unpin_workspace_request *in,
                        struct wire_unpin_workspace_response *ret, struct error *err)
{
    return set_pinned(r, db, in->id, false, err);
}

int api_delete_workspace(struct req *r, struct store *db, const struct wire_delete_workspace_request *in,
                         struct wire_delete_workspace_response *ret, struct error *err)
{
    struct store_workspace w;
    if (read_workspace(r, db, in->id, &w, err) < 0)
        return -1;
    if (w.immutable)
        return error_set(err, ERR_PRECONDITION, "workspace %d is immutable: it belongs to every cluster", w.id);
    return delete_workspace_or_project(r, "workspace", (struct store_workspace_deletion){.workspace_id = w.id},
                                       &ret->completed);
}
