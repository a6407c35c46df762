/* What users and tasks do with a launched task: killing it, changing its priority, telling that it is in use. The task
 * is read from the store first, so that an id of another kind is not found. */
#include <string.h>

#include "api/cluster/config_policies.h"
#include "api/pipeline/handler.h"
#include "api/pipeline/internal.h"
#include "api/tasks/launched_views.h"
#include "api/tasks/task_use.h"
#include "common/base/clock.h"
#include "common/config/config.h"
#include "core/core.h"
#include "gen/handlers.h"

struct action {
    enum task_kind kind;
    const char *id;
    int32_t priority; /* set_priority */
    void (*show)(struct req *r, const struct store_launched_task *t);
    struct store_launched_task task; /* as it was before the action */
};

static req_loop_fn priority_step;

static int begin_action(struct req *r, struct store *db, const struct action *request, req_loop_fn *step,
                        struct error *err)
{
    struct action *x = arena_new(&r->arena, struct action);
    *x = *request;
    r->state = x;
    const struct policy_change change = {.set_priority = true, .priority = x->priority};
    if (launched_find(r, db, x->kind, x->id, &x->task, err) < 0 ||
        (step == priority_step &&
         config_policies_check_change(r, db, POLICY_NTSC, x->task.workspace_id, &change, err) < 0))
        return -1;
    return req_then_loop(r, step);
}

/* ---- kill -------------------------------------------------------------------------------------------------------- */

/* Shows the task as it is after the step. A task that had no container ended in the step. */
static void show_after(struct req *r, struct core *core, struct action *x)
{
    struct core_task_view v;
    if (core_task(core, x->id, &v)) {
        x->task.state = v.allocation ? v.allocation->state : ALLOCATION_PENDING;
    } else if (x->task.end_us == 0) {
        x->task.end_us = r->now_us;
        x->task.exit_kind = EXIT_ABORTED;
    }
    x->show(r, &x->task);
}

/* A task that has ended already is not killed again, which is no error. */
static int kill_step(struct req *r, struct core *core, struct error *err)
{
    struct action *x = r->state;
    struct core_task_view v;
    struct core_event ev = {.type = CORE_TASK_KILL, .now_us = r->now_us, .task_id = x->id};
    if (!core_task(core, x->id, &v)) {
        x->show(r, &x->task);
        return 0;
    }
    if (req_core_step(r, core, &ev, NULL, err) < 0)
        return -1;
    show_after(r, core, x);
    return 0;
}

/* ---- priority ---------------------------------------------------------------------------------------------------- */

static int priority_step(struct req *r, struct core *core, struct error *err)
{
    struct action *x = r->state;
    struct core_task_view v;
    if (config_bool(api_info(r->api)->config, "security.authz.strict_job_queue_control") &&
        req_need_admin(r, "change the job queue", err) < 0)
        return -1;
    if (!core_task(core, x->id, &v))
        return error_set(err, ERR_PRECONDITION, "%s '%s' has ended, so that its priority does not matter any more",
                         task_kind_word(x->kind), x->id);
    const struct core_queue_change change = {.job_id = x->task.job_id, .what = QUEUE_PRIORITY, .priority = x->priority};
    struct core_event ev = {.type = CORE_QUEUE_CHANGE, .now_us = r->now_us, .queue = {.change = &change, .n = 1}};
    if (req_core_step(r, core, &ev, NULL, err) < 0)
        return -1;
    x->show(r, &x->task);
    return 0;
}

/* ---- the routes -------------------------------------------------------------------------------------------------- */

/* The two actions of a kind: the routes Kill… and Set…Priority, whose messages differ in their names only. */
#define ACTIONS_OF(word, KIND) \
    static void show_killed_##word(struct req *r, const struct store_launched_task *t) \
    { \
        ((struct wire_kill_##word##_response *)r->ret)->word = word##_to_wire(r, t); \
    } \
\
    int api_kill_##word(struct req *r, struct store *db, const struct wire_kill_##word##_request *in, \
                        struct wire_kill_##word##_response *ret, struct error *err) \
    { \
        return begin_action( \
            r, db, &(struct action){.kind = TASK_KIND_##KIND, .id = in->word##_id, .show = show_killed_##word}, \
            kill_step, err); \
    } \
\
    static void show_moved_##word(struct req *r, const struct store_launched_task *t) \
    { \
        ((struct wire_set_##word##_priority_response *)r->ret)->word = word##_to_wire(r, t); \
    } \
\
    int api_set_##word##_priority(struct req *r, struct store *db, \
                                  const struct wire_set_##word##_priority_request *in, \
                                  struct wire_set_##word##_priority_response *ret, struct error *err) \
    { \
        return begin_action(r, db, \
                            &(struct action){.kind = TASK_KIND_##KIND, \
                                             .id = in->word##_id, \
                                             .priority = in->priority, \
                                             .show = show_moved_##word}, \
                            priority_step, err); \
    }

ACTIONS_OF(command, COMMAND)
ACTIONS_OF(notebook, NOTEBOOK)
ACTIONS_OF(shell, SHELL)
ACTIONS_OF(tensorboard, TENSORBOARD)

/* ---- use --------------------------------------------------------------------------------------------------------- */

void api_task_used(struct api *a, struct core *core, const char *task_id)
{
    cleanup_error struct error err = ERROR_INIT;
    struct core_task_view v;
    struct core_event ev = {.type = CORE_TASK_USED, .now_us = clock_now_us(), .task_id = task_id};
    if (core_task(core, task_id, &v) && v.launched->idle_timeout_us > 0)
        api_core_step(a, core, &ev, NULL, &err);
}

/* A notebook tells every half minute whether it is idle. */
int api_idle_notebook(struct req *r, struct core *core, const struct wire_idle_notebook_request *in,
                      struct wire_idle_notebook_response *ret, struct error *err)
{
    struct core_task_view v;
    if (!core_task(core, in->notebook_id, &v) || v.row->kind != TASK_KIND_NOTEBOOK)
        return error_set(err, ERR_NOT_FOUND, "notebook '%.80s' not found among those that run",
                         in->notebook_id ? in->notebook_id : "");
    if (!in->idle)
        api_task_used(r->api, core, in->notebook_id);
    return 0;
}

int api_get_active_tasks_count(struct req *r, struct core *core, const struct wire_get_active_tasks_count_request *in,
                               struct wire_get_active_tasks_count_response *ret, struct error *err)
{
    ret->commands = core_task_count(core, TASK_KIND_COMMAND);
    ret->notebooks = core_task_count(core, TASK_KIND_NOTEBOOK);
    ret->shells = core_task_count(core, TASK_KIND_SHELL);
    ret->tensorboards = core_task_count(core, TASK_KIND_TENSORBOARD);
    return 0;
}
