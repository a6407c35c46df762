#include "agent/task/task_internal.h"

#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/login_name.h"

/* ---- what the master is told ------------------------------------------------------------------------------------- */

/* The login name that the task runs as. It is "" before the task is prepared, because until then only a worker thread
 * may look at the account; after the agent's restart, when the master knows it already; and for a name that the master
 * would not take. */
static const char *account_of(const struct task *t)
{
    bool prepared = t->reported == WIRE_CONTAINER_STATE_STARTING || t->reported == WIRE_CONTAINER_STATE_RUNNING;
    return prepared && login_name_is_plain(t->rt->account.name) ? t->rt->account.name : "";
}

/* What the engine calls the task's container. Only the loop's thread touches it. */
static const char *runtime_id_of(const struct task *t)
{
    return t->reported == WIRE_CONTAINER_STATE_RUNNING && t->rt->runtime_id ? t->rt->runtime_id : "";
}

void task_describe(const struct task *t, struct wire_link_task_state *ret)
{
    *ret = (struct wire_link_task_state){.container_id = t->container_id,
                                         .allocation_id = t->allocation_id,
                                         .state = t->reported,
                                         .address = "",
                                         .account = account_of(t),
                                         .runtime_id = runtime_id_of(t),
                                         .time = clock_now_us(),
                                         .has_time = true};
}

void task_send_state(struct task *t, enum wire_container_state state)
{
    struct wire_link_task_state s;
    if (t->discard)
        return;
    t->reported = state;
    task_describe(t, &s);
    link_send(t->agent->link, &(struct wire_link_agent_message){.state = &s});
}

/* The kind of exit that the supervisor reports is passed on to the master unchanged, so both enums must have the same
 * numbers. */
_Static_assert((int)TASK_EXIT_EXITED == (int)WIRE_LINK_EXIT_KIND_EXITED &&
                   (int)TASK_EXIT_SIGNALED == (int)WIRE_LINK_EXIT_KIND_SIGNALED &&
                   (int)TASK_EXIT_OUT_OF_MEMORY == (int)WIRE_LINK_EXIT_KIND_OUT_OF_MEMORY &&
                   (int)TASK_EXIT_START_FAILED == (int)WIRE_LINK_EXIT_KIND_START_FAILED &&
                   (int)TASK_EXIT_LOST == (int)WIRE_LINK_EXIT_KIND_LOST &&
                   (int)TASK_EXIT_REFUSED == (int)WIRE_LINK_EXIT_KIND_REFUSED,
               "enum task_exit_kind of common/task/taskproto.h and link.v1.ExitKind of contract/link.json must agree");

/* Tells the master the task's exit; repeated after each hello until it is acknowledged. `reported` does not change,
 * because the end is told after the last line only. */
void task_send_end(struct task *t)
{
    struct wire_link_task_state s;
    struct wire_link_task_exit e = {.kind = (enum wire_link_exit_kind)t->exit.kind,
                                    .code = t->exit.code,
                                    .signal = t->exit.signal,
                                    .text = t->exit_text};
    task_describe(t, &s);
    s.state = WIRE_CONTAINER_STATE_TERMINATED;
    s.exit = &e;
    if (t->exit.time_us)
        s.time = t->exit.time_us;
    link_send(t->agent->link, &(struct wire_link_agent_message){.state = &s});
}

void task_report_gone(struct agent *a, const char *container_id, const char *text)
{
    struct wire_link_task_exit e = {.kind = WIRE_LINK_EXIT_KIND_LOST, .text = text};
    struct wire_link_task_state s = {.container_id = container_id,
                                     .allocation_id = "",
                                     .state = WIRE_CONTAINER_STATE_TERMINATED,
                                     .address = "",
                                     .account = "",
                                     .runtime_id = "",
                                     .time = clock_now_us(),
                                     .has_time = true,
                                     .exit = &e};
    link_send(a->link, &(struct wire_link_agent_message){.state = &s});
}

/* ---- work on other threads --------------------------------------------------------------------------------------- */

struct job {
    struct agent *agent;
    struct runtime_task *rt;
    int (*work)(struct runtime_task *rt, struct error *err);
    void (*done)(struct task *t, const struct error *err); /* err is NULL on success */
    struct error err;
    int result;
};

static void job_work(void *worker, void *ctx)
{
    struct job *j = ctx;
    j->result = j->work(j->rt, &j->err);
}

static void job_done(void *ctx)
{
    struct job *j = ctx;
    struct task *t = task_find(j->agent, j->rt->container_id);
    t->busy = false;
    /* An agent that stops takes no further step for a task; the next agent goes on from what this one has left. */
    if (!t->agent->stopping)
        j->done(t, j->result < 0 ? &j->err : NULL);
    error_release(&j->err);
    free(j);
}

void task_submit(struct task *t, struct pool *pool, int (*work)(struct runtime_task *, struct error *),
                 void (*done)(struct task *, const struct error *))
{
    struct job *j = must_calloc(1, sizeof(*j));
    cleanup_error struct error err = ERROR_INIT;
    *j = (struct job){.agent = t->agent, .rt = t->rt, .work = work, .done = done};
    t->busy = true;
    if (pool_submit(pool, job_work, job_done, j, &err) < 0) {
        free(j);
        t->busy = false;
        done(t, &err);
    }
}
