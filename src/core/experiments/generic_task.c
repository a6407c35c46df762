#include "core/experiments/generic_task.h"

#include <stdlib.h>
#include <string.h>

#include "core/experiments/task.h"
#include "core/resources/allocation.h"
#include "core/resources/rm.h"
#include "core/state/step.h"

static void set_generic_state(struct core *c, struct task *t, enum generic_state to)
{
    if (sm_check_move(&generic_sm, t->launched.run_id, t->launched.state, to, NULL) < 0)
        abort(); /* all callers look at the state first */
    t->launched.state = to;
    record_touch(c, &t->launched_record);
}

static bool is_generic(const struct task *t)
{
    return t && t->row.kind == TASK_KIND_GENERIC && task_can_go_on(t);
}

/* Makes a text such as "the task was paused by ada", so that the task's log tells which user did it. */
static const char *reason_by_user(struct core *c, const char *what)
{
    return arena_printf(&c->out->arena, "the task was %s%s%s", what, c->by.name ? " by " : "",
                        c->by.name ? c->by.name : "");
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Ends the task by way of a STOPPING state. The task is freed. */
static void end_by(struct core *c, struct task *t, enum generic_state stopping, enum generic_state over)
{
    if (t->launched.state != stopping)
        set_generic_state(c, t, stopping);
    set_generic_state(c, t, over);
    task_end(c, t);
}

static void set_paused(struct core *c, struct task *t)
{
    set_generic_state(c, t, GENERIC_PAUSED);
    task_leave_queue(c, t);
}

/* ---- what users do ----------------------------------------------------------------------------------------------- */

static void pause_task(struct core *c, struct task *t)
{
    if (t->launched.no_pause || t->launched.state != GENERIC_ACTIVE)
        return;
    set_generic_state(c, t, GENERIC_STOPPING_PAUSED);
    allocation_terminate(c, t->allocation, reason_by_user(c, "paused"));
}

/* A preemption cannot be taken back. A task that is still to exit gets its next allocation when it has done so. */
static void unpause_task(struct core *c, struct task *t)
{
    bool waits = t->launched.state == GENERIC_PAUSED;
    if (!waits && t->launched.state != GENERIC_STOPPING_PAUSED)
        return;
    set_generic_state(c, t, GENERIC_ACTIVE);
    if (!waits)
        return;
    task_join_queue(c, t);
    allocation_request_for_task(c, t, pool_find(c, t->launched.pool));
}

static void kill_task(struct core *c, struct task *t)
{
    if (!t->allocation) {
        end_by(c, t, GENERIC_STOPPING_CANCELED, GENERIC_CANCELED);
        return;
    }
    if (t->launched.state != GENERIC_STOPPING_CANCELED)
        set_generic_state(c, t, GENERIC_STOPPING_CANCELED);
    allocation_kill(c, t->allocation, reason_by_user(c, "killed"));
}

/* ---- the tasks that a change concerns ---------------------------------------------------------------------------- */

/* Chooses the tasks that the event lists, and those that have become their children since the list was made. */
static void choose_tasks(struct core *c, const struct core_event *ev)
{
    bool more = true;
    for (struct task *t = c->tasks; t; t = t->hh.next)
        t->chosen = is_generic(t) && strcmp(t->row.id, ev->generic.named) == 0;
    for (size_t i = 0; i < ev->generic.below_n; i++) {
        struct task *t = task_find(c, ev->generic.below[i]);
        if (is_generic(t))
            t->chosen = true;
    }
    while (more) { /* parents come before their children as a rule, so that the second time finds nothing more */
        more = false;
        for (struct task *t = c->tasks; t; t = t->hh.next) {
            const struct task *parent = t->chosen || t->launched.parent_id[0] == '\0'
                                            ? NULL
                                            : task_find(c, t->launched.parent_id);
            if (parent && parent->chosen)
                more = t->chosen = true;
        }
    }
}

/* Puts the chosen tasks into an array, because a change may free the task that it concerns. */
static size_t list_chosen(struct core *c, struct task ***ret)
{
    size_t n = 0;
    *ret = arena_array(&c->out->arena, struct task *, HASH_COUNT(c->tasks) + 1);
    for (struct task *t = c->tasks; t; t = t->hh.next)
        if (t->chosen)
            (*ret)[n++] = t;
    return n;
}

static int check_named(const struct core *c, const struct core_event *ev, struct error *err)
{
    const char *id = ev->generic.named, *verb = ev->generic.what == GENERIC_PAUSE ? "paused" : "unpaused";
    const struct task *t = task_find(c, id);
    if (ev->generic.what == GENERIC_KILL)
        return 0;
    if (!is_generic(t))
        return error_set(err, ERR_PRECONDITION, "task '%s' has ended, so that it cannot be %s", id, verb);
    if (t->launched.state == GENERIC_STOPPING_CANCELED)
        return error_set(err, ERR_PRECONDITION, "task '%s' is being killed, so that it cannot be %s", id, verb);
    if (ev->generic.what == GENERIC_PAUSE && t->launched.no_pause)
        return error_set(err, ERR_PRECONDITION,
                         "task '%s' was created with no_pause, so that it cannot be paused; it can be killed", id);
    return 0;
}

/* A pool can have gone from the configuration of the master while a task of it was paused. */
static int check_pools(const struct core *c, struct task *const *t, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (t[i]->launched.state == GENERIC_PAUSED && !pool_find(c, t[i]->launched.pool))
            return error_set(err, ERR_PRECONDITION,
                             "task '%s' cannot be unpaused: its resource pool \"%s\" does not exist any more",
                             t[i]->row.id, t[i]->launched.pool);
    return 0;
}

int generic_change(struct core *c, const struct core_event *ev, struct error *err)
{
    static void (*const change[])(struct core *c, struct task *t) = {[GENERIC_PAUSE] = pause_task,
                                                                     [GENERIC_UNPAUSE] = unpause_task,
                                                                     [GENERIC_KILL] = kill_task};
    struct task **t;
    if (check_named(c, ev, err) < 0)
        return -1;
    choose_tasks(c, ev);
    size_t n = list_chosen(c, &t);
    if (ev->generic.what == GENERIC_UNPAUSE && check_pools(c, t, n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        change[ev->generic.what](c, t[i]);
    return 0;
}

/* ---- the end of an allocation ------------------------------------------------------------------------------------ */

static bool has_failed(const struct allocation_row *ended)
{
    return ended->exit_kind == EXIT_FAILED || ended->exit_kind == EXIT_TASK_ERROR ||
           ended->exit_kind == EXIT_TASK_REFUSED;
}

void generic_allocation_ended(struct core *c, struct task *t, const struct allocation_row *ended)
{
    bool preempted = ended->preempt_deadline_us != 0 && !exit_kind_is_node_fault(ended->exit_kind);
    t->allocation = NULL;
    if (!is_generic(t))
        task_end(c, t);
    else if (t->launched.state == GENERIC_STOPPING_CANCELED)
        end_by(c, t, GENERIC_STOPPING_CANCELED, GENERIC_CANCELED);
    else if (has_failed(ended))
        end_by(c, t, GENERIC_STOPPING_ERROR, GENERIC_ERROR);
    else if (ended->exit_kind == EXIT_OK && !ended->preempt_acked)
        end_by(c, t, GENERIC_STOPPING_COMPLETED, GENERIC_COMPLETED);
    else if (t->launched.state == GENERIC_STOPPING_PAUSED)
        set_paused(c, t);
    else if (preempted)
        allocation_request_for_task(c, t, pool_find(c, t->launched.pool));
    else
        end_by(c, t, GENERIC_STOPPING_ERROR, GENERIC_ERROR);
}

/* ---- restart ----------------------------------------------------------------------------------------------------- */

/* An allocation and the state of its task are stored in one transaction. So a task that should have an allocation lacks
 * it only if the allocation could not be restored. */
void generic_resume(struct core *c, struct task *t)
{
    if (t->allocation)
        return;
    if (!is_generic(t))
        task_end(c, t);
    else if (t->launched.state == GENERIC_PAUSED)
        task_leave_queue(c, t);
    else if (t->launched.state == GENERIC_STOPPING_PAUSED)
        set_paused(c, t);
    else if (t->launched.state == GENERIC_STOPPING_CANCELED)
        end_by(c, t, GENERIC_STOPPING_CANCELED, GENERIC_CANCELED);
    else
        end_by(c, t, GENERIC_STOPPING_ERROR, GENERIC_ERROR);
}
