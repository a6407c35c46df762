/* det command|notebook|shell|tensorboard kill, set priority, config and logs. */
#include <inttypes.h>
#include <string.h>

#include "cli/cmd/task/launched.h"
#include "cli/cmd/task/ssh.h"
#include "cli/connection/logs.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"

int cmd_launched_kill(struct cli *cli, const struct args_launched_kill *args, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    const char **id;
    if (launched_ids(cli, k, args->task_ids, args->task_ids_n, &id, err) < 0)
        return -1;
    for (size_t i = 0; i < args->task_ids_n; i++) {
        cleanup_error struct error why = ERROR_INIT;
        if (launched_change(cli, k->kill, id[i], NULL, &why) == 0) {
            cli_print(cli, CLI_GREEN, "Killed %s %s", k->noun, id[i]);
            if (k->kill == ROUTE_ID_KILL_SHELL)
                ssh_forget(cli, id[i]);
            continue;
        }
        if (!args->force) {
            for (size_t left = i + 1; left < args->task_ids_n; left++)
                cli_say(cli, CLI_YELLOW, "Not killed, because of the error before it: %s %s", k->noun, id[left]);
            error_move(err, &why);
            return -1;
        }
        cli_say(cli, CLI_RED, "Skipped %s %s: %s", k->noun, id[i], error_msg(&why));
    }
    return 0;
}

int cmd_launched_set_priority(struct cli *cli, const struct args_launched_set_priority *args, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    const char *id, *body = arena_printf(&cli->arena, "{\"priority\":%" PRId64 "}", args->priority);
    if (launched_id(cli, k, args->task_id, &id, err) < 0 || launched_change(cli, k->set_priority, id, body, err) < 0)
        return -1;
    cli_print(cli, CLI_GREEN, "Set priority of %s %s to %" PRId64, k->noun, id, args->priority);
    return 0;
}

int cmd_launched_config(struct cli *cli, const struct args_launched_config *args, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    cleanup_json struct json_object *answer = NULL;
    const char *id;
    if (launched_id(cli, k, args->task_id, &id, err) < 0 || launched_fetch(cli, k, id, &answer, err) < 0)
        return -1;
    output_yaml(cli, json_object_object_get(answer, "config"), /* empty_line= */ true);
    return 0;
}

int cmd_launched_logs(struct cli *cli, const struct args_launched_logs *args, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    struct log_query q = LOG_QUERY(args);
    q.allocation_id = args->allocation_ids;
    q.allocation_id_n = args->allocation_ids_n;
    if (launched_id(cli, k, args->task_id, &q.task_id, err) < 0)
        return -1;
    q.stop = arena_printf(&cli->arena, "det %s kill %s", k->noun, q.task_id);
    return logs_print(cli, &q, err);
}
