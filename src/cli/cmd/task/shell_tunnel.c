/* det shell tunnel: what ssh runs to reach a shell. Standard input and output are joined with the shell's port, which
 * the master's proxy reaches. */
#include <unistd.h>

#include "cli/cmd/task/launched.h"
#include "cli/connection/port.h"
#include "common/base/cleanup.h"

int cmd_shell_tunnel(struct cli *cli, const struct args_shell_tunnel *args, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    cleanup_json struct json_object *answer = NULL;
    const char *id;
    if (launched_id(cli, k, args->task_id, &id, err) < 0 || launched_fetch(cli, k, id, &answer, err) < 0)
        return -1;
    if (launched_has_ended(json_object_object_get(answer, k->noun)))
        return error_set(err, ERR_NOT_FOUND, "Shell %s has ended: %s", id,
                         launched_text(json_object_object_get(answer, k->noun), "exitStatus"));
    return port_join(cli, id, STDIN_FILENO, STDOUT_FILENO, err);
}
