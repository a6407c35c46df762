/* The parts of a task's life share this; for src/agent/task/task*.c only.
 *
 *   task.c        the table of tasks, the agent's restart, the link's coming and going, signals
 *   task_container.c  what a container engine is asked for the task
 *   task_log.c    the task's log before it has a supervisor
 *   task_python.c the Python that the task asks for, at the beginning of PREPARING
 *   task_begin.c  PREPARING, RENDEZVOUS, STARTING
 *   task_run.c    RUNNING: the supervisor, connected and adopted
 *   task_profile.c  what it wants measured
 *   task_order.c  what of the master's order is kept for the agent's restart
 *   task_record.c what goes on record of where it runs
 *   task_end.c    ENDED, REMOVING
 *   task_tell.c   what the master is told, and work on other threads */
#ifndef DET_AGENT_TASK_TASK_INTERNAL_H
#define DET_AGENT_TASK_TASK_INTERNAL_H

#include "agent/python/environment_job.h"
#include "agent/task/profile.h"
#include "agent/task/supervisor.h"
#include "agent/task/task.h"
#include "common/base/hash.h"
#include "common/task/spool.h"
#include "net/client/http_client.h"

struct task {
    struct agent *agent;
    struct sm sm;
    struct runtime_task *rt;                            /* only the worker threads touch it while `busy` */
    const char *container_id, *allocation_id, *task_id; /* in rt's arena */
    bool busy;
    enum wire_container_state reported;
    bool kill_wanted, discard;
    int pending_signal;

    struct engine_greeting *greeting; /* while an engine is greeted before it is asked for the removal */
    void (*container_done)(struct task *, const struct error *);
    struct runtime_ask *ask; /* while an engine is asked something for this task */
    bool python_waits;       /* the task's Python is being found or made; nothing else of the task is prepared */
    /* finds or makes it, then holds it until the supervisor does; NULL if the task asks for none */
    struct environment_job *python_job;
    struct spool
        *log; /* the task's lines while it has no supervisor; NULL: there are none, or they are the supervisor's */
    uint64_t log_sent; /* number of the newest line of `log` that was sent */

    struct supervisor *supervisor; /* connected only while the link is up */
    uint64_t acked;                /* number of the newest line that the master has stored */
    int attach_failures;
    bool supervisor_lost;              /* the connection broke while this agent was connected to the supervisor */
    struct python_probe *python_probe; /* while the task's Python is searched for */
    struct profile *profile;           /* while the task runs; NULL if it is no trial */
    struct ready_watch *ready_watch;   /* until the task is ready; NULL if its output is not looked at */
    struct loop_timer *timer; /* the next attempt to attach, to kill while it starts, or to ask for the rendezvous */
    struct http_fetch_handle *fetch;

    /* a supervisor exists or has existed: the exit comes from it, and its acknowledgement goes to it */
    bool has_supervisor;
    struct task_exit exit;
    char *exit_text;
    UT_hash_handle hh;
};

/* Keeps what the agent needs of a task's order for as long as the task runs, for the agent that comes after this one.
 * On a worker's thread. */
int task_order_keep(const struct runtime_task *rt, struct error *err);
/* Reads it for a task that was found. Nothing is read for a task of an agent that kept none. */
void task_order_read(struct runtime_task *rt);
/* The same with the whole order, while the task waits for its Python. task_start_read() returns NULL if none is kept.
 */
int task_start_keep(const struct runtime_task *rt, struct error *err);
const struct wire_link_start_task *task_start_read(struct runtime_task *rt);
void task_start_forget(const struct runtime_task *rt);

struct runtime_task *runtime_task_new(struct agent *a, const char *container_id);
/* makes a task in the agent's table, in state PREPARING */
struct task *task_new(struct agent *a, struct runtime_task *rt);
void task_move_to(struct task *t, enum task_state to);

void task_send_state(struct task *t, enum wire_container_state state);
void task_send_end(struct task *t);
/* `lines` as the supervisor sends them (common/task/taskproto.h) */
void task_send_lines(struct task *t, uint64_t first, uint64_t count, const void *lines, size_t n);

/* Runs `work` on a thread of this pool, then `done` on the loop's thread, with NULL if it succeeded. One job at a time
 * for a task. */
void task_submit(struct task *t, struct pool *pool, int (*work)(struct runtime_task *, struct error *),
                 void (*done)(struct task *, const struct error *));

/* Sends a request about the task's allocation to the master, with the token of the task's session. */
struct http_fetch_handle *task_fetch(struct task *t, const char *method, const char *path, const struct strbuf *body,
                                     http_fetch_done_fn *done, void *ctx);
void task_ask_rendezvous(struct task *t);
void task_adopt_left(struct task *t); /* lets a new supervisor adopt what a dead one has left */
struct taskspec;
/* Reads the order that was left for the supervisor. Returns false if there is none, because the task was never
 * started. */
bool task_read_spec(struct task *t, struct taskspec *ret);
void task_watch_profile(struct task *t); /* watches for requests of system metrics of a task that runs */
void task_watch_use(struct task *t);     /* watches whether its slots are used, if the master has asked for it */
/* Records which devices the task runs on and which machine, and Python once that is found. */
void task_tell_record(struct task *t);
/* Connects to the task's supervisor. If there is none, a new supervisor adopts what is left. */
void task_attach(struct task *t);
/* Sends SIGKILL to a task whose start is asked of an engine. */
void task_kill_starting(struct task *t);

/* task_container.c */
void task_find_image(struct task *t); /* finds an engine and the task's image; then task_prepare() */
void task_start_container(struct task *t, void (*done)(struct task *, const struct error *));
void task_remove_container(struct task *t); /* …; then task_remove_files() */
/* Makes a task that was found one of a container of the engine with this name. */
void task_set_engine(struct task *t, const char *name);
void task_begin(struct task *t); /* the runtime is known; the Python, then the rest */
void task_remove_files(struct task *t);

/* task_log.c */
int task_open_log(struct task *t, struct error *err);
void task_log_line(struct task *t, const char *line, size_t n);

bool task_wants_python(const struct task *t);
/* Finds or makes the Python that the task asks for; then task_prepare(). again: an earlier agent had begun to. */
void task_find_python(struct task *t, bool again);
void task_release_python(struct task *t);           /* cancels it, or gives it up */
void task_send_log(struct task *t, uint64_t after); /* sends the lines of t->log that come after that number */
void task_close_log(struct task *t);

void task_prepare(struct task *t); /* prepares everything else */
void task_end_unstarted(struct task *t, const struct error *err);
void task_set_exit(struct task *t, const struct task_exit *e);
void task_end_here(struct task *t, enum task_exit_kind kind, int code, int signo, const char *text);
void task_end_killed(struct task *t);
void task_remove(struct task *t);

#endif
