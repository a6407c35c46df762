/* The address at which a notebook or a TensorBoard is shown: the path of the master's proxy that its serviceAddress
 * names. */
#include <string.h>
#include <time.h>

#include "cli/cmd/task/browser.h"
#include "cli/cmd/task/launch.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"

/* A task may say that it is ready a little before its port accepts connections. If nothing answers after some tries,
 * the browser would not get any further. */
static int check_answers(struct cli *cli, const struct launched_kind *k, const char *id, const char *address,
                         struct error *err)
{
    enum { TRIES = 5, FIRST_PAUSE_MS = 200 };
    const char *why = "";
    for (int try = 0; try < TRIES; try++) {
        int status;
        struct timespec pause = {.tv_sec = (FIRST_PAUSE_MS << try) / 1000,
                                 .tv_nsec = (FIRST_PAUSE_MS << try) % 1000 * 1000000l};
        if (api_look(cli, address, &status, &why, err) < 0)
            return -1;
        if (status < 502 || status > 504)
            return 0;
        if (try < TRIES - 1)
            nanosleep(&pause, NULL);
    }
    return error_set(
        err, ERR_UNAVAILABLE,
        "%s %s says that it is ready, but nothing answers at its port: %s. Its log may say why: det %s logs "
        "%s; to end it: det %s kill %s",
        k->title, id, why, k->noun, id, k->noun, id);
}

int launched_show_address(struct cli *cli, const struct launched_kind *k, struct json_object *task, bool browser,
                          struct error *err)
{
    const char *path = arena_strdup(&cli->arena, launched_text(task, "serviceAddress"));
    const char *id = launched_text(task, "id");
    if (*path != '/')
        return error_set(err, ERR_INTERNAL, "the master gives no address for %s %s", k->noun, id);
    if (check_answers(cli, k, id, path, err) < 0)
        return -1;
    const char *url = arena_printf(&cli->arena, "%s%s", cli->master, path);
    cli_print(cli, CLI_GREEN, "%s is running at: %s", k->running, url);
    if (k->launch == ROUTE_ID_LAUNCH_NOTEBOOK)
        cli_print(cli, CLI_PLAIN, "Connect to remote Jupyter server: %s", url);
    fflush(cli->out);
    if (browser && !browser_open(cli, url))
        cli_say(cli, CLI_PLAIN, "There is no browser here; open the address in yours.");
    return 0;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

int cmd_launched_open(struct cli *cli, const struct args_launched_open *args, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    cleanup_json struct json_object *answer = NULL;
    const char *id;
    if (launched_id(cli, k, args->task_id, &id, err) < 0 || launched_wait_ready(cli, k, id, err) < 0 ||
        launched_fetch(cli, k, id, &answer, err) < 0)
        return -1;
    return launched_show_address(cli, k, json_object_object_get(answer, k->noun), !args->no_browser, err);
}

static int start(struct cli *cli, const struct launch *l, bool browser, struct error *err)
{
    cleanup_json struct json_object *launched = NULL, *answer = NULL;
    const char *id;
    if (launch_task(cli, l, &launched, &id, err) < 0)
        return -1;
    if (l->preview)
        output_yaml(cli, json_object_object_get(launched, "config"), /* empty_line= */ true);
    if (l->preview || l->detach)
        return 0;
    /* fetched again, since the address of some tasks is known only when they run */
    if (launched_wait_ready(cli, l->kind, id, err) < 0 || launched_fetch(cli, l->kind, id, &answer, err) < 0)
        return -1;
    return launched_show_address(cli, l->kind, json_object_object_get(answer, l->kind->noun), browser, err);
}

int cmd_notebook_start(struct cli *cli, const struct args_notebook_start *args, struct error *err)
{
    struct launch l = {.kind = launched_kind_of(cli), LAUNCH_OPTIONS(args), .preview = args->preview};
    return start(cli, &l, !args->no_browser, err);
}

int cmd_tensorboard_start(struct cli *cli, const struct args_tensorboard_start *args, struct error *err)
{
    struct launch l = {.kind = launched_kind_of(cli),
                       LAUNCH_OPTIONS(args),
                       .experiment_id = args->experiment_ids,
                       .experiment_id_n = args->experiment_ids_n,
                       .trial_id = args->trial_ids,
                       .trial_id_n = args->trial_ids_n};
    if (l.experiment_id_n == 0 && l.trial_id_n == 0)
        return error_set(err, ERR_USAGE,
                         "Either experiment_ids or trial_ids must be specified, such as 'det tensorboard "
                         "start 7' or 'det tensorboard start -t 41'");
    return start(cli, &l, !args->no_browser, err);
}
