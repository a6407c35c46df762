#include "agent/task/task_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/codec/codec.h"
#include "common/system/log.h"

static void on_removed(struct task *t, const struct error *err)
{
    if (err)
        log_warning("task.not_removed", "container=%s error=%s", t->container_id, log_quote(error_msg(err)));
    task_forget(t);
}

void task_remove_files(struct task *t)
{
    task_submit(t, t->agent->cleaner, t->rt->runtime->cleanup, on_removed);
}

void task_remove(struct task *t)
{
    if (t->supervisor) {
        supervisor_ack_exit(t->supervisor);
        supervisor_free(t->supervisor);
        t->supervisor = NULL;
    }
    task_move_to(t, TASK_REMOVING);
    if (t->rt->runtime->ask_removal && t->rt->engine && !t->agent->config->keep_ended)
        task_remove_container(t);
    else
        task_remove_files(t);
}

void task_set_exit(struct task *t, const struct task_exit *e)
{
    char *text = must_strdup(e->text ? e->text : "");
    free(t->exit_text);
    t->exit = *e;
    t->exit_text = text;
    t->exit.text = NULL;
    profile_free(t->profile);
    t->profile = NULL;
    use_watch_remove(t->agent->use_watch, t->container_id);
    if (t->sm.state != TASK_ENDED) {
        log_info("task.exit", "container=%s allocation=%s kind=%s code=%d text=%s", t->container_id, t->allocation_id,
                 codec_enum_name(&wire_enum_link_exit_kind, (int32_t)e->kind), e->code, log_quote(t->exit_text));
        task_move_to(t, TASK_ENDED);
    }
    if (t->discard)
        task_remove(t);
    /* otherwise the record of its Python is sent first, since the end of the task ends the session that sends it */
    else if (!t->python_probe)
        task_send_end(t);
}

/* Ends a task whose end no supervisor reports. */
void task_end_here(struct task *t, enum task_exit_kind kind, int code, int signo, const char *text)
{
    t->has_supervisor = false;
    task_set_exit(
        t, &(struct task_exit){.kind = kind, .code = code, .signal = signo, .time_us = clock_now_us(), .text = text});
}

void task_end_killed(struct task *t)
{
    task_end_here(t, TASK_EXIT_SIGNALED, 128 + SIGKILL, SIGKILL, "killed before it was started");
}

void task_end_acked(struct task *t)
{
    if (t->sm.state == TASK_ENDED)
        task_remove(t);
}
