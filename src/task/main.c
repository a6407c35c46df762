/* determined-task: the supervisor of one task. See supervisor.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/task/taskspec.h"
#include "task/container.h"
#include "task/find_python.h"
#include "task/inside.h"
#include "task/supervisor.h"

#define EXIT_USAGE 2
/* The byte that the supervisor process writes to the process that started it, once it listens on its socket. */
#define READY 'R'
#define NOT_EXECUTED 'N'

static int print_usage(FILE *to)
{
    fprintf(
        to,
        "usage: determined-task [--adopt|--container|--look-for-python] DIRECTORY\n"
        "       determined-task --inside\n"
        "       determined-task --version\n\n"
        "Runs the task whose order lies in DIRECTORY and speaks to the agent over the socket there.\n"
        "Returns 0 once the task runs, or 3 if it could not be executed; the supervisor itself goes on in the background until the\n"
        "agent has acknowledged the task's exit.\n\n"
        "  --adopt            start nothing: serve what an earlier supervisor of DIRECTORY has left\n"
        "  --container        be the first process of a container: stay in the foreground, and tell the agent through the\n"
        "                     named pipe `ready` in DIRECTORY; the exit status is the task's\n"
        "  --look-for-python  start nothing: look, as the task's user, which Python the order in DIRECTORY\n"
        "                     would run with, and tell the agent on standard output\n"
        "  --inside           be the first process of a container whose supervisor is outside of it, and start the\n"
        "                     entrypoint; the order comes over the socket that is the standard input\n");
    return to == stdout ? 0 : EXIT_USAGE;
}

/* Closes what the agent had open: the agent's end must not disturb this process, nor this process's end the agent. */
static int detach_from_agent(const char *dir, struct error *err)
{
    cleanup_free char *path = path_join(dir, "supervisor.log");
    cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    cleanup_close int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (null < 0 || log < 0 || chdir("/") < 0)
        return error_errno(err, "cannot detach from the agent");
    if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(log, 2) < 0)
        return error_errno(err, "cannot detach from the agent");
    return 0;
}

static int run_supervisor(const char *dir, bool adopt, int ready_fd)
{
    struct supervisor *s = NULL;
    cleanup_error struct error err = ERROR_INIT;
    setsid();
    /* Only root can read this process's memory, environment and descriptors, even if other processes run as the same
     * user. */
    prctl(PR_SET_DUMPABLE, 0);
    int r = supervisor_new(dir, adopt, &s, &err);
    if (r == 0)
        r = detach_from_agent(dir, &err);
    if (r == 0) {
        supervisor_await_start(s);
        char word = supervisor_has_task(s) ? READY : NOT_EXECUTED;
        ssize_t ignored = write(ready_fd, &word, 1); /* if nobody reads it, nothing is lost */
        (void)ignored;
        close(ready_fd);
        r = supervisor_run(s, &err);
    }
    if (r < 0)
        fprintf(stderr, "determined-task: %s\n", error_msg(&err));
    supervisor_free(s);
    return r < 0 ? 1 : 0;
}

/* The whole life of a supervisor that is the first process of a container. */
static int run_in_container(const char *dir)
{
    struct supervisor *s = NULL;
    cleanup_error struct error err = ERROR_INIT;
    setsid();
    prctl(PR_SET_DUMPABLE, 0);
    int r = supervisor_new(dir, /* adopt= */ false, &s, &err);
    if (r < 0) {
        fprintf(stderr, "determined-task: %s\n", error_msg(&err));
        container_tell(dir, TASKSPEC_TOLD_FAILED, error_msg(&err));
        return 1;
    }
    container_tell(dir, supervisor_has_task(s) ? TASKSPEC_TOLD_READY : TASKSPEC_TOLD_NOT_EXECUTED, "");
    r = detach_from_agent(dir, &err);
    if (r == 0)
        r = supervisor_run(s, &err);
    if (r < 0)
        fprintf(stderr, "determined-task: %s\n", error_msg(&err));
    int code = r < 0 ? 1 : supervisor_exit_code(s);
    supervisor_free(s);
    return code;
}

/* Waits for that byte. Returns the exit status of this program: 0 once the task runs. */
static int await_ready(pid_t pid, int ready_fd)
{
    char c;
    ssize_t n;
    do
        n = read(ready_fd, &c, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1)
        return c == READY ? 0 : TASKSPEC_NOT_EXECUTED;
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1;
}

static int answer_find_python(const char *dir)
{
    cleanup_error struct error err = ERROR_INIT;
    if (find_python(dir, &err) == 0)
        return 0;
    fprintf(stderr, "determined-task: %s\n", error_msg(&err));
    return 1;
}

int main(int argc, char **argv)
{
    bool looks = argc == 3 && strcmp(argv[1], "--look-for-python") == 0;
    bool in_container = argc == 3 && strcmp(argv[1], "--container") == 0;
    bool adopt = argc == 3 && strcmp(argv[1], "--adopt") == 0;
    bool inside = argc == 2 && strcmp(argv[1], "--inside") == 0;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("determined-task " DET_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return print_usage(stdout);
    if ((argc != 2 && !adopt && !looks && !in_container) || (argv[argc - 1][0] == '-' && !inside))
        return print_usage(stderr);
    log_init("determined-task", LOG_INFO, 0);
    /* The supervisor outlives the agent: a socket of the agent that stayed open here would look alive to the master. */
    close_range(3, ~0U, 0);
    if (inside)
        return inside_run();
    if (looks)
        return answer_find_python(argv[2]);
    if (in_container)
        return run_in_container(argv[2]);
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) < 0) {
        perror("determined-task: pipe");
        return 1;
    }
    pid_t pid = fork();
    if (pid < 0) {
        perror("determined-task: fork");
        return 1;
    }
    if (pid == 0) {
        close(ready[0]);
        return run_supervisor(argv[argc - 1], adopt, ready[1]);
    }
    close(ready[1]);
    return await_ready(pid, ready[0]);
}
