#include "agent/python/build_process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

#define LINE_MAX_BYTES 8000
#define READ_BYTES 16384
#define LOOK_MS 500
#define NICENESS 5 /* an environment is made beside tasks that train */

/* ---- the program ------------------------------------------------------------------------------------------------- */

/* Enters the control groups that limit the build. A program that cannot enter does not run: nothing would limit it. */
static void enter_cgroups(char *const *procs)
{
    for (; procs && *procs; procs++) {
        cleanup_close int fd = open(*procs, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) < 0) {
            dprintf(STDERR_FILENO, "cannot enter the control group %s: %s\n", *procs, strerror(errno));
            _exit(126);
        }
    }
}

static void become_builder(const struct build_process *p)
{
    gid_t gid = p->gid;
    if (p->change_user &&
        (setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(p->uid, p->uid, p->uid) < 0)) {
        dprintf(STDERR_FILENO, "cannot become uid %u: %s\n", (unsigned)p->uid, strerror(errno));
        _exit(126);
    }
    /* after the change of the user, which would clear it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void __attribute__((noreturn)) execute(const struct build_process *p, int out)
{
    struct rlimit no_core = {0, 0};
    int null = open("/dev/null", O_RDONLY);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    close_range(3, ~0U, 0);
    setrlimit(RLIMIT_CORE, &no_core);
    setpriority(PRIO_PROCESS, 0, NICENESS);
    umask(022);
    enter_cgroups(p->cgroup_procs);
    become_builder(p);
    if (chdir(p->dir) < 0)
        dprintf(STDERR_FILENO, "cannot enter %s: %s\n", p->dir, strerror(errno));
    else if (execve(p->argv[0], p->argv, p->env) < 0)
        dprintf(STDERR_FILENO, "cannot run %s: %s\n", p->argv[0], strerror(errno));
    _exit(127);
}

/* Forks, into a process id namespace of its own if the kernel permits that. This process has one thread. */
static pid_t fork_alone(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
    return pid < 0 ? fork() : pid;
}

static pid_t start(const struct build_process *p, int *ret_out, struct error *err)
{
    int out[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return error_errno(err, "cannot make a pipe");
    pid_t pid = fork_alone();
    if (pid == 0)
        execute(p, out[1]);
    close(out[1]);
    if (pid < 0) {
        close(out[0]);
        return error_errno(err, "cannot fork");
    }
    *ret_out = out[0];
    return pid;
}

/* Kills the program and everything that it has started. This process is their subreaper, so that even a daemon becomes
 * its child when its own parent ends. Returns the program's status. */
static int end_all(pid_t program)
{
    int status = 0, s;
    kill(-program, SIGKILL);
    kill(program, SIGKILL);
    for (pid_t pid; (pid = waitpid(-1, &s, 0)) > 0 || errno == EINTR;) {
        cleanup_strbuf struct strbuf children = STRBUF_INIT;
        if (pid == program)
            status = s;
        file_read("/proc/thread-self/children", 1024 * 1024, &children, NULL);
        for (char *at = (char *)strbuf_str(&children), *end; (pid = (pid_t)strtol(at, &end, 10)) > 0; at = end)
            kill(pid, SIGKILL);
    }
    return status;
}

/* ---- its lines --------------------------------------------------------------------------------------------------- */

struct lines {
    const struct build_process *process;
    struct strbuf pending;
};

static void tell_line(struct lines *l, size_t n)
{
    while (n > 0 && (l->pending.s[n - 1] == '\r' || l->pending.s[n - 1] == ' '))
        n--;
    if (n > 0)
        l->process->on_line(l->process->ctx, l->pending.s, n);
}

static void feed(struct lines *l, const char *data, size_t n)
{
    strbuf_add(&l->pending, data, n);
    for (;;) {
        const char *end = memchr(l->pending.s, '\n', l->pending.n);
        size_t line = end ? (size_t)(end - l->pending.s) : l->pending.n >= LINE_MAX_BYTES ? LINE_MAX_BYTES : SIZE_MAX;
        if (line == SIZE_MAX)
            return;
        tell_line(l, line);
        strbuf_consume(&l->pending, line + (end != NULL));
    }
}

/* Reads until the output ends. A daemon may hold it open; so the end of the program ends the reading as well. */
static int read_all(struct lines *l, pid_t program, int out, struct error *err)
{
    int64_t until = l->process->timeout_s ? clock_monotonic_us() + l->process->timeout_s * INT64_C(1000000) : INT64_MAX;
    char buffer[READ_BYTES];
    for (;;) {
        struct pollfd p[2] = {{.fd = out, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
        int n = poll(p, 2, LOOK_MS);
        if (n > 0 && p[1].revents)
            return error_set(err, ERR_CANCELED, "the build was cancelled");
        if (clock_monotonic_us() > until)
            return error_set(err, ERR_DEADLINE, "%s did not end within %d s", l->process->argv[0],
                             l->process->timeout_s);
        if (n > 0 && p[0].revents) {
            ssize_t got = read(out, buffer, sizeof(buffer));
            if (got == 0 || (got < 0 && errno != EINTR))
                return 0;
            if (got > 0)
                feed(l, buffer, (size_t)got);
            continue;
        }
        siginfo_t gone = {0};
        if (n == 0 && waitid(P_PID, (id_t)program, &gone, WEXITED | WNOHANG | WNOWAIT) == 0 && gone.si_pid == program)
            return 0;
    }
}

int build_process_run(const struct build_process *p, int *ret_status, struct error *err)
{
    cleanup_close int out = -1;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid_t pid = start(p, &out, err);
    if (pid < 0)
        return -1;
    struct lines l = {.process = p};
    int r = read_all(&l, pid, out, err);
    if (r == 0) { /* the output has ended, and the program ends by itself */
        siginfo_t gone;
        while (waitid(P_PID, (id_t)pid, &gone, WEXITED | WNOWAIT) < 0 && errno == EINTR)
            ;
    }
    if (r == 0 && l.pending.n)
        tell_line(&l, l.pending.n);
    strbuf_release(&l.pending);
    int status = end_all(pid);
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return r;
}
