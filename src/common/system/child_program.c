#include "common/system/child_program.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNREAPED_MAX 64

static bool begins_with(const char *variable, const char *with)
{
    return strncmp(variable, with, strlen(with)) == 0;
}

static bool is_masters(const char *variable)
{
    static const char *const ours[] = {"DET_", "NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        if (begins_with(variable, ours[i]))
            return true;
    return false;
}

char **child_program_environment(const char *instead, struct arena *a)
{
    const char *name = instead ? arena_strndup(a, instead, strcspn(instead, "=") + 1) : NULL;
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = arena_array(a, char *, n + 2);
    for (size_t i = 0; i < n; i++)
        if (!is_masters(environ[i]) && !(name && begins_with(environ[i], name)))
            env[kept++] = environ[i];
    if (instead)
        env[kept] = arena_strdup(a, instead);
    return env;
}

int child_program_start(char *const argv[], char *const env[], const posix_spawn_file_actions_t *files,
                        bool own_session, pid_t *ret)
{
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr,
                             (own_session ? POSIX_SPAWN_SETSID : 0) | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawnp(ret, argv[0], files, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    return rc;
}

void child_program_abandon(pid_t pid)
{
    static pid_t unreaped[UNREAPED_MAX];
    for (int i = 0; i < UNREAPED_MAX; i++)
        if (unreaped[i] && waitpid(unreaped[i], NULL, WNOHANG) != 0)
            unreaped[i] = 0;
    for (int i = 0; waitpid(pid, NULL, WNOHANG) == 0 && i < UNREAPED_MAX; i++)
        if (!unreaped[i]) {
            unreaped[i] = pid;
            return;
        }
}
