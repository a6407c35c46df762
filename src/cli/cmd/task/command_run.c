/* det command run: launches a command, prints its output, and ends with its exit status. */
#include "cli/cmd/task/launch.h"
#include "cli/cmd/task/task_end.h"
#include "common/base/cleanup.h"

/* A command that was killed, or whose agent is gone, has no exit status; what happened to it is said instead. */
static int pass_on_status(struct cli *cli, const char *id, struct error *err)
{
    enum { STATUS_MAX = 255 };
    const struct wire_task *task;
    if (task_fetch_ended(cli, id, &task, err) < 0)
        return -1;
    const struct wire_task_allocation *last = task_last_allocation(task);
    if (!task->has_end_time)
        return error_set(err, ERR_ABORTED, "the log of command %s has ended, but the command has not", id);
    if (last && last->has_status_code && last->status_code >= 0 && last->status_code <= STATUS_MAX) {
        cli->exit_code = last->status_code;
        return 0;
    }
    return error_set(err, ERR_ABORTED, "command %s did not run to its end%s%s", id,
                     last && last->exit_reason ? ": " : "", last && last->exit_reason ? last->exit_reason : "");
}

int cmd_command_run(struct cli *cli, const struct args_command_run *args, struct error *err)
{
    struct launch l = {.kind = launched_kind_of(cli),
                       LAUNCH_OPTIONS(args),
                       .entrypoint = args->entrypoint,
                       .entrypoint_n = args->entrypoint_n};
    cleanup_json struct json_object *answer = NULL;
    const char *id;
    if (launch_task(cli, &l, &answer, &id, err) < 0)
        return -1;
    if (l.detach)
        return 0;
    if (task_follow(cli, id, arena_printf(&cli->arena, "det command kill %s", id), err) < 0)
        return -1;
    return pass_on_status(cli, id, err);
}
