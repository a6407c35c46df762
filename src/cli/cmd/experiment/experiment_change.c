/* Commands that change experiments by a single call: activate, pause, cancel, kill, archive, unarchive, delete, and
 * move. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/cmd/experiment.h"
#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"
#include "cli/terminal/terminal.h"

/* Changes one of the named experiments. */
typedef int change_fn(struct cli *cli, int32_t id, struct error *err);

/* Changes one experiment after the other. If one cannot be changed, its error is printed and the others are changed
 * nevertheless. The last error becomes the command's. */
static int change_each(struct cli *cli, const char *const *id, size_t n, change_fn *change, struct error *err)
{
    cleanup_error struct error last = ERROR_INIT;
    for (size_t i = 0; i < n; i++) {
        cleanup_error struct error failed = ERROR_INIT;
        if (change(cli, (int32_t)strtol(id[i], NULL, 10), &failed) ==
            0) /* was checked when the command line was parsed */
            continue;
        if (last.kind)
            cli_say(cli, CLI_RED, "%s", error_msg(&last));
        error_release(&last);
        error_move(&last, &failed);
    }
    if (!last.kind)
        return 0;
    error_move(err, &last);
    return -1;
}

/* The requests of all these routes have one field, `id`, as the contract says. */
static int change_experiment(struct cli *cli, enum route_id id, const void *request, const char *done,
                             int32_t experiment, struct error *err)
{
    if (api_call(cli, id, request, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "%s experiment %d\n", done, experiment);
    return 0;
}

/* Ends the experiment. If it has ended already, that is no error: det says so. */
static int end_experiment(struct cli *cli, enum route_id route, const void *request, const char *done, int32_t id,
                          struct error *err)
{
    struct wire_get_experiment_request in = {.experiment_id = id};
    struct wire_get_experiment_response out;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, err) < 0)
        return -1;
    if (!experiment_is_final(out.experiment->state))
        return change_experiment(cli, route, request, done, id, err);
    fprintf(cli->out, "Experiment %d has ended already (%s); nothing was changed\n", id,
            state_text(&wire_enum_experiment_state, (int32_t)out.experiment->state));
    return 0;
}

static int activate_experiment(struct cli *cli, int32_t id, struct error *err)
{
    return change_experiment(cli, ROUTE_ID_ACTIVATE_EXPERIMENT, &(struct wire_activate_experiment_request){.id = id},
                             "Activated", id, err);
}

int cmd_experiment_activate(struct cli *cli, const struct args_experiment_activate *args, struct error *err)
{
    return change_each(cli, args->experiment_ids, args->experiment_ids_n, activate_experiment, err);
}

static int pause_one(struct cli *cli, int32_t id, struct error *err)
{
    return change_experiment(cli, ROUTE_ID_PAUSE_EXPERIMENT, &(struct wire_pause_experiment_request){.id = id},
                             "Paused", id, err);
}

int cmd_experiment_pause(struct cli *cli, const struct args_experiment_pause *args, struct error *err)
{
    return change_each(cli, args->experiment_ids, args->experiment_ids_n, pause_one, err);
}

static int cancel_experiment(struct cli *cli, int32_t id, struct error *err)
{
    return end_experiment(cli, ROUTE_ID_CANCEL_EXPERIMENT, &(struct wire_cancel_experiment_request){.id = id},
                          "Canceled", id, err);
}

int cmd_experiment_cancel(struct cli *cli, const struct args_experiment_cancel *args, struct error *err)
{
    return change_each(cli, args->experiment_ids, args->experiment_ids_n, cancel_experiment, err);
}

static int kill_one(struct cli *cli, int32_t id, struct error *err)
{
    return end_experiment(cli, ROUTE_ID_KILL_EXPERIMENT, &(struct wire_kill_experiment_request){.id = id}, "Killed", id,
                          err);
}

int cmd_experiment_kill(struct cli *cli, const struct args_experiment_kill *args, struct error *err)
{
    return change_each(cli, args->experiment_ids, args->experiment_ids_n, kill_one, err);
}

static int archive_experiment(struct cli *cli, int32_t id, struct error *err)
{
    return change_experiment(cli, ROUTE_ID_ARCHIVE_EXPERIMENT, &(struct wire_archive_experiment_request){.id = id},
                             "Archived", id, err);
}

int cmd_experiment_archive(struct cli *cli, const struct args_experiment_archive *args, struct error *err)
{
    return change_each(cli, args->experiment_ids, args->experiment_ids_n, archive_experiment, err);
}

static int unarchive_experiment(struct cli *cli, int32_t id, struct error *err)
{
    return change_experiment(cli, ROUTE_ID_UNARCHIVE_EXPERIMENT, &(struct wire_unarchive_experiment_request){.id = id},
                             "Unarchived", id, err);
}

int cmd_experiment_unarchive(struct cli *cli, const struct args_experiment_unarchive *args, struct error *err)
{
    return change_each(cli, args->experiment_ids, args->experiment_ids_n, unarchive_experiment, err);
}

static int delete_one(struct cli *cli, int32_t id, struct error *err)
{
    struct wire_delete_experiment_request in = {.experiment_id = id};
    if (api_call(cli, ROUTE_ID_DELETE_EXPERIMENT, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Deletion of experiment %d is in progress\n", id);
    return 0;
}

int cmd_experiment_delete(struct cli *cli, const struct args_experiment_delete *args, struct error *err)
{
    size_t n = args->experiment_ids_n;
    const char *question = arena_printf(&cli->arena,
                                        "Deleting %s removes %s logs, metrics and checkpoints for ever; 'det "
                                        "experiment archive' only hides %s.\nDelete %s?",
                                        n > 1 ? arena_printf(&cli->arena, "%zu experiments", n) : "an experiment",
                                        n > 1 ? "their" : "its", n > 1 ? "them" : "it", n > 1 ? "them" : "it");
    if (!args->yes && !terminal_ask_yes(cli, question)) {
        fputs("Aborting experiment deletion.\n", cli->out);
        return 0;
    }
    return change_each(cli, args->experiment_ids, n, delete_one, err);
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
