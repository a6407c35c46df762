#include "task/child.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "task/mounts.h"
#include "task/pid_namespace.h"

#define OOM_SCORE "300"
#define TMP_PATH_MAX 75

/* What the child writes to its status pipe when it cannot become the task. */
struct failure {
    int error_number;
    bool by_mounts; /* the mounts failed; the start may succeed without them */
    bool by_task;   /* the reason is what was submitted, not this machine */
    char what[256];
};

/* What this machine refuses, although the task may start without it. */
enum lack { LACKS_NOTHING, LACKS_MOUNTS, LACKS_PROCESSES };

struct pipes {
    int out[2], err[2], status[2];
};

static void __attribute__((noreturn)) tell_failure(int status_fd, bool by_task, const char *what, const char *name)
{
    struct failure f = {.error_number = errno, .by_task = by_task};
    snprintf(f.what, sizeof(f.what), "%s%s%s", what, name ? " " : "", name ? name : "");
    /* at most PIPE_BUF bytes, so it is written whole or not at all */
    ssize_t ignored = write(status_fd, &f, sizeof(f));
    (void)ignored;
    _exit(127);
}

static void __attribute__((noreturn)) fail(int status_fd, const char *what, const char *name)
{
    tell_failure(status_fd, false, what, name);
}

/* Fails at a directory or program that the task names. It counts as a mistake of the task unless the machine has run
 * out of something. */
static void __attribute__((noreturn)) fail_at_given(int status_fd, const char *what, const char *name)
{
    bool by_machine = errno == ENOMEM || errno == EAGAIN || errno == EIO || errno == ENFILE || errno == EMFILE ||
                      errno == ESTALE;
    tell_failure(status_fd, !by_machine, what, name);
}

/* Joins the cgroups that are left to join. A cgroup that cannot be joined is a warning in the task's log, not a
 * reason not to run.
 *
 * Moving a process makes the kernel wait for all processors, which takes some 10 ms. Two ways avoid that: in v1 a
 * thread moves itself through a file `tasks`, and that is the file which the agent names; in v2 a process can be
 * started in its group (fork_in_cgroup()). */
static void join_cgroups(char *const *procs_file)
{
    for (; *procs_file; procs_file++) {
        cleanup_close int fd = open(*procs_file, O_WRONLY | O_CLOEXEC);
        if (fd >= 0 && write(fd, "0", 1) < 0)
            fprintf(stderr, "WARNING: cannot join the cgroup %s: %s\n", *procs_file, strerror(errno));
    }
}

/* Opens the directory of the task's cgroup if there is exactly one and it belongs to v2. Returns -1 otherwise. */
static int open_birthplace(char *const *procs_file)
{
    static const char name[] = "/cgroup.procs";
    size_t n = *procs_file ? strlen(*procs_file) : 0, name_n = sizeof(name) - 1;
    if (n <= name_n || procs_file[1] || strcmp(*procs_file + n - name_n, name) != 0)
        return -1;
    cleanup_free char *dir = must_strndup(*procs_file, n - name_n);
    return dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* Forks, in the task's cgroup if that is possible. *ret_joined: the child is in its cgroup, and has none left to
 * join. */
static pid_t fork_in_cgroup(char *const *procs_file, bool *ret_joined)
{
    cleanup_close int fd = open_birthplace(procs_file);
    struct clone_args a = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)fd};
    long pid = fd >= 0 ? syscall(SYS_clone3, &a, sizeof(a)) : -1;
    *ret_joined = pid >= 0;
    return pid >= 0 ? (pid_t)pid : fork();
}

static void become_user(const struct taskspec *spec, int status_fd)
{
    if (!spec->change_user)
        return;
    if (setgroups(spec->group_n, spec->group) < 0 || setresgid(spec->gid, spec->gid, spec->gid) < 0)
        fail(status_fd, "cannot take the task's groups", NULL);
    if (setresuid(spec->uid, spec->uid, spec->uid) < 0)
        fail(status_fd, "cannot become the task's user", NULL);
}

/* Takes capabilities out of the bounding set, so that no program of the task gets them back. That needs CAP_SETPCAP, so
 * it is done before the change of user. A supervisor without CAP_SETPCAP need not do it, because no_new_privs lets no
 * program have more than the task has. */
static void drop_from_bounding_set(const struct taskspec *spec)
{
    for (unsigned cap = 0; cap < 64; cap++)
        if (spec->drop_capabilities >> cap & 1)
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

/* Drops capabilities that the task itself has. A task of root has all of them; any other task has none, unless its
 * agent was given some. */
static void drop_capabilities(const struct taskspec *spec, int status_fd)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];
    if (!spec->drop_capabilities)
        return;
    if (syscall(SYS_capget, &head, set) < 0)
        fail(status_fd, "cannot read the task's capabilities", NULL);
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        uint32_t keep = ~(uint32_t)(spec->drop_capabilities >> 32 * i);
        set[i].effective &= keep;
        set[i].permitted &= keep;
        set[i].inheritable &= keep; /* the ambient set is never larger than this one */
    }
    if (syscall(SYS_capset, &head, set) < 0)
        fail(status_fd, "cannot drop the task's capabilities", NULL);
}

/* Limits the processes where the task has no control group for them. The kernel then counts all processes of the task's
 * uid on this machine together. */
static void limit_processes(const struct taskspec *spec)
{
    rlim_t most = (rlim_t)spec->limit.processes;
    struct rlimit now;
    if (most == 0 || *spec->pids_file || taskspec_is_in_container(spec) /* the engine limits these */ ||
        getrlimit(RLIMIT_NPROC, &now) < 0)
        return;
    if (now.rlim_max == RLIM_INFINITY || now.rlim_max > most)
        setrlimit(RLIMIT_NPROC, &(struct rlimit){.rlim_cur = most, .rlim_max = most});
}

/* Makes the kernel kill the task before the agent, supervisors and other programs when the machine runs out of
 * memory. */
static void prefer_for_oom_kill(void)
{
    cleanup_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t ignored = fd >= 0 ? write(fd, OOM_SCORE, strlen(OOM_SCORE)) : 0;
    (void)ignored;
}

static void reset_signals(void)
{
    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Makes stdout.log and stderr.log links to the output of this process, which keeps it through every exec. Failures are
 * only warnings. */
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

/* For a task whose /tmp is the machine's: names its own directory for temporary files in TMPDIR. The path must be
 * short, because Python's multiprocessing makes sockets there, whose paths have at most 107 bytes. */
static void name_tmp(const struct taskspec *spec)
{
    if (!*spec->tmp || *taskspec_env(spec, "TMPDIR"))
        return;
    if (strlen(spec->tmp) > TMP_PATH_MAX)
        fprintf(stderr,
                "WARNING: this task has no /tmp of its own, and its own directory's path is too long for TMPDIR: %s\n",
                spec->tmp);
    else
        setenv("TMPDIR", spec->tmp, 0);
}

/* Warns of packages that `pip install --user` has put into the account's home: the task does not see them, because its
 * PYTHONUSERBASE is another directory. */
static void tell_of_hidden_packages(void)
{
    const char *home = getenv("HOME"), *base = getenv("PYTHONUSERBASE");
    char local[4000], pattern[4096];
    glob_t found = {0};
    if (!home || !base || snprintf(local, sizeof(local), "%s/.local", home) >= (int)sizeof(local) ||
        strcmp(local, base) == 0)
        return;
    snprintf(pattern, sizeof(pattern), "%s/lib/python3*/site-packages", local);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        fprintf(
            stderr,
            "WARNING: the Python packages in %s are hidden from this task, whose PYTHONUSERBASE is %s; if it needs them, add "
            "PYTHONUSERBASE=%s to environment.environment_variables\n",
            found.gl_pathv[0], base, local);
    globfree(&found);
}

static const char *without_mounts(const struct taskspec *spec)
{
    if (taskspec_has_command(spec))
        return "the command that makes its container runs without them";
    return spec->mount_n ? "only /run/determined is mounted"
                         : "without /run/determined only the library of this platform works";
}

/* Enters the mounts. If some are missing, the task's log says so, because programs look for the task's files at
 * /run/determined (docs/spec/task-environment.md#files). Returns whether /tmp is the task's own. */
static bool enter_mounts(const struct taskspec *spec, const char *refusal, int status_fd)
{
    bool own_tmp = false;
    cleanup_error struct error err = ERROR_INIT;
    if (refusal)
        fprintf(stderr, "WARNING: this machine refuses what the task's mounts need (%s); %s\n", refusal,
                without_mounts(spec));
    if (!spec->mount_n || mounts_enter(spec, &own_tmp, &err) == 0)
        return own_tmp;
    struct failure f = {.by_mounts = true};
    snprintf(f.what, sizeof(f.what), "%s", error_msg(&err));
    ssize_t ignored = write(status_fd, &f, sizeof(f));
    (void)ignored;
    _exit(127);
}

/* What a child is to become, and with which streams. */
struct plan {
    const struct taskspec *spec;
    char *const *command; /* the words of the command that makes the container; NULL: it becomes the entrypoint */
    int in;               /* the standard input; -1: nothing */
    const char *refusal;  /* why there are fewer mounts than the order names, or NULL */
};

/* All descriptors but the three streams are closed by exec, whatever the agent or the supervisor had open. */
static void set_up_streams(int in, int out, int err, int status)
{
    int null = in < 0 ? open("/dev/null", O_RDONLY) : in;
    if (setsid() < 0 || null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        fail(status, "cannot set up the task's standard streams", NULL);
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        fail(status, "cannot close descriptors", NULL);
}

/* Called after the change of user, which would clear PR_SET_PDEATHSIG, and before exec of what must not gain rights. */
static void bind_to_supervisor(bool may_gain, int status)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!may_gain && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail(status, "cannot set no_new_privs", NULL);
}

static void __attribute__((noreturn)) execute_entrypoint(const struct taskspec *spec, bool own_tmp, int status)
{
    drop_capabilities(spec, status);
    umask(022);
    if (chdir(spec->cwd) < 0)
        fail_at_given(status, "cannot change to the working directory", spec->cwd);
    make_log_links(spec->log_links);
    reset_signals();
    environ = spec->env;
    if (!own_tmp)
        name_tmp(spec);
    tell_of_hidden_packages();
    execvp(spec->argv[0], spec->argv);
    if (*spec->image && errno == ENOEXEC)
        fail_at_given(status, "the image is built for another kind of processor than this machine has: cannot execute",
                      spec->argv[0]);
    fail_at_given(status, *spec->image ? "cannot execute, in the container," : "cannot execute", spec->argv[0]);
}

/* The capabilities that the order drops are dropped within the container: the command itself may need them. */
static void __attribute__((noreturn)) execute_command(const struct taskspec *spec, char *const *command, int status)
{
    umask(022);
    if (chdir("/") < 0)
        fail(status, "cannot change to", "/");
    reset_signals();
    execve(command[0], command, spec->command_env);
    fail(status, "cannot execute", command[0]);
}

/* Turns the child into the task, or into the command that makes its container. joined: it is in its cgroups already. */
static void __attribute__((noreturn)) become_task(const struct plan *plan, bool joined, const struct pipes *p)
{
    const struct taskspec *spec = plan->spec;
    int status = p->status[1];
    set_up_streams(plan->in, p->out[1], p->err[1], status);
    if (!spec->change_user)
        /* otherwise its own user could not make a user namespace; the supervisor itself is not dumpable */
        prctl(PR_SET_DUMPABLE, 1);
    if (!joined)
        join_cgroups(spec->cgroup_procs);
    if (!plan->command)
        prefer_for_oom_kill();
    limit_processes(spec);
    bool own_tmp = enter_mounts(spec, plan->refusal, status);
    if (!plan->command)
        drop_from_bounding_set(spec);
    become_user(spec, status);
    bind_to_supervisor(plan->command && spec->command_may_gain, status);
    if (plan->command)
        execute_command(spec, plan->command, status);
    execute_entrypoint(spec, own_tmp, status);
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

/* Waits until the child has become the task, which closes the pipe by exec, or has written why it could not. */
static int await_exec(pid_t pid, int status_fd, int *ret_code, enum lack *ret_lack, struct error *err)
{
    struct failure f = {0};
    ssize_t n;
    do
        n = read(status_fd, &f, sizeof(f));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return 0;
    waitpid(pid, NULL, 0);
    *ret_code = !f.by_task ? 0 : f.error_number == ENOENT ? 127 : 126;
    f.what[sizeof(f.what) - 1] = 0;
    *ret_lack = f.by_mounts ? LACKS_MOUNTS : LACKS_NOTHING;
    if (f.by_mounts)
        return error_set(err, ERR_PRECONDITION, "%s", f.what);
    return error_set(err, f.by_task ? ERR_INVALID : ERR_PRECONDITION, "%s: %s", f.what, strerror(f.error_number));
}

static int try_start(const struct plan *plan, struct child *ret, int *ret_code, enum lack *ret_lack, struct error *err)
{
    const struct taskspec *spec = plan->spec;
    struct pipes p;
    struct child c = {.pid = -1};
    struct pid_namespace own = PID_NAMESPACE_NONE;
    *ret_code = 0;
    *ret_lack = LACKS_NOTHING;
    int r = make_pipes(&p, err);
    /* without mounts, the task's /proc would show the machine's process ids */
    if (r == 0 && spec->own_processes && spec->mount_n && pid_namespace_enter(&own, err) < 0) {
        *ret_lack = LACKS_PROCESSES;
        r = -1;
    }
    if (r == 0) {
        bool joined;
        c.pid = fork_in_cgroup(spec->cgroup_procs, &joined);
        if (c.pid == 0)
            become_task(plan, joined, &p);
        r = c.pid < 0 ? error_errno(err, "cannot fork") : 0;
        pid_namespace_leave(&own);
    }
    if (r == 0) {
        close(take_fd(p.status[1]));
        r = await_exec(c.pid, p.status[0], ret_code, ret_lack, err);
    }
    if (r == 0) {
        c.first = own.first;
        c.out = take_fd(p.out[0]);
        c.err = take_fd(p.err[0]);
        set_nonblocking(c.out);
        set_nonblocking(c.err);
        *ret = c;
    } else {
        pid_namespace_end(&own);
    }
    close_pair(p.out);
    close_pair(p.err);
    close_pair(p.status);
    return r;
}

static int refuse_unisolated(const char *why, struct error *err)
{
    return error_set(err, ERR_PRECONDITION,
                     "this machine cannot keep the task apart from those of others, as the cluster requires "
                     "(security.task_isolation): %s",
                     why);
}

/* Tries to start with all mounts and with process ids of its own; then with the machine's process ids, which its /proc
 * shows, too; then with its own directory as the only mount; then without mounts. A task that is to be isolated starts
 * with all mounts or not at all. */
static int start(const struct taskspec *spec, char *const *command, int in, struct child *ret, int *ret_code,
                 struct error *err)
{
    struct taskspec less = *spec;
    struct plan plan = {.spec = &less, .command = command, .in = in};
    enum lack lack;
    *ret_code = 0;
    if (spec->isolated && !spec->mount_n)
        return refuse_unisolated("mount_namespaces is false in the agent's configuration", err);
    int r = try_start(&plan, ret, ret_code, &lack, err);
    if (r < 0 && lack != LACKS_NOTHING && less.own_processes) {
        error_release(err);
        less.own_processes = false;
        r = try_start(&plan, ret, ret_code, &lack, err);
    }
    while (r < 0 && lack == LACKS_MOUNTS) {
        cleanup_error struct error refusal = ERROR_INIT;
        error_move(&refusal, err);
        if (spec->isolated)
            return refuse_unisolated(error_msg(&refusal), err);
        less.mount_n = less.mount_n > 1 ? 1 : 0;
        plan.refusal = error_msg(&refusal);
        r = try_start(&plan, ret, ret_code, &lack, err);
    }
    return r;
}

int child_start(const struct taskspec *spec, struct child *ret, int *ret_code, struct error *err)
{
    return start(spec, NULL, -1, ret, ret_code, err);
}

int child_start_command(const struct taskspec *spec, char *const *command, int in, struct child *ret, struct error *err)
{
    int ignored;
    return start(spec, command, in, ret, &ignored, err);
}

pid_t child_start_inside(const struct taskspec *spec, void (*about_to)(void *ctx), void *ctx, int *ret_code,
                         struct error *err)
{
    int status[2];
    enum lack lack;
    if (pipe2(status, O_CLOEXEC) < 0)
        return error_errno(err, "cannot make a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        about_to(ctx);
        set_up_streams(-1, STDOUT_FILENO, STDERR_FILENO, status[1]);
        prctl(PR_SET_DUMPABLE, 1);
        prefer_for_oom_kill();
        drop_from_bounding_set(spec);
        bind_to_supervisor(/* may_gain= */ false, status[1]);
        execute_entrypoint(spec, /* own_tmp= */ true, status[1]);
    }
    close(status[1]);
    cleanup_close int in = status[0];
    if (pid < 0)
        return error_errno(err, "cannot fork");
    return await_exec(pid, in, ret_code, &lack, err) < 0 ? -1 : pid;
}
