/* det shell start, open and show-ssh-command. */
#include <string.h>

#include "cli/cmd/task/launch.h"
#include "cli/cmd/task/ssh.h"
#include "common/base/cleanup.h"

/* After ssh: how to come back, or that there is nothing to come back to. */
static void say_what_is_left(struct cli *cli, const struct launched_kind *k, const char *id)
{
    cleanup_json struct json_object *answer = NULL;
    cleanup_error struct error none = ERROR_INIT;
    if (launched_fetch(cli, k, id, &answer, &none) == 0 &&
        launched_has_ended(json_object_object_get(answer, k->noun))) {
        cli_say(cli, CLI_YELLOW, "Shell %s has ended: %s", id,
                launched_text(json_object_object_get(answer, k->noun), "exitStatus"));
        ssh_forget(cli, id);
        return;
    }
    cli_print(cli, CLI_GREEN, "To reconnect, run: det shell open %s", id);
}

static int fetch_target(struct cli *cli, const char *id, bool keep_key, struct ssh_target *ret, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    cleanup_json struct json_object *answer = NULL;
    if (launched_wait_ready(cli, k, id, err) < 0 || launched_fetch(cli, k, id, &answer, err) < 0)
        return -1;
    return ssh_target_init(cli, json_object_object_get(answer, k->noun), keep_key, ret, err);
}

static int open_shell(struct cli *cli, const char *id, const char *const *more, size_t more_n, bool show_command,
                      struct error *err)
{
    struct ssh_target t;
    if (fetch_target(cli, id, /* keep_key= */ show_command, &t, err) < 0)
        return -1;
    char **word = ssh_words(cli, &t, more, more_n);
    if (show_command)
        cli_print(cli, CLI_GREEN, "%s", ssh_line(cli, word));
    int rc = ssh_run(cli, word, err);
    ssh_target_release(&t);
    if (rc == 0)
        say_what_is_left(cli, launched_kind_of(cli), id);
    return rc;
}

int cmd_shell_start(struct cli *cli, const struct args_shell_start *args, struct error *err)
{
    struct launch l = {.kind = launched_kind_of(cli), LAUNCH_OPTIONS(args)};
    cleanup_json struct json_object *answer = NULL;
    const char *id;
    if (launch_task(cli, &l, &answer, &id, err) < 0)
        return -1;
    if (l.detach)
        return 0;
    return open_shell(cli, id, args->ssh_opts, args->ssh_opts_n, args->show_ssh_command, err);
}

int cmd_shell_open(struct cli *cli, const struct args_shell_open *args, struct error *err)
{
    const char *id;
    if (launched_id(cli, launched_kind_of(cli), args->task_id, &id, err) < 0)
        return -1;
    return open_shell(cli, id, args->ssh_opts, args->ssh_opts_n, args->show_ssh_command, err);
}

int cmd_shell_show_ssh_command(struct cli *cli, const struct args_shell_show_ssh_command *args, struct error *err)
{
    struct ssh_target t;
    const char *id;
    if (launched_id(cli, launched_kind_of(cli), args->task_id, &id, err) < 0 ||
        fetch_target(cli, id, /* keep_key= */ true, &t, err) < 0)
        return -1;
    if (args->show_proxy_command)
        fprintf(cli->out, "%s\n", t.proxy_command);
    else
        cli_print(cli, CLI_GREEN, "%s", ssh_line(cli, ssh_words(cli, &t, args->ssh_opts, args->ssh_opts_n)));
    return 0;
}
