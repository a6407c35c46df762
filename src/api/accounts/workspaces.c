/* Shows and lists workspaces and projects. Changes are in workspace_changes.c and project_changes.c. */
#include "api/accounts/workspaces.h"

#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/json/json.h"
#include "core/config/expconf.h"
#include "gen/handlers.h"

static const struct wire_user_agent_user_group *agent_user_group_to_wire(const struct store_workspace_agent *g,
                                                                         struct arena *a)
{
    if (!g->has_uid && !g->has_gid && !g->user && !g->group)
        return NULL;
    struct wire_user_agent_user_group *w = arena_new(a, struct wire_user_agent_user_group);
    *w = (struct wire_user_agent_user_group){.agent_uid = g->uid,
                                             .has_agent_uid = g->has_uid,
                                             .agent_gid = g->gid,
                                             .has_agent_gid = g->has_gid,
                                             .agent_user = g->user,
                                             .agent_group = g->group};
    return w;
}

/* The storage without its credentials: everybody who is logged in may see the workspace. */
static const char *storage_to_wire(const char *json, struct arena *a)
{
    cleanup_json struct json_object *storage = NULL, *masked = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!json || json_parse(json, strlen(json), &storage, NULL) < 0)
        return NULL;
    masked = expconf_mask_storage(storage);
    json_print(masked, &text);
    return arena_strdup(a, strbuf_str(&text));
}

static enum wire_workspace_state state_to_wire(const char *state)
{
    int32_t number = 0;
    char name[64];
    snprintf(name, sizeof(name), "WORKSPACE_STATE_%s", state ? state : "UNSPECIFIED");
    codec_enum_number(&wire_enum_workspace_state, name, &number);
    return (enum wire_workspace_state)number;
}

void workspace_to_wire(const struct store_workspace *s, struct arena *a, struct wire_workspace *ret)
{
    *ret = (struct wire_workspace){.id = s->id,
                                   .name = s->name,
                                   .archived = s->archived,
                                   .username = s->username,
                                   .immutable = s->immutable,
                                   .num_projects = s->num_projects,
                                   .pinned = s->pinned_us != 0,
                                   .user_id = s->user_id,
                                   .num_experiments = s->num_experiments,
                                   .state = state_to_wire(s->state),
                                   .error_message = s->error_message,
                                   .agent_user_group = agent_user_group_to_wire(&s->agent, a),
                                   .checkpoint_storage_config = storage_to_wire(s->checkpoint_storage, a),
                                   .pinned_at = s->pinned_us,
                                   .has_pinned_at = s->pinned_us != 0,
                                   .default_compute_pool = s->default_compute_pool,
                                   .default_aux_pool = s->default_aux_pool,
                                   .modified_at = s->modified_us,
                                   .has_modified_at = true};
}

static int notes_to_wire(const char *json, struct arena *a, struct wire_project *ret, struct error *err)
{
    cleanup_json struct json_object *list = NULL;
    if (json && json_parse(json, strlen(json), &list, err) < 0)
        return -1;
    size_t n = list ? json_object_array_length(list) : 0;
    ret->notes = arena_array(a, struct wire_project_note, n + 1);
    ret->notes_n = n;
    for (size_t i = 0; i < n; i++) {
        struct json_object *note = json_object_array_get_idx(list, i);
        ret->notes[i].name = arena_strdup(a, json_object_get_string(json_object_object_get(note, "name")));
        ret->notes[i].contents = arena_strdup(a, json_object_get_string(json_object_object_get(note, "contents")));
    }
    return 0;
}

int project_to_wire(const struct store_project *s, struct arena *a, struct wire_project *ret, struct error *err)
{
    *ret = (struct wire_project){.id = s->id,
                                 .name = s->name,
                                 .workspace_id = s->workspace_id,
                                 .description = s->description,
                                 .last_experiment_started_at = s->last_experiment_started_us,
                                 .has_last_experiment_started_at = s->last_experiment_started_us != 0,
                                 .num_experiments = s->num_experiments,
                                 .num_active_experiments = s->num_active_experiments,
                                 .archived = s->archived || s->workspace_archived,
                                 .username = s->username,
                                 .immutable = s->immutable,
                                 .user_id = s->user_id,
                                 .modified_at = s->modified_us,
                                 .has_modified_at = true,
                                 .workspace_name = s->workspace_name,
                                 .state = state_to_wire(s->state),
                                 .error_message = s->error_message,
                                 .key = s->key,
                                 .num_runs = s->num_runs};
    return notes_to_wire(s->notes, a, ret, err);
}

int api_get_workspace(struct req *r, struct store *db, const struct wire_get_workspace_request *in,
                      struct wire_get_workspace_response *ret, struct error *err)
{
    struct store_workspace s;
    if (store_workspace_get(db, in->id, r->who.user_id, &r->arena, &s, err) < 0)
        return -1;
    struct wire_workspace *w = arena_new(&r->arena, struct wire_workspace);
    workspace_to_wire(&s, &r->arena, w);
    ret->workspace = w;
    return 0;
}

int api_get_workspaces(struct req *r, struct store *db, const struct wire_get_workspaces_request *in,
                       struct wire_get_workspaces_response *ret, struct error *err)
{
    struct store_workspace_filter f = {.asking_user_id = r->who.user_id,
                                       .visible = access_workspaces(r, PERMISSION_VIEW_WORKSPACE),
                                       .name = in->name,
                                       .name_exact = in->name_case_sensitive,
                                       .has_archived = in->has_archived,
                                       .archived = in->archived,
                                       .has_pinned = in->has_pinned,
                                       .pinned = in->pinned,
                                       .usernames = {in->users, in->users_n},
                                       .user_ids = {in->user_ids, in->user_ids_n},
                                       .sort_by = (int32_t)in->sort_by,
                                       .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                       .page = page_of(in->offset, in->limit)};
    struct store_workspace_list list;
    if (store_workspace_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->workspaces = arena_array(&r->arena, struct wire_workspace, list.workspace_n + 1);
    ret->workspaces_n = list.workspace_n;
    for (size_t i = 0; i < list.workspace_n; i++)
        workspace_to_wire(&list.workspace[i], &r->arena, &ret->workspaces[i]);
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

int api_get_workspace_projects(struct req *r, struct store *db, const struct wire_get_workspace_projects_request *in,
                               struct wire_get_workspace_projects_response *ret, struct error *err)
{
    struct store_project_filter f = {.workspace_id = in->id,
                                     .visible = access_workspaces(r, PERMISSION_VIEW_PROJECT),
                                     .name = in->name,
                                     .has_archived = in->has_archived,
                                     .archived = in->archived,
                                     .usernames = {in->users, in->users_n},
                                     .user_ids = {in->user_ids, in->user_ids_n},
                                     .sort_by = (int32_t)in->sort_by,
                                     .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                     .page = page_of(in->offset, in->limit)};
    struct store_workspace workspace;
    struct store_project_list list;
    if ((in->id && access_need_of(r, db, PERMISSION_VIEW_PROJECT, ACCESS_WORKSPACE(in->id), err) < 0) ||
        (in->id && store_workspace_get(db, in->id, r->who.user_id, &r->arena, &workspace, err) < 0) ||
        store_project_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->projects = arena_array(&r->arena, struct wire_project, list.project_n + 1);
    ret->projects_n = list.project_n;
    for (size_t i = 0; i < list.project_n; i++)
        if (project_to_wire(&list.project[i], &r->arena, &ret->projects[i], err) < 0)
            return -1;
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

int project_reply(struct req *r, const struct store_project *s, const struct wire_project **ret, struct error *err)
{
    struct wire_project *w = arena_new(&r->arena, struct wire_project);
    if (project_to_wire(s, &r->arena, w, err) < 0)
        return -1;
    *ret = w;
    return 0;
}

int api_get_project(struct req *r, struct store *db, const struct wire_get_project_request *in,
                    struct wire_get_project_response *ret, struct error *err)
{
    struct store_project s;
    if (store_project_get(db, in->id, &r->arena, &s, err) < 0)
        return -1;
    return project_reply(r, &s, &ret->project, err);
}

int api_get_project_by_key(struct req *r, struct store *db, const struct wire_get_project_by_key_request *in,
                           struct wire_get_project_by_key_response *ret, struct error *err)
{
    struct store_project s;
    if (store_project_by_key(db, in->key, &r->arena, &s, err) < 0)
        return -1;
    if (!access_has(r, PERMISSION_VIEW_PROJECT, s.workspace_id))
        return error_set(err, ERR_NOT_FOUND, "project '%s' not found", in->key ? in->key : "");
    return project_reply(r, &s, &ret->project, err);
}
