#include "common/base/must.h"
#include "task/supervisor_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "task/child.h"
#include "task/container.h"
#include "task/find_python.h"
#include "task/proctree.h"

#define SPEC_MAX (16 * 1024 * 1024)
#define DRAIN_US 1000000 /* how long processes that outlive the entrypoint may go on */
/* how long the process may take that finds out which Python this was; it gives up sooner by itself */
#define EXPLAIN_US 6000000
#define KILL_FIRST_US 10000 /* SIGKILL is sent again and again, because processes may fork meanwhile … */
#define KILL_LAST_US 500000 /* … but less and less often, because a process may hang in the kernel */
#define KILL_ROUNDS 200
#define RETRY_US 1000000 /* until a write to a full disk is tried again */
#define READ_BYTES 65536

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static int load_spec(struct supervisor *s, struct error *err)
{
    cleanup_free char *path = path_join(s->path, "spec");
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(path, SPEC_MAX, &text, err) < 0)
        return -1;
    return taskspec_decode(text.s, text.n, &s->arena, &s->spec, err);
}

static int open_directory(struct supervisor *s, struct error *err)
{
    s->dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir < 0)
        return error_errno(err, "cannot open the task's directory %s", s->path);
    if (flock(s->dir, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, ERR_CONFLICT, "%s has a supervisor already", s->path);
    return 0;
}

static int open_spool(struct supervisor *s, struct error *err)
{
    if (mkdirat(s->dir, "spool", 0700) < 0 && errno != EEXIST)
        return error_errno(err, "cannot make the spool's directory");
    int fd = openat(s->dir, "spool", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "cannot open the spool's directory");
    return spool_open(fd, s->spec.spool_max, &s->spool, err);
}

static int open_signals(struct supervisor *s, struct error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signal_fd < 0 ? error_errno(err, "cannot make a signal descriptor") : 0;
}

static void on_line(void *ctx, const struct task_line *line)
{
    struct supervisor *s = ctx;
    if (supervisor_take_cause(s, line))
        return;
    if (!s->unsent_bytes)
        s->unsent_since_us = clock_monotonic_us();
    s->unsent_bytes += line->text_n + 32;
    if (line->stdtype == TASK_STDERR)
        missing_module_scan(&s->missing, line->text, line->text_n);
    spool_append(s->spool, line);
}

void supervisor_set_exit(struct supervisor *s, enum task_exit_kind kind, int code, int signo, const char *text)
{
    s->exit = (struct task_exit){
        .kind = kind, .code = code, .signal = signo, .time_us = clock_now_us(), .text = arena_strdup(&s->arena, text)};
}

/* Writes the exit report so that it survives a crash of the machine. If the disk has no room for it, the report lives
 * as long as this process. */
static void record_exit(struct supervisor *s)
{
    cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
    cleanup_free char *path = path_join(s->path, "exit");
    cleanup_error struct error err = ERROR_INIT;
    task_exit_encode(&s->exit, &bytes);
    if (file_write(path, bytes.s, bytes.n, 0600, &err) < 0)
        log_warning("task.exit_not_recorded", "error=%s", log_quote(error_msg(&err)));
    s->phase = EXITED;
    log_info("task.exit", "kind=%d code=%d signal=%d lines=%" PRIu64, (int)s->exit.kind, s->exit.code, s->exit.signal,
             spool_last(s->spool));
}

/* Locks the files of the order. The descriptors stay open until this process ends, and no other process gets them. The
 * agent holds the same locks until the task has started, so nothing is missing here unless somebody removes files by
 * hand. */
static int hold_locks(const struct taskspec *spec, struct error *err)
{
    for (char **file = spec->lock; file && *file; file++) {
        int fd = open(*file, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
            return error_errno(err, "cannot lock %s, which the task's Python environment needs", *file);
    }
    return 0;
}

void supervisor_take_child(struct supervisor *s, const struct child *c)
{
    s->first = c->first;
    s->output[0].fd = c->out;
    s->output[1].fd = c->err;
    s->has_children = true;
}

static void start_task(struct supervisor *s)
{
    struct child c;
    int code = 0;
    cleanup_error struct error err = ERROR_INIT;
    bool has_command = taskspec_has_command(&s->spec);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (hold_locks(&s->spec, &err) < 0 ||
        (taskspec_is_in_container(&s->spec) && container_prepare(&s->spec, &err) < 0) ||
        (has_command ? supervisor_start_container(s, &err) : child_start(&s->spec, &c, &code, &err)) < 0) {
        cleanup_strbuf struct strbuf text = STRBUF_INIT;
        strbuf_addf(&text, "ERROR: %s\n", error_msg(&err));
        line_framer_feed(&s->output[1].framer, text.s, text.n, clock_now_us());
        supervisor_set_exit(s, err.kind == ERR_INVALID ? TASK_EXIT_REFUSED : TASK_EXIT_START_FAILED, code, 0,
                            error_msg(&err));
        spool_flush(s->spool, NULL); /* if this fails, the next turn of the loop tries again */
        record_exit(s);
        return;
    }
    limits_open(&s->limits, &s->spec, s->dir, clock_monotonic_us());
    if (!has_command) {
        s->pid = c.pid;
        s->executed = true;
        supervisor_take_child(s, &c);
    }
    log_info("task.start", "pid=%d", (int)(has_command ? s->command.pid : c.pid));
}

/* Kills what a dead supervisor has left behind. These processes are nobody's children any more, and may fork meanwhile,
 * so they are searched for again until none is found. */
static void kill_left_behind(const struct taskspec *spec)
{
    const char *mark = NULL;
    for (char **e = spec->env; *e; e++)
        if (strncmp(*e, "DET_CONTAINER_ID=", 17) == 0)
            mark = *e;
    const char *run_dir = spec->mount_n ? spec->mount[0].source : NULL;
    for (int i = 0; i < KILL_ROUNDS && proctree_kill_marked(mark, run_dir) > 0; i++)
        usleep(KILL_FIRST_US);
}

static bool same_boot(const struct taskspec *spec)
{
    cleanup_strbuf struct strbuf now = STRBUF_INIT;
    size_t n = strlen(spec->boot_id);
    return n > 0 && file_read("/proc/sys/kernel/random/boot_id", 64, &now, NULL) == 0 && now.n >= n &&
           memcmp(now.s, spec->boot_id, n) == 0;
}

static void adopt_task(struct supervisor *s)
{
    cleanup_free char *path = path_join(s->path, "exit");
    cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
    struct task_exit e;
    if (file_read(path, SPEC_MAX, &bytes, NULL) == 0) {
        struct cursor c = cursor_of(bytes.s, bytes.n);
        if (task_exit_decode(&c, &e) == 0) {
            s->exit = e;
            s->exit.text = arena_strdup(&s->arena, e.text);
            s->phase = EXITED;
            return;
        }
    }
    kill_left_behind(&s->spec);
    if (taskspec_is_in_container(&s->spec)) {
        supervisor_set_exit(
            s, TASK_EXIT_LOST, 137, SIGKILL,
            "the task's container ended before the task (somebody has stopped it, its engine was stopped, or the "
            "machine was restarted)");
        record_exit(s);
        return;
    }
    /* Under an agent that is not root, a task without a container can kill its own supervisor. Starting such a task
     * again as if it had been lost would not help, so its end counts as a failure of the task. */
    if (!s->spec.change_user && !*s->spec.image && same_boot(&s->spec))
        supervisor_set_exit(
            s, TASK_EXIT_SIGNALED, 137, SIGKILL,
            "the task's supervisor was killed; this agent is not root, so that a task can do that itself: it counts as a failure");
    else
        supervisor_set_exit(s, TASK_EXIT_LOST, 137, SIGKILL,
                            "the task's supervisor ended before the task (killed, or the machine restarted)");
    record_exit(s);
}

/* Hides the tokens that the task uses with the master from its log. */
static void hide_tokens(struct supervisor *s)
{
    for (int output = 0; output < 2; output++) {
        line_framer_hide(&s->output[output].framer, taskspec_env(&s->spec, "DET_SESSION_TOKEN"));
        line_framer_hide(&s->output[output].framer, taskspec_env(&s->spec, "DET_USER_TOKEN"));
    }
}

int supervisor_new(const char *dir, bool adopt, struct supervisor **ret, struct error *err)
{
    struct supervisor *s = must_calloc(1, sizeof(*s));
    s->path = path_join(dir, ".");
    s->phase = RUNNING;
    s->dir = s->signal_fd = s->limits.pids_fd = s->limits.task_dir = s->output[0].fd = s->output[1].fd = s->command.fd =
        s->link.fd = s->link.listener = -1;
    line_framer_init(&s->output[0].framer, TASK_STDOUT, on_line, s);
    line_framer_init(&s->output[1].framer, TASK_STDERR, on_line, s);
    if (open_directory(s, err) < 0 || load_spec(s, err) < 0 || open_spool(s, err) < 0 || open_signals(s, err) < 0 ||
        agentlink_open(&s->link, s->dir, err) < 0) {
        supervisor_free(s);
        return -1;
    }
    hide_tokens(s);
    s->adopted = adopt;
    if (adopt)
        adopt_task(s);
    else
        start_task(s);
    *ret = s;
    return 0;
}

bool supervisor_has_task(const struct supervisor *s)
{
    return s->adopted || s->executed;
}

int supervisor_exit_code(const struct supervisor *s)
{
    return s->exit.code;
}

void supervisor_free(struct supervisor *s)
{
    if (!s)
        return;
    agentlink_close(&s->link);
    for (int i = 0; i < 2; i++) {
        line_framer_release(&s->output[i].framer);
        cleanup_close_p(&s->output[i].fd);
    }
    limits_close(&s->limits);
    spool_free(s->spool);
    strbuf_release(&s->batch.line);
    strbuf_release(&s->command.cause);
    cleanup_close_p(&s->command.fd);
    cleanup_close_p(&s->signal_fd);
    cleanup_close_p(&s->dir);
    free(s->path);
    arena_release(&s->arena);
    free(s);
}

/* ---- the task: its output, its processes, its end ---------------------------------------------------------------- */

static void end_output(struct supervisor *s, struct output *o)
{
    line_framer_end(&o->framer, clock_now_us());
    close(o->fd);
    o->fd = -1;
}

static void read_output(struct supervisor *s, struct output *o)
{
    char buf[READ_BYTES];
    ssize_t n = read(o->fd, buf, sizeof(buf));
    if (n > 0) {
        line_framer_feed(&o->framer, buf, (size_t)n, clock_now_us());
        return;
    }
    /* The pipe is empty and no process of this task is left. Whoever still holds the writing end is no process of this
     * task, so the output counts as ended. */
    bool orphaned = n < 0 && errno == EAGAIN && s->phase == DRAINING && !s->has_children &&
                    clock_monotonic_us() >= s->drain_until_us;
    if (n == 0 || orphaned || (n < 0 && errno != EAGAIN && errno != EINTR))
        end_output(s, o);
}

void supervisor_tell_reason(struct supervisor *s, const char *why)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "ERROR: %s\n", why);
    line_framer_feed(&s->output[1].framer, text.s, text.n, clock_now_us());
}

static bool killed_for_memory(struct supervisor *s, int status)
{
    bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return failed && !s->killing && limits_out_of_memory(&s->limits) > 0;
}

void supervisor_entrypoint_gone(struct supervisor *s, int status)
{
    int64_t now = clock_monotonic_us();
    s->phase = DRAINING;
    s->drain_until_us = s->killing ? now : now + DRAIN_US;
    if (WIFEXITED(status))
        supervisor_set_exit(s, TASK_EXIT_EXITED, WEXITSTATUS(status), 0, "");
    else
        supervisor_set_exit(s, TASK_EXIT_SIGNALED, 128 + WTERMSIG(status), WTERMSIG(status), "");
    if (s->ended_for) {
        s->exit.text = s->ended_for;
    } else if (s->stopped_outside && !s->killing) {
        /* also if the task has ended well: it was asked to end before it was done */
        s->exit.kind = TASK_EXIT_LOST;
        s->exit.text = "the task's container was stopped from outside, by its engine (which does so when it is started "
                       "again, unless it has been told otherwise: live-restore) or by somebody at this machine";
        supervisor_tell_reason(s, s->exit.text);
    } else if (killed_for_memory(s, status)) {
        s->exit.text = limits_memory_text(&s->limits, &s->arena);
        /* otherwise the kernel killed another process of the task, and the entrypoint has reacted to that */
        if (s->exit.code == 128 + SIGKILL)
            s->exit.kind = TASK_EXIT_OUT_OF_MEMORY;
        supervisor_tell_reason(s, s->exit.text);
    }
}

static void reap_children(struct supervisor *s)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == s->pid && !taskspec_has_command(&s->spec))
            supervisor_entrypoint_gone(s, status);
        else if (pid == s->command.pid)
            supervisor_command_gone(s, status);
        else if (pid == s->first)
            s->first = 0;
    s->has_children = !(pid < 0 && errno == ECHILD);
}

static void kill_all(struct supervisor *s)
{
    int64_t now = clock_monotonic_us();
    if (!s->has_children || now < s->kill_at_us)
        return;
    s->kill_wait_us = !s->kill_wait_us                     ? KILL_FIRST_US
                      : s->kill_wait_us < KILL_LAST_US / 2 ? 2 * s->kill_wait_us
                                                           : KILL_LAST_US;
    s->kill_at_us = now + s->kill_wait_us;
    if (s->first > 0)
        kill(s->first, SIGKILL); /* the kernel ends the rest, without a look at each process of the machine */
    else
        proctree_kill_descendants(getpid());
}

static bool outputs_ended(const struct supervisor *s)
{
    return s->output[0].fd < 0 && s->output[1].fd < 0;
}

void supervisor_signal(struct supervisor *s, int signo)
{
    if (s->phase == EXITED)
        return;
    if (signo == SIGKILL) {
        s->killing = true;
        s->kill_at_us = s->kill_wait_us = 0;
        s->drain_until_us = 0;
    } else if (s->phase == STARTING) {
        s->command.early_signal = signo;
    } else if (s->phase == RUNNING && taskspec_has_command(&s->spec)) {
        supervisor_signal_container(s, signo);
    } else if (s->phase == RUNNING) {
        kill(-s->pid, signo);
    }
}

static void take_signals(struct supervisor *s)
{
    struct signalfd_siginfo i;
    while (read(s->signal_fd, &i, sizeof(i)) == sizeof(i)) {
        if (i.ssi_signo == SIGCHLD)
            continue;
        /* Who has no process id here is outside of the container. A task may send signals, too, but cannot make its own
         * failure that of the machine by them. */
        if (taskspec_is_in_container(&s->spec) && i.ssi_pid == 0 && s->phase == RUNNING)
            s->stopped_outside = true;
        supervisor_signal(s, (int)i.ssi_signo);
    }
}

/* While a container starts, its command may unpack an image into the task's directory. */
static bool has_limits(const struct supervisor *s)
{
    return (s->phase == STARTING || s->phase == RUNNING) && !s->killing;
}

/* Ends a task that has exceeded one of its limits. */
static void check_limits(struct supervisor *s)
{
    if (!has_limits(s))
        return;
    s->ended_for = limits_exceeded(&s->limits, clock_monotonic_us(), &s->arena);
    if (!s->ended_for)
        return;
    supervisor_tell_reason(s, s->ended_for);
    supervisor_signal(s, SIGKILL);
}

/* The task has failed, and all its output has been read. If it missed a Python module, another process writes an
 * explanation, as if the task wrote it. It is a process because it reads directories, which may hang. */
static void explain_missing(struct supervisor *s)
{
    int p[2];
    bool wanted = s->missing.name[0] && s->exit.code != 0 && !s->killing && !s->ended_for;
    if (wanted && taskspec_has_command(&s->spec)) {
        supervisor_explain_in_container(s);
        s->missing.name[0] = 0;
        return;
    }
    if (!wanted || pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        find_python_and_explain_missing(&s->spec, &s->missing, p[1]);
    s->missing.name[0] = 0;
    close(p[1]);
    if (pid < 0) {
        close(p[0]);
        return;
    }
    s->output[1].fd = p[0];
    s->has_children = true;
    s->drain_until_us = clock_monotonic_us() + EXPLAIN_US;
}

static bool all_over(const struct supervisor *s)
{
    return s->phase == DRAINING && outputs_ended(s) && !s->has_children;
}

/* What this turn of the loop means for the task: limits, ended processes, killing, the exit. */
static void advance_task(struct supervisor *s)
{
    check_limits(s);
    reap_children(s);
    bool drained = s->phase == DRAINING && (outputs_ended(s) || clock_monotonic_us() >= s->drain_until_us);
    if (s->killing || drained)
        kill_all(s);
    if (all_over(s) && !supervisor_find_blame(s))
        explain_missing(s);
    cleanup_error struct error err = ERROR_INIT;
    if (spool_flush(s->spool, &err) < 0)
        log_warning("task.spool", "error=%s", log_quote(error_msg(&err)));
    else if (all_over(s))
        record_exit(s);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static int64_t sooner_deadline(int64_t a, int64_t b)
{
    return a < 0 || b < a ? b : a;
}

static int poll_timeout_ms(const struct supervisor *s)
{
    int64_t at = -1, now = clock_monotonic_us();
    if (s->phase == DRAINING && now < s->drain_until_us)
        at = sooner_deadline(at, s->drain_until_us);
    else if (s->has_children && (s->killing || s->phase == DRAINING))
        at = sooner_deadline(at, s->kill_at_us);
    if (s->phase != EXITED && spool_full(s->spool))
        at = sooner_deadline(at, now + RETRY_US);
    if (s->greeted && !supervisor_all_told(s) && s->under_way_n < BATCHES_MAX && s->under_way_bytes < TASK_WINDOW)
        at = sooner_deadline(at, s->unsent_since_us + LINGER_US);
    if (has_limits(s) && limits_next_us(&s->limits) >= 0)
        at = sooner_deadline(at, limits_next_us(&s->limits));
    if (at < 0)
        return -1;
    return at <= now ? 0 : (int)((at - now) / 1000 + 1);
}

static void run_turn(struct supervisor *s)
{
    bool full = spool_full(s->spool);
    struct pollfd p[] = {
        {.fd = s->link.listener, .events = POLLIN},
        {.fd = s->link.fd, .events = (short)(POLLIN | (s->link.out.n ? POLLOUT : 0))},
        {.fd = s->signal_fd, .events = POLLIN},
        {.fd = full ? -1 : s->output[0].fd, .events = POLLIN},
        {.fd = full ? -1 : s->output[1].fd, .events = POLLIN},
        {.fd = has_limits(s) ? s->limits.pids_fd : -1, .events = POLLPRI},
        {.fd = s->command.fd, .events = POLLIN},
    };
    if (poll(p, sizeof(p) / sizeof(p[0]), poll_timeout_ms(s)) < 0)
        return;
    if (p[1].revents)
        agentlink_receive(&s->link, supervisor_hear, s);
    if (p[0].revents && agentlink_accept(&s->link))
        s->greeted = false;
    if (p[2].revents)
        take_signals(s);
    if (p[6].revents)
        supervisor_hear_container(s);
    for (int i = 0; i < 2; i++)
        if (!full && s->output[i].fd >= 0 && (p[3 + i].revents || (s->phase == DRAINING && !s->has_children)))
            read_output(s, &s->output[i]);
    advance_task(s);
    supervisor_talk(s);
}

void supervisor_await_start(struct supervisor *s)
{
    while (s->phase == STARTING)
        run_turn(s);
}

int supervisor_run(struct supervisor *s, struct error *err)
{
    while (!s->exit_acked)
        run_turn(s);
    return 0;
}
