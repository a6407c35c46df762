#include "task/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "task/child.h"
#include "task/container.h"
#include "task/find_python.h"
#include "task/image_environment.h"

enum { NOT_STARTED = 1 };

/* Moves the socket away from standard input, which nothing in the container shall have. */
static int take_socket(void)
{
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    cleanup_close_p(&null);
    return fd;
}

/* The command passes signals on. Those that are for the task come to the entrypoint itself, from the supervisor. */
static void ignore_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
}

static void tell_starting(void *ctx)
{
    inside_say(*(int *)ctx, INSIDE_STARTING, 0, "");
}

/* Returns the status of the entrypoint as a shell would tell it. */
static int await_end(int fd, pid_t entrypoint)
{
    int code = NOT_STARTED, status;
    for (;;) {
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno != EINTR)
            return code;
        if (pid != entrypoint)
            continue;
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        inside_say(fd, INSIDE_ENDED, status, "");
    }
}

static int run_task(int fd, struct taskspec *spec)
{
    cleanup_error struct error err = ERROR_INIT;
    int code = 126;
    pid_t pid = -1;
    if (container_check(spec, &err) == 0)
        pid = child_start_inside(spec, tell_starting, &fd, &code, &err);
    if (pid < 0) {
        inside_say(fd, INSIDE_REFUSED, code, error_msg(&err));
        return NOT_STARTED;
    }
    inside_say(fd, INSIDE_STARTED, 0, "");
    return await_end(fd, pid);
}

int inside_run(void)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct taskspec spec;
    struct missing_module missing = {0};
    enum inside_want want;
    /* other processes of the task's user must not get at the socket */
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    ignore_signals();
    cleanup_close int fd = take_socket();
    if (inside_take_order(fd, &a, &want, &missing, &spec, &err) < 0) {
        fprintf(stderr, "determined-task: %s\n", error_msg(&err));
        return NOT_STARTED;
    }
    if (want == INSIDE_NOTHING)
        return 0;
    /* The command has made it the task's user already. What was limited outside stays limited. */
    spec.change_user = false;
    spec.env = image_environment(environ, spec.env, &a);
    if (want == INSIDE_EXPLAIN)
        find_python_and_explain_missing(&spec, &missing, STDERR_FILENO);
    return run_task(fd, &spec);
}
