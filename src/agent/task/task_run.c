#include "agent/task/task_internal.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/task/ready_watch.h"
#include "common/base/bytes.h"
#include "common/base/cleanup.h"
#include "common/system/log.h"

#define ATTACH_TRIES 5
#define ATTACH_WAIT_US 500000
#define KILL_AGAIN_US 100000

/* The level that the supervisor gives a line is passed on to the master unchanged, so both enums must have the same
 * numbers. */
_Static_assert((int)TASK_LEVEL_NONE == (int)WIRE_LOG_LEVEL_UNSPECIFIED &&
                   (int)TASK_LEVEL_DEBUG == (int)WIRE_LOG_LEVEL_DEBUG &&
                   (int)TASK_LEVEL_INFO == (int)WIRE_LOG_LEVEL_INFO &&
                   (int)TASK_LEVEL_WARNING == (int)WIRE_LOG_LEVEL_WARNING &&
                   (int)TASK_LEVEL_ERROR == (int)WIRE_LOG_LEVEL_ERROR &&
                   (int)TASK_LEVEL_CRITICAL == (int)WIRE_LOG_LEVEL_CRITICAL,
               "enum task_level of common/task/taskproto.h and log.v1.LogLevel of contract/api.json must agree");

/* Looks for the line that says that the task is ready. The master is told before it gets the line: lines are sent again
 * until the master has stored them, so that one that it has not stored is looked at again after a lost connection. */
static void look_for_sign(struct task *t, const char *text)
{
    enum ready_sign sign = t->ready_watch ? ready_watch_line(t->ready_watch, text, strlen(text)) : READY_SIGN_NONE;
    if (sign == READY_SIGN_NONE)
        return;
    struct wire_link_task_ready ready = {.container_id = t->container_id,
                                         .allocation_id = t->allocation_id,
                                         .waiting = sign == READY_SIGN_WAITS};
    link_send(t->agent->link, &(struct wire_link_agent_message){.ready = &ready});
}

void task_send_lines(struct task *t, uint64_t first, uint64_t count, const void *lines, size_t n)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct wire_link_log_line *list = arena_array(&a, struct wire_link_log_line, count + 1);
    struct cursor c = cursor_of(lines, n);
    struct task_line l;
    for (uint64_t i = 0; i < count && task_line_decode(&c, &l) == 0; i++) {
        if (!t->log) /* lines of installers, before the task has begun, are no sign */
            look_for_sign(t, l.text);
        list[i] = (struct wire_link_log_line){.timestamp = l.time_us,
                                              .has_timestamp = true,
                                              .stdtype = l.stdtype == TASK_STDERR ? "stderr" : "stdout",
                                              .source = "task",
                                              .level = (enum wire_log_level)l.level,
                                              .rank_id = l.rank,
                                              .has_rank_id = l.has_rank,
                                              .log = l.text};
    }
    struct wire_link_task_logs logs = {.container_id = t->container_id,
                                       .allocation_id = t->allocation_id,
                                       .task_id = t->task_id,
                                       .first_seq = (int64_t)first,
                                       .lines = list,
                                       .lines_n = count};
    link_send(t->agent->link, &(struct wire_link_agent_message){.logs = &logs});
}

static void on_logs(void *ctx, uint64_t first, uint32_t count, const void *lines, size_t n)
{
    struct task *t = ctx;
    if (t->discard)
        supervisor_ack_logs(t->supervisor, first + count - 1);
    else
        task_send_lines(t, first, count, lines, n);
}

static void on_exit_frame(void *ctx, const struct task_exit *e)
{
    task_set_exit(ctx, e);
}

static void on_supervisor_close(void *ctx, const char *why)
{
    struct task *t = ctx;
    t->supervisor = NULL;
    t->supervisor_lost = true;
    log_warning("task.supervisor_lost", "container=%s reason=%s", t->container_id, log_quote(why));
    if (link_is_up(t->agent->link))
        loop_timer_arm(t->timer, ATTACH_WAIT_US);
}

static void on_adopted(struct task *t, const struct error *err)
{
    if (err && ++t->attach_failures >= ATTACH_TRIES)
        task_end_here(t, t->supervisor_lost && geteuid() != 0 ? TASK_EXIT_SIGNALED : TASK_EXIT_LOST, 137, SIGKILL,
                      error_msg(err));
    else if (err)
        loop_timer_arm(t->timer, ATTACH_WAIT_US);
    else if (link_is_up(t->agent->link))
        task_attach(t);
}

void task_adopt_left(struct task *t)
{
    task_submit(t, t->agent->pool, t->rt->runtime->adopt, on_adopted);
}

/* A container may take long to start, or hang. Its supervisor may be there already; if not, it is looked for again
 * until the engine has answered. */
void task_kill_starting(struct task *t)
{
    struct supervisor *s;
    const struct supervisor_handler none = {0}; /* nothing is heard, as this ends at once */
    if (supervisor_connect(t->agent->loop, t->rt->dir.supervisor, 0, &none, &s, NULL) < 0) {
        loop_timer_arm(t->timer, KILL_AGAIN_US);
        return;
    }
    supervisor_signal(s, SIGKILL);
    supervisor_free(s);
}

void task_attach(struct task *t)
{
    struct supervisor_handler h = {.on_logs = on_logs,
                                   .on_exit = on_exit_frame,
                                   .on_close = on_supervisor_close,
                                   .ctx = t};
    if (t->supervisor || t->busy)
        return;
    if (supervisor_connect(t->agent->loop, t->rt->dir.supervisor, t->acked, &h, &t->supervisor, NULL) < 0) {
        t->supervisor = NULL;
        task_adopt_left(t);
        return;
    }
    t->attach_failures = 0;
    use_watch_set_supervisor(t->agent->use_watch, t->container_id, supervisor_pid(t->supervisor));
    if (t->profile) {
        profile_set_supervisor(t->profile, supervisor_pid(t->supervisor));
        profile_flush(t->profile);
    }
    if (t->kill_wanted)
        supervisor_signal(t->supervisor, SIGKILL);
    else if (t->pending_signal)
        supervisor_signal(t->supervisor, t->pending_signal);
    t->pending_signal = 0;
}
