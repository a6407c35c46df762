/* What moves an experiment from state to state, each a single call: activate, pause, cancel, kill, archive, unarchive,
 * delete; and from project to project. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/cmd/workspace.h"
#include "cli/terminal.h"

/* The requests of all these routes are {id}, as their contract rows say. */
static int change(struct cli *cli, enum route_id id, const void *request, const char *done, int64_t experiment,
                  struct error *err)
{
    if (api_call(cli, id, request, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "%s experiment %" PRId64 "\n", done, experiment);
    return 0;
}

int cmd_experiment_activate(struct cli *cli, const struct args_experiment_activate *args, struct error *err)
{
    struct wire_activate_experiment_request in = {.id = (int32_t)args->experiment_id};
    return change(cli, ROUTE_ID_ACTIVATE_EXPERIMENT, &in, "Activated", args->experiment_id, err);
}

int cmd_experiment_pause(struct cli *cli, const struct args_experiment_pause *args, struct error *err)
{
    struct wire_pause_experiment_request in = {.id = (int32_t)args->experiment_id};
    return change(cli, ROUTE_ID_PAUSE_EXPERIMENT, &in, "Paused", args->experiment_id, err);
}

int cmd_experiment_cancel(struct cli *cli, const struct args_experiment_cancel *args, struct error *err)
{
    struct wire_cancel_experiment_request in = {.id = (int32_t)args->experiment_id};
    return change(cli, ROUTE_ID_CANCEL_EXPERIMENT, &in, "Canceled", args->experiment_id, err);
}

int cmd_experiment_kill(struct cli *cli, const struct args_experiment_kill *args, struct error *err)
{
    struct wire_kill_experiment_request in = {.id = (int32_t)args->experiment_id};
    return change(cli, ROUTE_ID_KILL_EXPERIMENT, &in, "Killed", args->experiment_id, err);
}

int cmd_experiment_archive(struct cli *cli, const struct args_experiment_archive *args, struct error *err)
{
    struct wire_archive_experiment_request in = {.id = (int32_t)args->experiment_id};
    return change(cli, ROUTE_ID_ARCHIVE_EXPERIMENT, &in, "Archived", args->experiment_id, err);
}

int cmd_experiment_unarchive(struct cli *cli, const struct args_experiment_unarchive *args, struct error *err)
{
    struct wire_unarchive_experiment_request in = {.id = (int32_t)args->experiment_id};
    return change(cli, ROUTE_ID_UNARCHIVE_EXPERIMENT, &in, "Unarchived", args->experiment_id, err);
}

int cmd_experiment_delete(struct cli *cli, const struct args_experiment_delete *args, struct error *err)
{
    struct wire_delete_experiment_request in = {.experiment_id = (int32_t)args->experiment_id};
    if (!args->yes &&
        !terminal_ask_yes(cli, "Deleting an experiment removes its logs, metrics and checkpoints for ever; 'det "
                               "experiment archive' only hides it.\nDelete it?")) {
        fputs("Aborting experiment deletion.\n", cli->out);
        return 0;
    }
    if (api_call(cli, ROUTE_ID_DELETE_EXPERIMENT, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Deletion of experiment %" PRId64 " is in progress\n", args->experiment_id);
    return 0;
}

int cmd_experiment_delete_tb_files(struct cli *cli, const struct args_experiment_delete_tb_files *args,
                                   struct error *err)
{
    struct wire_delete_tensorboard_files_request in = {.experiment_id = (int32_t)args->experiment_id};
    return api_call(cli, ROUTE_ID_DELETE_TENSORBOARD_FILES, &in, NULL, err);
}

int cmd_experiment_move(struct cli *cli, const struct args_experiment_move *args, struct error *err)
{
    const struct wire_project *p;
    if (project_by_name(cli, args->workspace_name, args->project_name, &p, err) < 0)
        return -1;
    struct wire_move_experiment_request in = {.experiment_id = (int32_t)args->experiment_id,
                                              .destination_project_id = p->id};
    if (api_call(cli, ROUTE_ID_MOVE_EXPERIMENT, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Moved experiment %" PRId64 " to project \"%s\"\n", args->experiment_id, args->project_name);
    return 0;
}
