/* experiment create --local: the entrypoint as a process of this terminal, where the training library finds no cluster
 * and trains by itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd/experiment.h"

/* module:TrialClass, which only the cluster's harness can run. */
static bool is_trial_class(const char *entrypoint)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *colon = strchr(entrypoint, ':');
    size_t module = strspn(entrypoint, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    return colon && module > 0 && entrypoint + module == colon && colon[1] && strspn(colon + 1, word) == strlen(colon + 1);
}

static int arguments(struct cli *cli, struct json_object *entrypoint, char ***ret, struct error *err)
{
    bool list = json_object_is_type(entrypoint, json_type_array);
    size_t n = list ? json_object_array_length(entrypoint) : 0;
    char **argv = arena_array(&cli->arena, char *, n + 4);
    if (json_object_is_type(entrypoint, json_type_string)) {
        const char *line = json_object_get_string(entrypoint);
        if (is_trial_class(line))
            return error_set(err, ERR_INVALID,
                             "--local runs scripts; entrypoint '%s' is a trial class: train it with a script that calls "
                             "Trainer.fit(), or without --local", line);
        const char *const shell[] = {"sh", "-c", line};
        for (size_t i = 0; i < 3; i++)
            argv[i] = arena_strdup(&cli->arena, shell[i]);
    } else if (n == 0) {
        return error_set(err, ERR_INVALID, "--local needs an entrypoint in the configuration");
    }
    for (size_t i = 0; i < n; i++) {
        const char *word = json_object_get_string(json_object_array_get_idx(entrypoint, i));
        argv[i] = arena_strdup(&cli->arena, word ? word : "");
    }
    *ret = argv;
    return 0;
}

static _Noreturn void run_child(const char *directory, char **argv)
{
    if (directory && chdir(directory) < 0)
        fprintf(stderr, "%s: %s\n", directory, strerror(errno));
    else if (execvp(argv[0], argv) < 0)
        fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

int experiment_run_local(struct cli *cli, struct json_object *config, const char *directory, struct error *err)
{
    char **argv = NULL;
    int status;
    if (arguments(cli, json_object_object_get(config, "entrypoint"), &argv, err) < 0)
        return -1;
    fflush(cli->out);
    pid_t child = fork();
    if (child < 0)
        return error_errno(err, "starting %s", argv[0]);
    if (child == 0)
        run_child(directory, argv);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return error_errno(err, "waiting for %s", argv[0]);
    cli->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}
