/* Workspaces: create, edit, archive, delete. */
#include "cli/cmd/deletion.h"
#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"
#include "cli/files/config_file.h"

/* ---- create, edit ------------------------------------------------------------------------------------------------ */

struct workspace_form {
    int64_t uid, gid;
    bool has_uid, has_gid;
    const char *user, *group, *storage, *storage_file;
};

static int read_storage(struct cli *cli, const struct workspace_form *f, const char **ret, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT, json = STRBUF_INIT;
    if (f->storage && f->storage_file)
        return error_set(err, ERR_USAGE,
                         "--checkpoint-storage-config and --checkpoint-storage-config-file exclude each other");
    if (f->storage_file) {
        if (config_file_read(cli, f->storage_file, &text, &v, err) < 0)
            return -1;
        json_print(v, &json);
        *ret = arena_strdup(&cli->arena, strbuf_str(&json));
        return 0;
    }
    if (f->storage &&
        (json_parse(f->storage, strlen(f->storage), &v, err) < 0 || !json_object_is_type(v, json_type_object)))
        return error_set(err, ERR_USAGE,
                         "--checkpoint-storage-config must be a JSON object, such as "
                         "{\"type\": \"shared_fs\", \"host_path\": \"/checkpoints\"}; {} takes it away");
    *ret = f->storage;
    return 0;
}

static const struct wire_user_agent_user_group *agent_of(struct cli *cli, const struct workspace_form *f)
{
    if (!f->has_uid && !f->has_gid && !f->user && !f->group)
        return NULL;
    struct wire_user_agent_user_group *g = arena_new(&cli->arena, struct wire_user_agent_user_group);
    *g = (struct wire_user_agent_user_group){.agent_uid = (int32_t)f->uid,
                                             .has_agent_uid = f->has_uid,
                                             .agent_gid = (int32_t)f->gid,
                                             .has_agent_gid = f->has_gid,
                                             .agent_user = f->user,
                                             .agent_group = f->group};
    return g;
}

#define FORM(args) \
    {.uid = (args)->agent_uid, \
     .has_uid = (args)->has_agent_uid, \
     .gid = (args)->agent_gid, \
     .has_gid = (args)->has_agent_gid, \
     .user = (args)->agent_user, \
     .group = (args)->agent_group, \
     .storage = (args)->checkpoint_storage_config, \
     .storage_file = (args)->checkpoint_storage_config_file}

/* Calls the route and prints its reply: as a document, or as a table with one row. */
static int show_workspace(struct cli *cli, enum route_id route, const void *in, bool json, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_post_workspace_response made;
    struct wire_patch_workspace_response changed;
    bool make = route == ROUTE_ID_POST_WORKSPACE;
    if (json)
        return document_show(cli, route, in, "workspace", err);
    if (api_call(cli, route, in, make ? (void *)&made : (void *)&changed, err) < 0)
        return -1;
    workspace_table(&t, make ? made.workspace : changed.workspace);
    table_show_record(cli, &t, false);
    return 0;
}

int cmd_workspace_create(struct cli *cli, const struct args_workspace_create *args, struct error *err)
{
    const struct workspace_form f = FORM(args);
    struct wire_post_workspace_request in = {.name = args->name,
                                             .agent_user_group = agent_of(cli, &f),
                                             .default_compute_pool = args->default_compute_pool,
                                             .default_aux_pool = args->default_aux_pool};
    if (args->cluster_name || args->namespace || args->auto_create_namespace ||
        args->auto_create_namespace_all_clusters || args->has_resource_quota)
        return error_set(err, ERR_USAGE, "namespaces and quotas are Kubernetes', and this cluster runs its own agents");
    if (read_storage(cli, &f, &in.checkpoint_storage_config, err) < 0)
        return -1;
    return show_workspace(cli, ROUTE_ID_POST_WORKSPACE, &in, args->json, err);
}

int cmd_workspace_edit(struct cli *cli, const struct args_workspace_edit *args, struct error *err)
{
    const struct workspace_form f = FORM(args);
    struct wire_workspace_patch_workspace patch = {.name = args->name,
                                                   .agent_user_group = agent_of(cli, &f),
                                                   .default_compute_resource_pool = args->default_compute_pool,
                                                   .default_aux_resource_pool = args->default_aux_pool};
    struct wire_patch_workspace_request in = {.workspace = &patch};
    if (read_storage(cli, &f, &patch.checkpoint_storage_config, err) < 0 ||
        workspace_by_name(cli, args->workspace_name, &in.id, err) < 0)
        return -1;
    return show_workspace(cli, ROUTE_ID_PATCH_WORKSPACE, &in, args->json, err);
}

/* ---- archive ----------------------------------------------------------------------------------------------------- */

int cmd_workspace_archive(struct cli *cli, const struct args_workspace_archive *args, struct error *err)
{
    struct wire_archive_workspace_request in = {0};
    if (workspace_by_name(cli, args->workspace_name, &in.id, err) < 0 ||
        api_call(cli, ROUTE_ID_ARCHIVE_WORKSPACE, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Successfully archived workspace %s.\n", args->workspace_name);
    return 0;
}

int cmd_workspace_unarchive(struct cli *cli, const struct args_workspace_unarchive *args, struct error *err)
{
    struct wire_unarchive_workspace_request in = {0};
    if (workspace_by_name(cli, args->workspace_name, &in.id, err) < 0 ||
        api_call(cli, ROUTE_ID_UNARCHIVE_WORKSPACE, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Successfully un-archived workspace %s.\n", args->workspace_name);
    return 0;
}

/* ---- delete ------------------------------------------------------------------------------------------------------ */

static int start_deletion(struct cli *cli, int32_t id, bool *ret_completed, struct error *err)
{
    struct wire_delete_workspace_response out;
    if (api_call(cli, ROUTE_ID_DELETE_WORKSPACE, &(struct wire_delete_workspace_request){.id = id}, &out, err) < 0)
        return -1;
    *ret_completed = out.completed;
    return 0;
}

static int look_at_deletion(struct cli *cli, int32_t id, struct deletion_view *ret, struct error *err)
{
    struct wire_get_workspace_response out;
    if (api_call(cli, ROUTE_ID_GET_WORKSPACE, &(struct wire_get_workspace_request){.id = id}, &out, err) < 0)
        return -1;
    *ret = (struct deletion_view){.left = out.workspace->num_projects,
                                  .problem = out.workspace->error_message,
                                  .failed = out.workspace->state == WIRE_WORKSPACE_STATE_DELETE_FAILED};
    return 0;
}

int cmd_workspace_delete(struct cli *cli, const struct args_workspace_delete *args, struct error *err)
{
    struct deletion d = {.what = "workspace",
                         .name = args->workspace_name,
                         .parts = "project",
                         .yes = args->yes,
                         .along = "its projects, their experiments and checkpoints, and its templates",
                         .start = start_deletion,
                         .look = look_at_deletion};
    if (workspace_by_name(cli, args->workspace_name, &d.id, err) < 0)
        return -1;
    return deletion_run(cli, &d, err);
}
