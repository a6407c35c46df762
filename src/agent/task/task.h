/* One task of this agent, from the master's order to the master's acknowledgement of its end.
 *
 *   PREPARING ──▶ [RENDEZVOUS ──▶] STARTING ──▶ RUNNING ──exit──▶ ENDED ──acknowledged──▶ REMOVING ──▶ gone
 *       └──────────────┴──────────────┴── failure or kill ──────────▲            adopted tasks begin in RUNNING
 *
 * A task that the master does not expect is discarded: it is killed and removed, and nothing of it is reported. */
#ifndef DET_AGENT_TASK_TASK_H
#define DET_AGENT_TASK_TASK_H

#include <sys/types.h>

#include "agent/agent.h"
#include "common/base/sm.h"

enum task_state {
    TASK_PREPARING,
    TASK_RENDEZVOUS,
    TASK_STARTING,
    TASK_STATE_RUNNING,
    TASK_ENDED,
    TASK_REMOVING,
    TASK_STATE_NR,
};

/* Begins to prepare and start a task. A failure becomes the task's exit. */
void task_start(struct agent *a, const struct wire_link_start_task *start);
/* Takes over a task whose directory an earlier agent has left. */
void task_adopt(struct agent *a, const char *container_id);

struct task *task_find(struct agent *a, const char *container_id); /* NULL if unknown */
void task_signal(struct task *t, int signo);
void task_logs_acked(struct task *t, uint64_t seq);
void task_end_acked(struct task *t);

/* task_resume(): the link is up, and the master has this task's lines up to `seq`. task_discard(): the link is up, and
 * the master does not expect this task. */
void task_resume(struct task *t, uint64_t seq);
void task_discard(struct task *t);
void task_pause(struct task *t); /* the link is down: closes the supervisor's connection */

/* fills in the state that the master is told; strings live as long as the task */
void task_describe(const struct task *t, struct wire_link_task_state *ret);
bool task_runs(const struct task *t);
/* Finds the user that the task runs as. Returns false if that is the agent's own user, or unknown. */
bool task_uid(const struct task *t, uid_t *ret);
bool task_has_proxy_port(const struct task *t, int port); /* whether the master may reach this port of the task */
const char *task_container_id(const struct task *t);
size_t task_count(const struct agent *a);
struct task *task_next(struct task *t); /* the next task in the agent's table; NULL after the last */
/* frees the agent's record of a task; the task itself goes on */
void task_forget(struct task *t);

/* Tells the master that a container which it expects is not here. */
void task_report_gone(struct agent *a, const char *container_id, const char *text);

extern const struct sm_type task_sm_type;

#endif
