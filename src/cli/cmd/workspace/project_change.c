/* Projects: create, edit, archive, delete. */
#include "cli/cmd/deletion.h"
#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"

/* ---- create, edit ------------------------------------------------------------------------------------------------ */

/* Calls the route and prints its reply: as a document, or as a table with one row. */
static int show_project(struct cli *cli, enum route_id route, const void *in, bool json, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_post_project_response made;
    struct wire_patch_project_response changed;
    bool make = route == ROUTE_ID_POST_PROJECT;
    if (json)
        return document_show(cli, route, in, "project", err);
    if (api_call(cli, route, in, make ? (void *)&made : (void *)&changed, err) < 0)
        return -1;
    project_columns(&t);
    project_row(&t, make ? made.project : changed.project);
    table_show_record(cli, &t, false);
    return 0;
}

int cmd_project_create(struct cli *cli, const struct args_project_create *args, struct error *err)
{
    struct wire_post_project_request in = {.name = args->name, .description = args->description, .key = args->key};
    if (workspace_by_name(cli, args->workspace_name, &in.workspace_id, err) < 0)
        return -1;
    return show_project(cli, ROUTE_ID_POST_PROJECT, &in, args->json, err);
}

int cmd_project_edit(struct cli *cli, const struct args_project_edit *args, struct error *err)
{
    const struct wire_project *p;
    struct wire_project_patch_project patch = {.name = args->new_name,
                                               .description = args->description,
                                               .key = args->key};
    if (project_by_name(cli, args->workspace_name, args->project_name, &p, err) < 0)
        return -1;
    struct wire_patch_project_request in = {.id = p->id, .project = &patch};
    return show_project(cli, ROUTE_ID_PATCH_PROJECT, &in, args->json, err);
}

/* ---- archive ----------------------------------------------------------------------------------------------------- */

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

/* ---- delete ------------------------------------------------------------------------------------------------------ */

static int start_deletion(struct cli *cli, int32_t id, bool *ret_completed, struct error *err)
{
    struct wire_delete_project_response out;
    if (api_call(cli, ROUTE_ID_DELETE_PROJECT, &(struct wire_delete_project_request){.id = id}, &out, err) < 0)
        return -1;
    *ret_completed = out.completed;
    return 0;
}

static int look_at_deletion(struct cli *cli, int32_t id, struct deletion_view *ret, struct error *err)
{
    struct wire_get_project_response out;
    if (api_call(cli, ROUTE_ID_GET_PROJECT, &(struct wire_get_project_request){.id = id}, &out, err) < 0)
        return -1;
    *ret = (struct deletion_view){.left = out.project->num_experiments,
                                  .problem = out.project->error_message,
                                  .failed = out.project->state == WIRE_WORKSPACE_STATE_DELETE_FAILED};
    return 0;
}

int cmd_project_delete(struct cli *cli, const struct args_project_delete *args, struct error *err)
{
    const struct wire_project *p;
    struct deletion d = {.what = "project",
                         .name = args->project_name,
                         .parts = "experiment",
                         .yes = args->yes,
                         .along = "its notes, its experiments and their checkpoints",
                         .start = start_deletion,
                         .look = look_at_deletion};
    if (project_by_name(cli, args->workspace_name, args->project_name, &p, err) < 0)
        return -1;
    d.id = p->id;
    return deletion_run(cli, &d, err);
}
