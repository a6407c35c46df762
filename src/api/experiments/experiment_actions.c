#include "api/experiments/experiment_actions.h"

#include <string.h>

#include "api/cluster/config_policies.h"
#include "api/cluster/pool_bindings.h"
#include "api/cluster/quota_follow.h"
#include "api/pipeline/internal.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"
#include "store/experiments/removals.h"
#include "store/models/models.h"

/* ---- the table: docs/spec/lifecycle.md#requests-about-experiments ------------------------------------------------ */

static int need_terminal(const struct store_experiment_brief *x, struct error *err)
{
    if (run_state_is_over(x->state))
        return 0;
    return error_set(err, ERR_PRECONDITION, "Experiment is not in terminal state.");
}

static int set_archived(struct req *r, struct store *db, const struct store_experiment_brief *x, bool archived,
                        struct error *err)
{
    if (need_terminal(x, err) < 0)
        return -1;
    if (x->archived == archived)
        return error_set(err, ERR_PRECONDITION, "experiment %d is %s already", x->id,
                         archived ? "archived" : "unarchived");
    return store_experiment_set_archived(db, x->id, archived, err);
}

static int archive_experiment(struct req *r, struct store *db, const struct store_experiment_brief *x,
                              const struct action_args *args, struct error *err)
{
    return set_archived(r, db, x, true, err);
}

static int unarchive_experiment(struct req *r, struct store *db, const struct store_experiment_brief *x,
                                const struct action_args *args, struct error *err)
{
    return set_archived(r, db, x, false, err);
}

/* Marks the experiment as DELETING. Its rows are deleted in the background (struct api_services.delete_experiment).
 * A deletion that has failed may be asked for again. */
static int start_deletion(struct req *r, struct store *db, const struct store_experiment_brief *x,
                          const struct action_args *args, struct error *err)
{
    if (!run_state_is_over(x->state) && x->state != RUN_DELETE_FAILED)
        return error_set(err, ERR_PRECONDITION, "cannot delete experiment in STATE_%s state", run_state_name(x->state));
    if (store_check_none_registered(db, x->id, /* trial_id= */ 0, err) < 0)
        return -1;
    return store_experiment_set_state(db, x->id, run_state_name(RUN_DELETING), 0, err);
}

/* Removes the files for TensorBoard. The experiment must be over: trials that still write would go on with files
 * that no longer exist. */
static int delete_tensorboard(struct req *r, struct store *db, const struct store_experiment_brief *x,
                              const struct action_args *args, struct error *err)
{
    if (!run_state_is_over(x->state))
        return error_set(err, ERR_PRECONDITION,
                         "experiment %d is in STATE_%s state: its TensorBoard files can be deleted once "
                         "it is over",
                         x->id, run_state_name(x->state));
    return store_tensorboard_removal_add(db, x->id, r->now_us, err);
}

static int run_removals(struct req *r, int32_t id, struct error *err)
{
    r->api->services.removals_due(r->api->services.ctx);
    return 0;
}

static int run_deletion(struct req *r, int32_t id, struct error *err)
{
    return r->api->services.delete_experiment(r->api->services.ctx, id, /* trial_id= */ 0, err);
}

static int check_destination(struct req *r, struct store *db, const struct action_args *args, struct error *err)
{
    struct store_project_place place;
    if (store_project_place_get(db, args->project_id, &r->arena, &place, err) < 0)
        return -1;
    if (place.archived)
        return error_set(err, ERR_PRECONDITION,
                         "project '%s' or its workspace is archived; unarchive it or choose another project",
                         place.name);
    if (place.deleting)
        return error_set(err, ERR_PRECONDITION,
                         "project '%s' or its workspace is being deleted; choose another project", place.name);
    return 0;
}

static int move_experiment(struct req *r, struct store *db, const struct store_experiment_brief *x,
                           const struct action_args *args, struct error *err)
{
    if (x->archived)
        return error_set(err, ERR_PRECONDITION, "experiment %d is archived; unarchive it before you move it", x->id);
    if (x->place_archived)
        return error_set(
            err, ERR_PRECONDITION,
            "experiment %d is in an archived project or workspace; unarchive that before you move the experiment",
            x->id);
    struct store_project_place to;
    if (store_project_place_get(db, args->project_id, &r->arena, &to, err) < 0 ||
        pool_check_move(r, db, x->project_id, x->id, to.workspace_id, err) < 0 ||
        config_policies_check_move(r, db, x->project_id, x->id, to.workspace_id, err) < 0)
        return -1;
    return store_experiment_set_project(db, x->id, args->project_id, err);
}

static int follow_move(struct req *r, struct store *db, const struct action_args *args, struct error *err)
{
    return quota_follow_project(r, db, args->project_id, err);
}

int check_retention_days(int32_t days, struct error *err)
{
    enum { DAYS_MAX = 32767 }; /* the limit that the configuration has, too: retention_policy.log_retention_days */
    if (days < -1 || days > DAYS_MAX)
        return error_set(err, ERR_INVALID, "num_days is %d, allowed is -1 (for ever) to %d", days, DAYS_MAX);
    return 0;
}

static int check_days(struct req *r, struct store *db, const struct action_args *args, struct error *err)
{
    return check_retention_days(args->days, err);
}

static int retain_logs(struct req *r, struct store *db, const struct store_experiment_brief *x,
                       const struct action_args *args, struct error *err)
{
    if (!run_state_is_over(x->state))
        return error_set(err, ERR_PRECONDITION, "experiment in non terminal state '%s', try again later",
                         run_state_name(x->state));
    return store_experiment_set_log_retention(db, x->id, args->days, err);
}

const struct experiment_action action_activate = {.event = CORE_EXPERIMENT_ACTIVATE, .default_states = DEFAULT_PAUSED};
const struct experiment_action action_pause = {.event = CORE_EXPERIMENT_PAUSE, .default_states = DEFAULT_ACTIVE};
const struct experiment_action action_cancel = {.event = CORE_EXPERIMENT_CANCEL,
                                                .over_is_fine = true,
                                                .default_states = DEFAULT_LIVE};
const struct experiment_action action_kill = {.event = CORE_EXPERIMENT_KILL,
                                              .over_is_fine = true,
                                              .default_states = DEFAULT_LIVE};
const struct experiment_action action_archive = {.change = archive_experiment};
const struct experiment_action action_unarchive = {.change = unarchive_experiment};
const struct experiment_action action_delete = {.change = start_deletion,
                                                .changed = run_deletion,
                                                .default_states = DEFAULT_OVER};
static const struct experiment_action action_delete_tensorboard = {.change = delete_tensorboard,
                                                                   .changed = run_removals};
const struct experiment_action action_move = {.change = move_experiment,
                                              .prepare = check_destination,
                                              .finish = follow_move};
const struct experiment_action action_retain_logs = {.change = retain_logs, .prepare = check_days};

/* ---- one experiment ---------------------------------------------------------------------------------------------- */

struct single {
    const struct experiment_action *action;
    int32_t id;
    struct action_args args;
};

int action_without_core(const struct experiment_action *a, const struct store_experiment_brief *x, struct error *err)
{
    if (a->over_is_fine)
        return 0;
    if (x->unmanaged)
        return error_set(err, ERR_PRECONDITION, "experiment %d is unmanaged: what runs it decides about its state",
                         x->id);
    return error_set(err, ERR_PRECONDITION, "experiment in terminal state");
}

static int state_without_core(struct req *r, struct store *db, struct error *err)
{
    const struct single *s = r->state;
    struct store_experiment_brief x;
    if (store_experiment_brief(db, s->id, &x, err) < 0)
        return -1;
    if (s->action->event == CORE_EXPERIMENT_ACTIVATE && run_state_is_terminal(x.state))
        return error_set(err, ERR_NOT_FOUND, "experiment '%d' not found among those that are not over; it is %s", x.id,
                         run_state_name(x.state));
    return action_without_core(s->action, &x, err);
}

static int request_state(struct req *r, struct core *core, struct error *err)
{
    const struct single *s = r->state;
    struct core_event ev = {.type = s->action->event, .now_us = r->now_us, .experiment_id = s->id};
    cleanup_error struct error failed = ERROR_INIT;
    if (req_core_step(r, core, &ev, NULL, &failed) == 0)
        return 0;
    return error_pass_unless(&failed, ERR_NOT_FOUND, err) ? -1 : req_then_read(r, state_without_core);
}

static int tell_changed(struct req *r, struct core *core, struct error *err)
{
    const struct single *s = r->state;
    return s->action->changed(r, s->id, err);
}

static int request_change(struct req *r, struct store *db, struct error *err)
{
    const struct single *s = r->state;
    struct store_experiment_brief x;
    if ((s->action->prepare && s->action->prepare(r, db, &s->args, err) < 0) ||
        store_experiment_brief(db, s->id, &x, err) < 0 || s->action->change(r, db, &x, &s->args, err) < 0)
        return -1;
    if (s->action->finish)
        return s->action->finish(r, db, &s->args, err);
    return s->action->changed ? req_then_loop(r, tell_changed) : 0;
}

static void keep_single(struct req *r, const struct experiment_action *a, int32_t experiment_id,
                        const struct action_args *args)
{
    struct single *s = arena_new(&r->arena, struct single);
    *s = (struct single){.action = a, .id = experiment_id, .args = args ? *args : (struct action_args){0}};
    r->state = s;
}

/* Makes an action that changes the state. Runs on the loop. */
static int action_on_state(struct req *r, struct core *core, const struct experiment_action *a, int32_t experiment_id,
                           struct error *err)
{
    keep_single(r, a, experiment_id, NULL);
    return request_state(r, core, err);
}

/* Makes any other action. Runs on the writer's thread. */
static int action_on_row(struct req *r, struct store *db, const struct experiment_action *a, int32_t experiment_id,
                         const struct action_args *args, struct error *err)
{
    keep_single(r, a, experiment_id, args);
    return request_change(r, db, err);
}

/* ---- the routes -------------------------------------------------------------------------------------------------- */

int api_activate_experiment(struct req *r, struct core *core, const struct wire_activate_experiment_request *in,
                            struct wire_activate_experiment_response *ret, struct error *err)
{
    return action_on_state(r, core, &action_activate, in->id, err);
}

int api_pause_experiment(struct req *r, struct core *core, const struct wire_pause_experiment_request *in,
                         struct wire_pause_experiment_response *ret, struct error *err)
{
    return action_on_state(r, core, &action_pause, in->id, err);
}

int api_cancel_experiment(struct req *r, struct core *core, const struct wire_cancel_experiment_request *in,
                          struct wire_cancel_experiment_response *ret, struct error *err)
{
    return action_on_state(r, core, &action_cancel, in->id, err);
}

int api_kill_experiment(struct req *r, struct core *core, const struct wire_kill_experiment_request *in,
                        struct wire_kill_experiment_response *ret, struct error *err)
{
    return action_on_state(r, core, &action_kill, in->id, err);
}

int api_archive_experiment(struct req *r, struct store *db, const struct wire_archive_experiment_request *in,
                           struct wire_archive_experiment_response *ret, struct error *err)
{
    return action_on_row(r, db, &action_archive, in->id, NULL, err);
}

int api_unarchive_experiment(struct req *r, struct store *db, const struct wire_unarchive_experiment_request *in,
                             struct wire_unarchive_experiment_response *ret, struct error *err)
{
    return action_on_row(r, db, &action_unarchive, in->id, NULL, err);
}

int api_delete_experiment(struct req *r, struct store *db, const struct wire_delete_experiment_request *in,
                          struct wire_delete_experiment_response *ret, struct error *err)
{
    return action_on_row(r, db, &action_delete, in->experiment_id, NULL, err);
}

int api_delete_tensorboard_files(struct req *r, struct store *db,
                                 const struct wire_delete_tensorboard_files_request *in,
                                 struct wire_delete_tensorboard_files_response *ret, struct error *err)
{
    return action_on_row(r, db, &action_delete_tensorboard, in->experiment_id, NULL, err);
}

int api_move_experiment(struct req *r, struct store *db, const struct wire_move_experiment_request *in,
                        struct wire_move_experiment_response *ret, struct error *err)
{
    struct action_args args = {.project_id = in->destination_project_id};
    return action_on_row(r, db, &action_move, in->experiment_id, &args, err);
}

int api_put_experiment_retain_logs(struct req *r, struct store *db,
                                   const struct wire_put_experiment_retain_logs_request *in,
                                   struct wire_put_experiment_retain_logs_response *ret, struct error *err)
{
    struct action_args args = {.days = in->num_days};
    return action_on_row(r, db, &action_retain_logs, in->experiment_id, &args, err);
}
