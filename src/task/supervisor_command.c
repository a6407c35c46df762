/* A task in a container that a command makes. The supervisor is outside, and the command is the task's user's: so
 * nothing of an image runs with more rights than the task has. Whether the task runs, and how its entrypoint has ended,
 * is said by determined-task within the container (task/inside.h). */
#include "task/supervisor_internal.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/task/command_cause.h"
#include "task/child.h"
#include "task/inside.h"

enum {
    SHELL_SIGNALED = 128,  /* statuses from here on are of signals */
    SETTLE_US = 1000000,   /* while the last words of a command are read */
    PROBE_US = 60000000,   /* how long a container of an empty image may take */
    EXPLAIN_US = 30000000, /* … and one that explains a missing module, which gives up sooner by itself */
    MESSAGES_PER_TURN = 16 /* of the loop: whoever is in the container may send them without end */
};

static void close_socket(struct container_command *c)
{
    cleanup_close_p(&c->fd);
    c->fd = -1;
}

/* Starts the command of `words`, and gives determined-task in its container the order. */
static int run_container(struct supervisor *s, char *const *words, enum inside_want want, struct error *err)
{
    struct taskspec seen = s->spec;
    struct child c;
    int outside = -1, inside = -1;
    close_socket(&s->command);
    /* what only concerns the outside need not be told */
    seen.command = seen.command_env = seen.probe = seen.cgroup_procs = seen.hidden = seen.lock = NULL;
    seen.mount_n = 0;
    int r = inside_open(&outside, &inside, err);
    cleanup_close int own = outside, other = inside;
    if (r == 0)
        r = inside_order(own, want, want == INSIDE_EXPLAIN ? &s->missing : NULL, &seen, err);
    if (r == 0)
        r = child_start_command(&s->spec, words, other, &c, err);
    if (r < 0)
        return -1;
    s->command.pid = c.pid;
    s->command.fd = take_fd(own);
    supervisor_take_child(s, &c);
    return 0;
}

int supervisor_start_container(struct supervisor *s, struct error *err)
{
    if (run_container(s, s->spec.command, INSIDE_TASK, err) < 0)
        return -1;
    s->phase = STARTING;
    return 0;
}

/* ---- what is said in the container ------------------------------------------------------------------------------- */

static void take_message(struct supervisor *s, const struct inside_message *m)
{
    struct container_command *c = &s->command;
    if (m->said == INSIDE_STARTING && s->phase == STARTING && s->pid <= 0) {
        s->pid = m->pid;
    } else if (m->said == INSIDE_STARTED && s->phase == STARTING && s->pid > 0) {
        s->executed = true;
        s->phase = RUNNING;
        if (c->early_signal)
            supervisor_signal(s, c->early_signal);
    } else if (m->said == INSIDE_REFUSED && s->phase == STARTING && !c->refusal) {
        c->refusal = arena_strdup(&s->arena, m->text);
        c->refusal_code = m->number > 0 ? m->number : 126;
    } else if (m->said == INSIDE_ENDED && s->phase == RUNNING && (WIFEXITED(m->number) || WIFSIGNALED(m->number))) {
        supervisor_entrypoint_gone(s, m->number);
    }
}

void supervisor_hear_container(struct supervisor *s)
{
    struct inside_message m;
    int r = 1;
    for (int n = 0; n < MESSAGES_PER_TURN && s->command.fd >= 0 && r > 0; n++) {
        r = inside_hear(s->command.fd, &m);
        if (r > 0)
            take_message(s, &m);
    }
    if (r < 0)
        close_socket(&s->command);
}

/* The entrypoint is no child of the supervisor: its process id may be that of another process by now, and an image can
 * bring that about. So a process with no more rights than the task has sends the signal. */
void supervisor_signal_container(struct supervisor *s, int signo)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (!s->spec.change_user || setresuid(s->spec.uid, s->spec.uid, s->spec.uid) == 0)
            kill(-s->pid, signo);
        _exit(0);
    }
    s->has_children = s->has_children || pid > 0;
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static void drain(struct supervisor *s)
{
    s->phase = DRAINING;
    s->drain_until_us = clock_monotonic_us() + SETTLE_US;
}

/* Whether the command has ended without a signal to it or to a process below it. A script of the image can bring that
 * about, and so can the task, but nobody outside of the container. */
static bool has_ended_by_itself(const struct supervisor *s)
{
    int status = s->command.status;
    return !s->killing && WIFEXITED(status) && WEXITSTATUS(status) < SHELL_SIGNALED;
}

/* The container has ended, and the entrypoint with it, which has not said how. */
static void lose_container(struct supervisor *s)
{
    bool by_itself = has_ended_by_itself(s);
    int code = by_itself && WEXITSTATUS(s->command.status) ? WEXITSTATUS(s->command.status) : 1;
    supervisor_entrypoint_gone(s, by_itself ? W_EXITCODE(code, 0) : SIGKILL);
    if (s->killing || *s->exit.text)
        return;
    if (by_itself) {
        s->exit.text = "the task's container ended by itself before the task did: the task, or a script of its image, "
                       "has ended the container's first process";
        supervisor_tell_reason(s, s->exit.text);
        return;
    }
    s->exit.kind = TASK_EXIT_LOST;
    s->exit.text = "the task's container ended before the task: somebody has killed the command that makes it, or a "
                   "process of it";
}

void supervisor_command_gone(struct supervisor *s, int status)
{
    struct container_command *c = &s->command;
    supervisor_hear_container(s);
    close_socket(c);
    c->pid = 0;
    c->status = status;
    if (s->phase == RUNNING || (s->phase == STARTING && s->killing)) {
        lose_container(s);
    } else if (s->phase == STARTING && c->refusal) {
        supervisor_set_exit(s, TASK_EXIT_REFUSED, c->refusal_code, 0, c->refusal);
        drain(s);
        supervisor_tell_reason(s, c->refusal);
    } else if (s->phase == STARTING && limits_out_of_memory(&s->limits) > 0) {
        /* the task's own limit, which the command and a probe after it share */
        supervisor_entrypoint_gone(s, SIGKILL);
    } else if (s->phase == STARTING) {
        c->blame = BLAME_UNKNOWN;
        supervisor_set_exit(s, TASK_EXIT_START_FAILED, 0, 0, "");
        drain(s);
    }
}

/* ---- who is to blame --------------------------------------------------------------------------------------------- */

bool supervisor_take_cause(struct supervisor *s, const struct task_line *line)
{
    bool of_command = taskspec_has_command(&s->spec) && !s->executed && line->stdtype == TASK_STDERR;
    bool has_end = line->text_n > 0 && line->text[line->text_n - 1] == '\n';
    if (of_command) {
        /* the framer has taken the level out of the text */
        const char *level = line->level >= TASK_LEVEL_ERROR ? "ERROR:" : "";
        cleanup_strbuf struct strbuf text = STRBUF_INIT;
        strbuf_addf(&text, "%s%.*s", level, (int)(line->text_n - has_end), line->text);
        command_cause_take(&s->command.cause, strbuf_str(&text), text.n);
    }
    return s->command.blame == BLAME_PROBED;
}

static void end_by_blame(struct supervisor *s, enum task_exit_kind kind, const char *text)
{
    s->command.blame = BLAME_NOBODY;
    supervisor_set_exit(s, kind, kind == TASK_EXIT_REFUSED ? 126 : 0, 0, text);
    supervisor_tell_reason(s, s->exit.text);
}

/* Puts what the command said, and how it ended, behind the beginning of a sentence. */
static const char *with_cause(struct supervisor *s, const char *sentence)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, sentence);
    command_cause_describe(s->spec.engine, &s->command.cause, s->command.status, &text);
    return arena_strdup(&s->arena, strbuf_str(&text));
}

/* What the command prints does not tell whether the image is broken or the machine runs none, unless it says that a
 * disk is full. A container of an empty image, with the same options, does. */
static bool start_probe(struct supervisor *s)
{
    struct container_command *c = &s->command;
    const char *sentence = arena_printf(&s->arena, "the image %s cannot be run on this machine: ", s->spec.image);
    c->failure = with_cause(s, sentence);
    strbuf_reset(&c->cause);
    c->blame = BLAME_PROBED;
    if (!*s->spec.probe || cause_is_disk_full(c->failure) ||
        run_container(s, s->spec.probe, INSIDE_NOTHING, NULL) < 0) {
        end_by_blame(s, TASK_EXIT_START_FAILED, c->failure);
        return false;
    }
    s->drain_until_us = clock_monotonic_us() + PROBE_US;
    return true;
}

static void judge_probe(struct supervisor *s)
{
    static const char none[] = "no other image can be run on this machine either, not even an empty one: ";
    const char *failure = s->command.failure;
    if (s->command.status == 0)
        end_by_blame(s, TASK_EXIT_REFUSED, failure);
    else
        end_by_blame(s, TASK_EXIT_START_FAILED,
                     arena_printf(&s->arena, "%s; %s; docs/containers.md says what %s needs of a machine", failure,
                                  with_cause(s, none), s->spec.engine));
}

bool supervisor_find_blame(struct supervisor *s)
{
    if (s->command.blame == BLAME_NOBODY)
        return false;
    if (s->killing) {
        s->command.blame = BLAME_NOBODY;
        supervisor_set_exit(s, TASK_EXIT_SIGNALED, 128 + SIGKILL, SIGKILL, "killed before it was started");
        return false;
    }
    if (s->command.blame == BLAME_UNKNOWN)
        return start_probe(s);
    judge_probe(s);
    return false;
}

/* ---- a missing module -------------------------------------------------------------------------------------------- */

void supervisor_explain_in_container(struct supervisor *s)
{
    if (run_container(s, s->spec.command, INSIDE_EXPLAIN, NULL) == 0)
        s->drain_until_us = clock_monotonic_us() + EXPLAIN_US;
}
