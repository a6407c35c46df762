#include "task/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/cleanup.h"

/* What the child tells through its status pipe when it cannot become the task. */
struct failure {
    int error_number;
    char what[256];
};

struct pipes {
    int out[2], err[2], status[2];
};

static void __attribute__((noreturn)) fail(int status_fd, const char *what, const char *name)
{
    struct failure f = {.error_number = errno};
    snprintf(f.what, sizeof(f.what), "%s%s%s", what, name ? " " : "", name ? name : "");
    ssize_t ignored = write(status_fd, &f, sizeof(f)); /* at most PIPE_BUF: all or nothing */
    (void)ignored;
    _exit(127);
}

/* Best effort: limits that can't be had are a warning of the agent, not a reason not to run. */
static void join_cgroups(char *const *procs_file)
{
    for (; *procs_file; procs_file++) {
        cleanup_close int fd = open(*procs_file, O_WRONLY | O_CLOEXEC);
        if (fd >= 0 && write(fd, "0", 1) < 0)
            fprintf(stderr, "WARNING: cannot join the cgroup %s: %s\n", *procs_file, strerror(errno));
    }
}

static void become_user(const struct taskspec *spec, int status_fd)
{
    if (spec->uid == TASKSPEC_KEEP_ID)
        return;
    if (setgroups(spec->group_n, spec->group) < 0 || setresgid(spec->gid, spec->gid, spec->gid) < 0)
        fail(status_fd, "cannot take the task's groups", NULL);
    if (setresuid(spec->uid, spec->uid, spec->uid) < 0)
        fail(status_fd, "cannot become the task's user", NULL);
}

static void reset_signals(void)
{
    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The links name this process, whose output stays what it is through every exec. Best effort. */
static void make_log_links(const char *dir)
{
    static const char *const name[] = {"stdout.log", "stderr.log"};
    char target[64], path[4096];
    for (int i = 0; *dir && i < 2; i++) {
        snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), i + 1);
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name[i]) < sizeof(path)) {
            unlink(path);
            if (symlink(target, path) < 0)
                fprintf(stderr, "WARNING: cannot make the link %s: %s\n", path, strerror(errno));
        }
    }
}

static void __attribute__((noreturn)) become_task(const struct taskspec *spec, const struct pipes *p)
{
    int status = p->status[1];
    int null = open("/dev/null", O_RDONLY);
    if (setsid() < 0 || null < 0 || dup2(null, 0) < 0 || dup2(p->out[1], 1) < 0 || dup2(p->err[1], 2) < 0)
        fail(status, "cannot set up the task's standard streams", NULL);
    /* Everything but the three streams ends with exec, whatever the agent or the supervisor had open. */
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        fail(status, "cannot close descriptors", NULL);
    join_cgroups(spec->cgroup_procs);
    become_user(spec, status);
    /* After the change of user, which clears it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail(status, "cannot set no_new_privs", NULL);
    umask(022);
    if (chdir(spec->cwd) < 0)
        fail(status, "cannot change to the working directory", spec->cwd);
    make_log_links(spec->log_links);
    reset_signals();
    environ = spec->env;
    execvp(spec->argv[0], spec->argv);
    fail(status, "cannot execute", spec->argv[0]);
}

static int make_pipes(struct pipes *p, struct error *err)
{
    *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(p->out, O_CLOEXEC) < 0 || pipe2(p->err, O_CLOEXEC) < 0 || pipe2(p->status, O_CLOEXEC) < 0)
        return error_errno(err, "cannot make a pipe");
    return 0;
}

static void close_pair(int fd[2])
{
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

static int set_nonblocking(int fd)
{
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Waits until the child has become the task (the pipe closes on exec) or has said why not. */
static int await_exec(struct child *c, int status_fd, int *ret_code, struct error *err)
{
    struct failure f = {0};
    ssize_t n;
    do
        n = read(status_fd, &f, sizeof(f));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return 0;
    waitpid(c->pid, NULL, 0);
    *ret_code = f.error_number == ENOENT ? 127 : 126;
    f.what[sizeof(f.what) - 1] = 0;
    return error_set(err, ERR_PRECONDITION, "%s: %s", f.what, strerror(f.error_number));
}

int child_start(const struct taskspec *spec, struct child *ret, int *ret_code, struct error *err)
{
    struct pipes p;
    struct child c = {.pid = -1};
    *ret_code = 126;
    int r = make_pipes(&p, err);
    if (r == 0) {
        c.pid = fork();
        if (c.pid == 0)
            become_task(spec, &p);
        r = c.pid < 0 ? error_errno(err, "cannot fork") : 0;
    }
    if (r == 0) {
        close(take_fd(p.status[1]));
        r = await_exec(&c, p.status[0], ret_code, err);
    }
    if (r == 0) {
        c.out = take_fd(p.out[0]);
        c.err = take_fd(p.err[0]);
        set_nonblocking(c.out);
        set_nonblocking(c.err);
        *ret = c;
    }
    close_pair(p.out);
    close_pair(p.err);
    close_pair(p.status);
    return r;
}
