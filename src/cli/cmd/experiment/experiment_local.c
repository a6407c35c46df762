/* experiment create --local: runs the entrypoint as a process on this terminal. The training library finds no
 * cluster there and trains without one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd/experiment.h"
#include "common/base/cleanup.h"
#include "core/searcher/preview.h"
#include "gen/config_numbers.h"
#include "gen/experiment_config.h"

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Whether the entrypoint is module:TrialClass, which the harness runs, and not a program: the same rule as in
 * determined.exec.launch. If it has a slash, it is a trial class only if the module's file exists. */
static bool is_trial_class(struct cli *cli, const char *entrypoint, const char *directory)
{
    const char *colon = strchr(entrypoint, ':');
    if (!colon || !colon[1] || strspn(colon + 1, WORD) != strlen(colon + 1))
        return false;
    const char *slash = memrchr(entrypoint, '/', (size_t)(colon - entrypoint));
    const char *module = slash ? slash + 1 : entrypoint;
    if (module == colon || module + strspn(module, WORD ".") != colon)
        return false;
    if (!slash)
        return true;
    const char *file = arena_printf(&cli->arena, "%s/%.*s.py", directory ? directory : ".", (int)(colon - entrypoint),
                                    entrypoint);
    return *entrypoint != '/' && entrypoint + strspn(entrypoint, WORD ".-/") == colon && access(file, R_OK) == 0;
}

/* Writes the configuration into a file without a name for the harness. The configuration may hold secrets; such a
 * file leaves nothing behind. */
static int config_in_memory(struct json_object *config, struct error *err)
{
    cleanup_close int fd = memfd_create("experiment-config", 0); /* the child inherits it */
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (fd < 0)
        return error_errno(err, "keeping the configuration for the harness");
    json_print(config, &text);
    for (size_t at = 0; at < text.n;) {
        ssize_t n = write(fd, text.s + at, text.n - at);
        if (n < 0 && errno != EINTR)
            return error_errno(err, "keeping the configuration for the harness");
        at += n > 0 ? (size_t)n : 0;
    }
    return take_fd(fd);
}

/* The seed that the cluster would give to the first trial; NULL: the configuration has no seed. */
static int seed_argument(struct cli *cli, struct json_object *config, const char **ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct json_object *seed = schema_get(exp_reproducibility, schema_get(exp_values, config, reproducibility),
                                          experiment_seed);
    uint32_t first;
    *ret = NULL;
    if (!seed)
        return 0;
    int64_t n = json_object_is_type(seed, json_type_int) ? json_object_get_int64(seed) : -1;
    if (n < 0 || n > EXP_REPRODUCIBILITY_EXPERIMENT_SEED_MAX)
        return error_set(err, ERR_INVALID, "reproducibility.experiment_seed is %s, allowed is 0 to %d",
                         json_object_to_json_string(seed), EXP_REPRODUCIBILITY_EXPERIMENT_SEED_MAX);
    json_print(config, &text);
    if (search_first_seed(text.s, text.n, (uint32_t)n, &first, err) < 0)
        return error_wrap(err, "the seed of the first trial");
    *ret = arena_printf(&cli->arena, "--seed=%u", first);
    return 0;
}

static int harness_arguments(struct cli *cli, struct json_object *config, const char *entrypoint, bool test_mode,
                             char ***ret, struct error *err)
{
    const char *seed;
    if (seed_argument(cli, config, &seed, err) < 0)
        return -1;
    int fd = config_in_memory(config, err);
    if (fd < 0)
        return -1;
    const char *const word[] = {"python3",
                                "-m",
                                "determined.exec.harness",
                                entrypoint,
                                "--local",
                                arena_printf(&cli->arena, "/dev/fd/%d", fd),
                                test_mode ? "--test" : NULL,
                                seed};
    enum { WORDS = sizeof(word) / sizeof(word[0]) };
    char **argv = arena_array(&cli->arena, char *, WORDS + 1);
    for (size_t i = 0, n = 0; i < WORDS; i++)
        if (word[i])
            argv[n++] = arena_strdup(&cli->arena, word[i]);
    *ret = argv;
    return 0;
}

/* Makes the arguments of an entrypoint that is a shell's command line, or a program with arguments. */
static int script_arguments(struct cli *cli, struct json_object *entrypoint, char ***ret, struct error *err)
{
    bool list = json_object_is_type(entrypoint, json_type_array);
    size_t n = list ? json_object_array_length(entrypoint) : 0;
    char **argv = arena_array(&cli->arena, char *, n + 4);
    if (json_object_is_type(entrypoint, json_type_string)) {
        const char *const shell[] = {"sh", "-c", json_object_get_string(entrypoint)};
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

static int entrypoint_arguments(struct cli *cli, struct json_object *config, const char *directory, bool test_mode,
                                char ***ret, struct error *err)
{
    struct json_object *entrypoint = json_object_object_get(config, "entrypoint");
    bool line = json_object_is_type(entrypoint, json_type_string);
    if (line && is_trial_class(cli, json_object_get_string(entrypoint), directory))
        return harness_arguments(cli, config, json_object_get_string(entrypoint), test_mode, ret, err);
    if (test_mode)
        return error_set(err, ERR_INVALID,
                         "--local --test-mode trains one batch of a trial class (module:Class); the entrypoint "
                         "of this configuration is a program, which --local runs as a whole");
    return script_arguments(cli, entrypoint, ret, err);
}

static _Noreturn void run_child(const char *directory, const char *python_path, char **argv)
{
    setenv("PYTHONPATH", python_path, 1); /* the library that a task of the cluster would use */
    if (directory && chdir(directory) < 0)
        fprintf(stderr, "%s: %s\n", directory, strerror(errno));
    else if (execvp(argv[0], argv) < 0)
        fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

int experiment_run_local(struct cli *cli, struct json_object *config, const char *directory, bool test_mode,
                         struct error *err)
{
    char **argv = NULL;
    int status;
    if (entrypoint_arguments(cli, config, directory, test_mode, &argv, err) < 0)
        return -1;
    const char *python_path = cli_python_path(cli);
    fflush(cli->out);
    pid_t child = fork();
    if (child < 0)
        return error_errno(err, "starting %s", argv[0]);
    if (child == 0)
        run_child(directory, python_path, argv);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return error_errno(err, "waiting for %s", argv[0]);
    cli->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}
