/* One task of this agent, from the master's order to the master's acknowledgement of its end.
 *
 *   PREPARING ──▶ [RENDEZVOUS ──▶] STARTING ──▶ RUNNING ──exit──▶ ENDED ──acknowledged──▶ REMOVING ──▶ gone
 *       └──────────────┴──────────────┴── failure or kill ──────────▲            adopted tasks begin in RUNNING
 *
 * What was promised to nobody else is dropped with `discard`: a task that the master does not expect is killed and
 * removed. */
#ifndef DET_AGENT_TASK_H
#define DET_AGENT_TASK_H

#include "agent/agent.h"
#include "common/base/sm.h"

enum task_state {
    TASK_PREPARING, TASK_RENDEZVOUS, TASK_STARTING, TASK_STATE_RUNNING, TASK_ENDED, TASK_REMOVING, TASK_STATE_NR,
};

/* Begins to prepare and start it. Failures become the task's exit. */
void task_start(struct agent *a, const struct wire_link_start_task *start);
/* One whose directory an earlier agent has left. */
void task_adopt(struct agent *a, const char *container_id);

struct task *task_find(struct agent *a, const char *container_id); /* NULL if unknown */
void task_signal(struct task *t, int signo);
void task_logs_acked(struct task *t, uint64_t seq);
void task_end_acked(struct task *t);

/* The link is up: the master has this task's lines up to `seq`, or does not expect the task at all. */
void task_resume(struct task *t, uint64_t seq);
void task_discard(struct task *t);
void task_pause(struct task *t); /* the link is down */

void task_describe(const struct task *t, struct wire_link_task_state *ret); /* strings live as long as the task */
const char *task_container_id(const struct task *t);
size_t task_count(const struct agent *a);
struct task *task_next(struct task *t); /* in the agent's table; NULL at its end */
void task_forget(struct task *t);       /* at the agent's end: the task itself goes on */

/* Tells the master that a container which it expects is not here. */
void task_report_gone(struct agent *a, const char *container_id, const char *text);

extern const struct sm_type task_sm_type;

#endif
