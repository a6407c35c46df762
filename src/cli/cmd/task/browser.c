#include "cli/cmd/task/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Starts the program in a session of its own, so that Ctrl-C and the end of det do not end it. */
static bool start_program(char **argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    int failed = posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed == 0;
}

/* Puts the address in the place of %s. */
static char *fill_in(struct arena *a, const char *word, const char *url)
{
    const char *mark = strstr(word, "%s");
    return mark ? arena_printf(a, "%.*s%s%s", (int)(mark - word), word, url, mark + 2) : arena_strdup(a, word);
}

/* Starts a program that is named with its arguments, separated by blanks. */
static bool start_named(struct arena *a, const char *text, size_t n, const char *url)
{
    char **argv = arena_array(a, char *, n + 2);
    char *rest = arena_strndup(a, text, n), *word;
    bool filled = false;
    size_t argc = 0;
    while ((word = strsep(&rest, " "))) {
        filled = filled || strstr(word, "%s");
        if (*word)
            argv[argc++] = fill_in(a, word, url);
    }
    if (argc == 0)
        return false;
    if (!filled)
        argv[argc] = arena_strdup(a, url);
    return start_program(argv);
}

static bool is_set(const char *name)
{
    const char *v = getenv(name);
    return v && *v;
}

bool browser_open(struct cli *cli, const char *url)
{
    /* A desktop's program, and the variable that is set where the desktop is. */
    static const char *const desktop[][2] = {{"WAYLAND_DISPLAY", "xdg-open"},
                                             {"DISPLAY", "xdg-open"},
                                             {"WSL_DISTRO_NAME", "wslview"}};
    const char *named = getenv("BROWSER");
    for (size_t n; named && *named; named += n + (named[n] == ':')) {
        n = strcspn(named, ":");
        if (start_named(&cli->arena, named, n, url))
            return true;
    }
    if (is_set("BROWSER"))
        return false;
    for (size_t i = 0; i < sizeof(desktop) / sizeof(desktop[0]); i++)
        if (is_set(desktop[i][0]) && start_named(&cli->arena, desktop[i][1], strlen(desktop[i][1]), url))
            return true;
    return false;
}
