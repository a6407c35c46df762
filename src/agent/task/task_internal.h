/* The parts of a task's life share this; for src/agent/task/task*.c only.
 *
 *   task.c        the table of tasks, the agent's restart, the link's coming and going, signals
 *   task_begin.c  PREPARING, RENDEZVOUS, STARTING
 *   task_run.c    RUNNING: the supervisor, connected and adopted
 *   task_profile.c  what it wants measured
 *   task_record.c what goes on record of where it runs
 *   task_end.c    ENDED, REMOVING
 *   task_tell.c   what the master is told, and work on other threads */
#ifndef DET_AGENT_TASK_INTERNAL_H
#define DET_AGENT_TASK_INTERNAL_H

#include "agent/task/profile.h"
#include "agent/task/supervisor.h"
#include "agent/task/task.h"
#include "common/base/hash.h"
#include "net/client/http_client.h"

struct task {
    struct agent *agent;
    struct sm sm;
    struct runtime_task *rt; /* with the worker threads while `busy` */
    const char *container_id, *allocation_id, *task_id; /* in rt's arena */
    bool busy;
    enum wire_container_state reported;
    bool kill_wanted, discard;
    int pending_signal;

    struct supervisor *supervisor; /* connected only while the link is up */
    uint64_t acked;                /* newest line that the master has stored */
    int attach_failures;
    bool supervisor_lost;          /* it went while this agent was connected to it */
    struct python_probe *python_probe; /* while it is looked for */
    struct profile *profile;       /* while it runs; NULL when it is no trial */
    struct loop_timer *timer; /* the next attempt to attach, or to ask for the rendezvous */
    struct http_fetch_handle *fetch;

    bool has_supervisor; /* there is, or was, one: the exit comes from it, and goes back to it when acknowledged */
    struct task_exit exit;
    char *exit_text;
    UT_hash_handle hh;
};

struct runtime_task *runtime_task_new(struct agent *a, const char *container_id);
struct task *task_new(struct agent *a, struct runtime_task *rt); /* in the table, PREPARING */
void task_move_to(struct task *t, enum task_state to);

void task_send_state(struct task *t, enum wire_container_state state);
void task_send_end(struct task *t);

/* `work` on a thread of this pool, `done` on the loop's, with NULL if it went well. One at a time for a task. */
void task_submit(struct task *t, struct pool *pool, int (*work)(struct runtime_task *, struct error *),
                 void (*done)(struct task *, const struct error *));

/* Asks the master something about the task's allocation, with the task's rights. */
struct http_fetch_handle *task_fetch(struct task *t, const char *method, const char *path, const struct strbuf *body,
                                     http_fetch_done_fn *done, void *ctx);
void task_ask_rendezvous(struct task *t);
void task_adopt_left(struct task *t); /* by a supervisor of its own */
struct taskspec;
bool task_read_spec(struct task *t, struct taskspec *ret); /* false: there is none, it was never started */
void task_watch_profile(struct task *t); /* it runs: system metrics, as soon as it asks for them */
/* Which devices it runs on; which machine and Python, once that has been looked for. */
void task_tell_record(struct task *t);
void task_attach(struct task *t); /* to its supervisor; to a new one that adopts what is left, if there is none */

void task_set_exit(struct task *t, const struct task_exit *e);
void task_end_here(struct task *t, enum task_exit_kind kind, int code, int signo, const char *text);
void task_end_killed(struct task *t);
void task_remove(struct task *t);

#endif
