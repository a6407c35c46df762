#include "agent/machine/powers.h"

#include <errno.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"

#define SOME_UID 65534
#define PROBE "probe"

static const struct {
    const char *name, *gives;
} rows[POWER_NR] = {
    [POWER_MEMORY_LIMIT] = {"memory_limit", "a task that takes more memory than it may is ended"},
    [POWER_CPU_LIMIT] = {"cpu_limit", "a task gets no more processor time than it has asked for"},
    [POWER_CPUSET] = {"cpuset", "a task of processor slots runs on their cores alone"},
    [POWER_PROCESS_LIMIT] = {"process_limit", "a task that starts more processes than it may is ended"},
    [POWER_USER] = {"own_user", "tasks of different users run as different users"},
    [POWER_NO_NEW_PRIVS] = {"no_new_privs", "no program gives a task more rights"},
    [POWER_MOUNT_NAMESPACE] = {"mount_namespace", "a task has its own /tmp, /dev/shm and /run/determined"},
    [POWER_PID_NAMESPACE] = {"pid_namespace", "no process of a task outlives it"},
};

/* ---- what a process may do, tried in a child that ends at once --------------------------------------------------- */

static int try_user(void)
{
    return setgroups(0, NULL) < 0 || setresgid(SOME_UID, SOME_UID, SOME_UID) < 0 ||
                   setresuid(SOME_UID, SOME_UID, SOME_UID) < 0
               ? errno
               : 0;
}

static int try_no_new_privs(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? errno : 0;
}

static int try_mounts(void)
{
    if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return errno;
    return geteuid() == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? errno : 0;
}

/* A task that has process ids of its own needs a /proc that shows them. */
static int try_processes(void)
{
    int fs = fsopen("proc", FSOPEN_CLOEXEC);
    if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 || fsmount(fs, FSMOUNT_CLOEXEC, 0) < 0)
        return errno;
    return 0;
}

/* Runs `attempt` in a child, which has process ids of its own if `flags` says so. Returns 0 or an errno. */
static int try_in_child(int (*attempt)(void), uint64_t flags)
{
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
    int status = 0;
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        _exit(attempt());
    if (pid < 0)
        return errno;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

/* ---- control groups ---------------------------------------------------------------------------------------------- */

static const char *try_limit(const struct powers_request *q, struct cgroup_limits l, struct arena *a)
{
    cleanup_error struct error err = ERROR_INIT;
    struct cgroup g;
    const char *name = arena_printf(a, PROBE "-%d", (int)getpid());
    int r = cgroup_make(q->cgroups, name, &l, a, &g, &err);
    cgroup_remove(q->cgroups, name);
    return r == 0 ? "" : arena_strdup(a, error_msg(&err));
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static const char *cause_of(int number, const char *what, struct arena *a)
{
    return number ? arena_printf(a, "%s: %s", what, strerror(number)) : "";
}

void powers_try(const struct powers_request *q, struct arena *a, struct power *ret)
{
    const char *cause[POWER_NR];
    const char *cpus = cgroup_cpus(q->cgroups, a);
    cause[POWER_MEMORY_LIMIT] = try_limit(q, (struct cgroup_limits){.memory_bytes = 1 << 30}, a);
    cause[POWER_CPU_LIMIT] = try_limit(q, (struct cgroup_limits){.cpus = 1}, a);
    cause[POWER_CPUSET] = *cpus ? try_limit(q, (struct cgroup_limits){.cpuset = cpus}, a)
                                : "cgroup: this machine has no controller cpuset that the agent can use";
    cause[POWER_PROCESS_LIMIT] = try_limit(q, (struct cgroup_limits){.pids = 1000}, a);
    cause[POWER_USER] = q->root ? cause_of(try_in_child(try_user, 0), "cannot become another user", a)
                                : "the agent is not root: every task runs as the agent's own user";
    cause[POWER_NO_NEW_PRIVS] = cause_of(try_in_child(try_no_new_privs, 0), "prctl", a);
    cause[POWER_MOUNT_NAMESPACE] = !q->mount_namespaces
                                       ? "mount_namespaces is false in the agent's configuration"
                                       : cause_of(try_in_child(try_mounts, 0), "cannot make a mount namespace", a);
    cause[POWER_PID_NAMESPACE] = !q->root                        ? "the agent is not root"
                                 : *cause[POWER_MOUNT_NAMESPACE] ? "it needs a mount namespace, for a /proc of its own"
                                 : !q->pid_namespaces
                                     ? "pid_namespaces is false in the agent's configuration"
                                     : cause_of(try_in_child(try_processes, CLONE_NEWPID | CLONE_NEWNS),
                                                "cannot make a process id namespace with a /proc of its own", a);
    for (enum power_name p = 0; p < POWER_NR; p++)
        ret[p] = (struct power){.name = rows[p].name, .gives = rows[p].gives, .had = !*cause[p], .cause = cause[p]};
}
