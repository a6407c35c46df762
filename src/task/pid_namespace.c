#include "task/pid_namespace.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"

/* The first process of a namespace. It closes everything that it has inherited: others wait for the ends of these pipes
 * and locks. The kernel takes its children away as soon as they end. No process of the namespace can end it by a
 * signal. */
static void __attribute__((noreturn)) be_first(int supervisor)
{
    struct pollfd ended = {.fd = supervisor, .events = POLLIN};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (poll(&ended, 1, 0) > 0) /* the supervisor had ended before the kernel knew what to do then */
        _exit(1);
    signal(SIGCHLD, SIG_IGN);
    close_range(0, ~0U, 0);
    for (;;)
        pause();
}

static int open_namespace_of(pid_t pid, struct error *err)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? error_errno(err, "cannot open %s", path) : fd;
}

int pid_namespace_enter(struct pid_namespace *ret, struct error *err)
{
    struct pid_namespace n = PID_NAMESPACE_NONE;
    struct clone_args a = {.flags = CLONE_NEWPID, .exit_signal = SIGCHLD};
    cleanup_close int outside = open_namespace_of(getpid(), err);
    cleanup_close int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (outside < 0)
        return -1;
    n.first = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
    if (n.first < 0)
        return error_errno(err, "cannot make a process id namespace");
    if (n.first == 0)
        be_first(self);
    cleanup_close int inside = open_namespace_of(n.first, err);
    if (inside < 0 || setns(inside, CLONE_NEWPID) < 0) {
        if (inside >= 0)
            error_errno(err, "cannot enter a process id namespace");
        pid_namespace_end(&n);
        return -1;
    }
    n.outside = take_fd(outside);
    *ret = n;
    return 0;
}

void pid_namespace_leave(struct pid_namespace *n)
{
    if (n->outside < 0)
        return;
    setns(n->outside, CLONE_NEWPID);
    cleanup_close_p(&n->outside);
    n->outside = -1;
}

void pid_namespace_end(struct pid_namespace *n)
{
    pid_namespace_leave(n);
    if (n->first <= 0)
        return;
    kill(n->first, SIGKILL);
    waitpid(n->first, NULL, 0);
    n->first = 0;
}
