/* What the files of the supervisor share (supervisor.c, supervisor_talk.c, supervisor_command.c): what it knows of its
 * task, and which lines the agent has. */
#ifndef DET_TASK_SUPERVISOR_INTERNAL_H
#define DET_TASK_SUPERVISOR_INTERNAL_H

#include "common/base/arena.h"
#include "common/task/spool.h"
#include "common/task/taskproto.h"
#include "common/task/taskspec.h"
#include "task/agentlink.h"
#include "task/limits.h"
#include "task/lines.h"
#include "task/missing_module.h"
#include "task/supervisor.h"

#define LINGER_US 50000 /* while lines are under way, new lines wait this long so that they are sent in one batch */
#define BATCHES_MAX 64

enum phase { STARTING, RUNNING, DRAINING, EXITED };

/* Who is to blame for a container that did not start: the image, or the machine. */
enum blame { BLAME_NOBODY, BLAME_UNKNOWN, BLAME_PROBED };

/* The command that makes the task's container, if there is one. */
struct container_command {
    pid_t pid; /* 0: none runs */
    int fd;    /* what is said within the container (task/inside.h); -1 */
    int status;
    int early_signal;    /* for the task, before it has started; 0: none */
    struct strbuf cause; /* why the command has failed, by its output */
    const char *failure; /* the sentence about it */
    const char *refusal; /* why the task was not executed, by the word of determined-task within the container */
    int refusal_code;
    enum blame blame;
};

struct output {
    int fd; /* -1 once the output has ended */
    struct line_framer framer;
};

struct supervisor {
    struct arena arena;
    struct taskspec spec;
    char *path;
    int dir, signal_fd;
    struct spool *spool;
    struct agentlink link;
    struct output output[2];
    struct limits limits;
    /* the Python module that the task did not find; explained at the end, then cleared */
    struct missing_module missing;
    /* why the supervisor has ended the task: a limit that the task exceeded; NULL if it exceeded none */
    const char *ended_for;

    enum phase phase;
    /* of the entrypoint, and of its process group; 0 if the task was not executed, or was executed by an earlier
     * supervisor */
    pid_t pid;
    pid_t first; /* with which the kernel ends all processes of the task; 0: there is none, or it has ended */
    bool executed, adopted;
    struct container_command command;
    bool has_children;
    int64_t drain_until_us;
    bool killing;
    int64_t kill_at_us, kill_wait_us;
    bool stopped_outside; /* somebody outside of the task's container has sent a signal to end it */
    struct task_exit exit;

    bool greeted;  /* the connected agent has said HELLO */
    uint64_t sent; /* number of the newest line that was sent to the agent */
    /* batches that were sent and are not acknowledged, oldest first */
    struct {
        uint64_t last;
        size_t bytes;
    } under_way[BATCHES_MAX];
    size_t under_way_n, under_way_bytes;
    /* about how many bytes of lines come after line `sent`, and since when the first of them waits */
    size_t unsent_bytes;
    int64_t unsent_since_us;
    struct spool_batch batch; /* reused for each batch */
    bool exit_sent, exit_acked;
};

/* Sends the signal to the task's process group; SIGKILL goes to every process of the task. */
void supervisor_signal(struct supervisor *s, int signo);

void supervisor_set_exit(struct supervisor *s, enum task_exit_kind kind, int code, int signo, const char *text);
/* Writes the reason into the task's own log. */
void supervisor_tell_reason(struct supervisor *s, const char *why);
/* The entrypoint has ended, with this status of waitpid(). */
void supervisor_entrypoint_gone(struct supervisor *s, int status);
/* From here on this child is what the task's output comes from. */
struct child;
void supervisor_take_child(struct supervisor *s, const struct child *c);

/* supervisor_command.c: a task in a container that a command makes (common/task/taskspec.h). */
int supervisor_start_container(struct supervisor *s, struct error *err);
void supervisor_hear_container(struct supervisor *s);
void supervisor_command_gone(struct supervisor *s, int status);
/* Sends a signal to the entrypoint's process group, with the rights of the task's user. */
void supervisor_signal_container(struct supervisor *s, int signo);
/* Takes what the command itself may have printed. Returns whether the line is no output of the task. */
bool supervisor_take_cause(struct supervisor *s, const struct task_line *line);
/* All output of a task has been read that was not executed: finds out whose fault that is. Returns whether that takes
 * another command, which runs now. */
bool supervisor_find_blame(struct supervisor *s);
/* Starts the command again, to explain in the container why a Python module is missing. */
void supervisor_explain_in_container(struct supervisor *s);

/* supervisor_talk.c */
void supervisor_hear(void *ctx, const struct task_frame *f);
/* Sends the agent whatever may be sent in this turn of the loop: batches of lines, and the exit after the last of
 * them. */
void supervisor_talk(struct supervisor *s);
/* Whether every line was sent; lines need not be acknowledged yet. */
bool supervisor_all_told(const struct supervisor *s);

#endif
