/* Projects: create, edit, archive, delete. */
#include "cli/cmd/workspace.h"
#include "cli/output.h"
#include "cli/terminal.h"

/* ---- create, edit ---- */

static int show(struct cli *cli, enum route_id route, const void *in, bool json, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    if (json) {
        cleanup_json struct json_object *document = NULL;
        if (api_call_document(cli, route, in, &document, err) < 0)
            return -1;
        output_json(cli, json_object_object_get(document, "project"));
        return 0;
    }
    struct wire_post_project_response made;
    struct wire_patch_project_response changed;
    bool make = route == ROUTE_ID_POST_PROJECT;
    if (api_call(cli, route, in, make ? (void *)&made : (void *)&changed, err) < 0)
        return -1;
    project_columns(&t);
    project_row(&t, make ? made.project : changed.project);
    table_print(&t, false, cli->out);
    return 0;
}

int cmd_project_create(struct cli *cli, const struct args_project_create *args, struct error *err)
{
    struct wire_post_project_request in = {.name = args->name, .description = args->description, .key = args->key};
    if (workspace_by_name(cli, args->workspace_name, &in.workspace_id, err) < 0)
        return -1;
    return show(cli, ROUTE_ID_POST_PROJECT, &in, args->json, err);
}

int cmd_project_edit(struct cli *cli, const struct args_project_edit *args, struct error *err)
{
    const struct wire_project *p;
    struct wire_project_patch_project patch = {.name = args->new_name, .description = args->description, .key = args->key};
    if (project_by_name(cli, args->workspace_name, args->project_name, &p, err) < 0)
        return -1;
    struct wire_patch_project_request in = {.id = p->id, .project = &patch};
    return show(cli, ROUTE_ID_PATCH_PROJECT, &in, args->json, err);
}

/* ---- archive ---- */

int cmd_project_archive(struct cli *cli, const struct args_project_archive *args, struct error *err)
{
    const struct wire_project *p;
    if (project_by_name(cli, args->workspace_name, args->project_name, &p, err) < 0 ||
        api_call(cli, ROUTE_ID_ARCHIVE_PROJECT, &(struct wire_archive_project_request){.id = p->id}, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Successfully archived project %s.\n", args->project_name);
    return 0;
}

int cmd_project_unarchive(struct cli *cli, const struct args_project_unarchive *args, struct error *err)
{
    const struct wire_project *p;
    if (project_by_name(cli, args->workspace_name, args->project_name, &p, err) < 0 ||
        api_call(cli, ROUTE_ID_UNARCHIVE_PROJECT, &(struct wire_unarchive_project_request){.id = p->id}, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Successfully un-archived project %s.\n", args->project_name);
    return 0;
}

/* ---- delete ---- */

static int wait_deleted(struct cli *cli, int32_t id, struct error *err)
{
    struct wire_get_project_request in = {.id = id};
    int32_t shown = -1;
    for (;;) {
        cleanup_error struct error failed = ERROR_INIT;
        struct wire_get_project_response out;
        if (api_call(cli, ROUTE_ID_GET_PROJECT, &in, &out, &failed) < 0) {
            if (failed.kind == ERR_NOT_FOUND)
                return 0;
            error_move(err, &failed);
            return -1;
        }
        if (out.project->state == WIRE_WORKSPACE_STATE_DELETE_FAILED)
            return error_set(err, ERR_PRECONDITION, "%s", out.project->error_message);
        if (out.project->num_experiments != shown)
            fprintf(cli->out, "Remaining experiment count: %d\n", shown = out.project->num_experiments);
        deletion_pause();
    }
}

int cmd_project_delete(struct cli *cli, const struct args_project_delete *args, struct error *err)
{
    const struct wire_project *p;
    struct wire_delete_project_response out;
    if (project_by_name(cli, args->workspace_name, args->project_name, &p, err) < 0)
        return -1;
    if (!args->yes && !terminal_ask_yes(cli, arena_printf(&cli->arena,
            "Project \"%s\" goes for ever, with its notes, its experiments and their checkpoints.\n"
            "(det project archive only hides it.) Delete it?", args->project_name))) {
        fputs("Aborting project deletion.\n", cli->out);
        return 0;
    }
    if (api_call(cli, ROUTE_ID_DELETE_PROJECT, &(struct wire_delete_project_request){.id = p->id}, &out, err) < 0)
        return -1;
    if (out.completed) {
        fprintf(cli->out, "Successfully deleted project %s.\n", args->project_name);
        return 0;
    }
    fprintf(cli->out, "Started deletion of project %s...\n", args->project_name);
    if (wait_deleted(cli, p->id, err) < 0)
        return -1;
    fputs("Project deleted successfully.\n", cli->out);
    return 0;
}
