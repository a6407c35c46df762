/* Generic tasks: creating and forking them, showing them, and what users do to a task and to all tasks below it. */
#include "api/tasks/generic_tasks.h"

#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/tasks/launch_task.h"
#include "api/tasks/launched_views.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"

/* Reads a generic task. Its id may be that of a task of another kind, which then says so. */
static int find_generic(struct req *r, struct store *db, const char *id, struct store_launched_task *ret,
                        struct error *err)
{
    struct store_task task;
    if (store_task_get(db, id ? id : "", &r->arena, &task, err) < 0)
        return -1;
    if (strcmp(task.type, task_kind_name(TASK_KIND_GENERIC)) != 0)
        return error_set(err, ERR_INVALID, "task '%.80s' is of type %s; only tasks of type %s can be used here", id,
                         task.type, task_kind_name(TASK_KIND_GENERIC));
    return store_launched_task_get(db, id, &r->arena, ret, err);
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

int generic_task_show(struct req *r, struct store *db, const char *id, struct wire_task *ret, struct error *err)
{
    struct store_launched_task t;
    const char **child;
    int32_t state = 0;
    size_t n;
    if (store_launched_task_get(db, id, &r->arena, &t, err) < 0 ||
        store_launched_task_children(db, id, &r->arena, &child, &n, err) < 0)
        return -1;
    codec_enum_number(&wire_enum_task_generic_task_state,
                      arena_printf(&r->arena, "GENERIC_TASK_STATE_%s", generic_state_name(t.generic)), &state);
    ret->config = launched_config(r, &t);
    ret->parent_id = t.parent_id;
    ret->forked_from = t.forked_from;
    ret->has_task_state = true;
    ret->task_state = (enum wire_task_generic_task_state)state;
    ret->has_no_pause = true;
    ret->no_pause = t.no_pause;
    ret->child_ids = child;
    ret->child_ids_n = n;
    return 0;
}

int api_get_generic_task_config(struct req *r, struct store *db, const struct wire_get_generic_task_config_request *in,
                                struct wire_get_generic_task_config_response *ret, struct error *err)
{
    struct store_launched_task t;
    if (find_generic(r, db, in->task_id, &t, err) < 0)
        return -1;
    ret->config = launched_config(r, &t);
    return 0;
}

/* ---- creating ---------------------------------------------------------------------------------------------------- */

static void show_created(struct req *r, const struct store_launched_task *t)
{
    struct wire_create_generic_task_response *ret = r->ret;
    ret->task_id = t->id;
}

/* Whoever takes over what another task has, its configuration with secrets or its files, must be allowed to change that
 * task: with roles it is not enough that they may create tasks in its workspace. */
static int may_take_from(struct req *r, struct store *db, const char *task_id, struct error *err)
{
    return access_may_change(r, db, ACCESS_TASK(task_id), err) < 0
               ? -1
               : access_need_of(r, db, PERMISSION_UPDATE_NSC, ACCESS_TASK(task_id), err);
}

/* Takes from the task that is forked what the request does not say itself: the configuration lies below that of the
 * request, and files, workspace, and whether it can be paused are the same. */
static int take_from_forked(struct req *r, struct store *db, const struct wire_create_generic_task_request *in,
                            struct launch *l, struct error *err)
{
    struct store_launched_task t;
    if (!in->forked_from || !*in->forked_from)
        return 0;
    if (may_take_from(r, db, in->forked_from, err) < 0 || find_generic(r, db, in->forked_from, &t, err) < 0)
        return -1;
    l->forked_from = t.id;
    l->workspace_id = t.workspace_id;
    l->base = t.config;
    if (!in->has_no_pause)
        l->no_pause = t.no_pause;
    if (!l->files_n) {
        l->context_hash = t.context_hash;
        l->context_of = t.id;
    }
    return 0;
}

static int take_from_parent(struct req *r, struct store *db, const struct wire_create_generic_task_request *in,
                            struct launch *l, struct error *err)
{
    struct store_launched_task t;
    if (!in->parent_id || !*in->parent_id)
        return in->inherit_context ? error_set(err, ERR_INVALID,
                                               "inheritContext needs parentId: it names the task whose files are used")
                                   : 0;
    if (in->inherit_context && l->files_n)
        return error_set(err, ERR_INVALID,
                         "contextDirectory and inheritContext exclude each other: the task has its own files, or those "
                         "of its parent");
    if (may_take_from(r, db, in->parent_id, err) < 0 || find_generic(r, db, in->parent_id, &t, err) < 0)
        return -1;
    l->parent_id = t.id;
    l->workspace_id = t.workspace_id;
    if (in->inherit_context) {
        l->context_hash = t.context_hash;
        l->context_of = t.id;
    }
    return 0;
}

static int take_workspace_of_project(struct req *r, struct store *db, int32_t project_id, struct launch *l,
                                     struct error *err)
{
    struct store_project_place place;
    if (store_project_place_get(db, project_id, &r->arena, &place, err) < 0)
        return -1;
    if (place.archived || place.deleting)
        return error_set(err, ERR_PRECONDITION, "project '%s' or its workspace is %s; choose another project",
                         place.name, place.deleting ? "being deleted" : "archived");
    l->workspace_id = place.workspace_id;
    return 0;
}

int api_create_generic_task(struct req *r, struct store *db, const struct wire_create_generic_task_request *in,
                            struct wire_create_generic_task_response *ret, struct error *err)
{
    struct launch l = {.kind = TASK_KIND_GENERIC,
                       .text = in->config && *in->config ? in->config : NULL,
                       .files = in->context_directory,
                       .files_n = in->context_directory_n,
                       .no_pause = in->no_pause,
                       .show = show_created,
                       .ret_warnings = &ret->warnings,
                       .ret_warnings_n = &ret->warnings_n,
                       .ret_config_warnings = &ret->config_warnings,
                       .ret_config_warnings_n = &ret->config_warnings_n};
    if (take_from_forked(r, db, in, &l, err) < 0 || take_from_parent(r, db, in, &l, err) < 0)
        return -1;
    if (in->has_project_id && take_workspace_of_project(r, db, in->project_id, &l, err) < 0)
        return -1;
    return launch_task(r, db, &l, err);
}

/* ---- what happens to a tree of tasks ----------------------------------------------------------------------------- */

struct change {
    enum core_generic_what what;
    const char *id, **below;
    size_t below_n;
};

static int change_step(struct req *r, struct core *core, struct error *err)
{
    const struct change *x = r->state;
    struct core_event ev = {.type = CORE_GENERIC_CHANGE,
                            .now_us = r->now_us,
                            .generic = {.what = x->what, .named = x->id, .below = x->below, .below_n = x->below_n}};
    return req_core_step(r, core, &ev, NULL, err);
}

static int begin_change(struct req *r, struct store *db, enum core_generic_what what, const char *id, bool from_root,
                        struct error *err)
{
    struct change *x = arena_new(&r->arena, struct change);
    struct store_launched_task t;
    const char *root = NULL;
    *x = (struct change){.what = what, .id = id};
    r->state = x;
    if (find_generic(r, db, id, &t, err) < 0)
        return -1;
    if (from_root && store_launched_task_root(db, id, &r->arena, &root, err) < 0)
        return -1;
    if (root) {
        x->id = root;
        if (access_may_change(r, db, ACCESS_TASK(root), err) < 0)
            return -1;
    }
    if (store_launched_task_below(db, x->id, &r->arena, &x->below, &x->below_n, err) < 0)
        return -1;
    return req_then_loop(r, change_step);
}

int api_kill_generic_task(struct req *r, struct store *db, const struct wire_kill_generic_task_request *in,
                          struct wire_kill_generic_task_response *ret, struct error *err)
{
    return begin_change(r, db, GENERIC_KILL, in->task_id, in->kill_from_root, err);
}

int api_pause_generic_task(struct req *r, struct store *db, const struct wire_pause_generic_task_request *in,
                           struct wire_pause_generic_task_response *ret, struct error *err)
{
    return begin_change(r, db, GENERIC_PAUSE, in->task_id, /* from_root= */ false, err);
}

int api_unpause_generic_task(struct req *r, struct store *db, const struct wire_unpause_generic_task_request *in,
                             struct wire_unpause_generic_task_response *ret, struct error *err)
{
    return begin_change(r, db, GENERIC_UNPAUSE, in->task_id, /* from_root= */ false, err);
}
