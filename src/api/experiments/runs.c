/* Runs, that is the trials of all experiments in one list: queries, and actions on many runs at once. A run can be
 * killed, archived and deleted on its own. Pausing, resuming and moving a run affects its whole experiment. */
#include <string.h>

#include "api/experiments/experiment_actions.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/base/clock.h"
#include "gen/handlers.h"
#include "store/experiments/experiments.h"
#include "store/lookup/lookup.h"
#include "store/models/models.h"

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* The state as stored. Whether an active run is waiting or running is known to its trial only. */
static enum wire_trial_state run_state_to_wire(enum run_state state)
{
    return state == RUN_ACTIVE ? WIRE_TRIAL_STATE_ACTIVE : trial_state_to_wire(state, DISPLAY_STORED);
}

static void run_to_wire(const struct store_run *s, int64_t now_us, struct arena *a, struct wire_run_flat_run *ret)
{
    struct wire_run_flat_run_experiment *x = arena_new(a, struct wire_run_flat_run_experiment);
    *x = (struct wire_run_flat_run_experiment){.id = s->experiment.id,
                                               .searcher_type = s->experiment.searcher_type,
                                               .searcher_metric = s->experiment.searcher_metric,
                                               .forked_from = s->experiment.parent_id,
                                               .has_forked_from = s->experiment.has_parent,
                                               .external_experiment_id = s->experiment.external_id,
                                               .resource_pool = s->experiment.resource_pool,
                                               .progress = (float)s->experiment.progress,
                                               .description = s->experiment.description,
                                               .name = s->experiment.name,
                                               .unmanaged = s->experiment.unmanaged,
                                               .is_multitrial = s->experiment.multitrial};
    *ret = (struct wire_run_flat_run){.id = s->id,
                                      .start_time = s->start_us,
                                      .has_start_time = s->start_us != 0,
                                      .end_time = s->end_us,
                                      .has_end_time = s->end_us != 0,
                                      .state = run_state_to_wire(s->state),
                                      .checkpoint_size = s->checkpoint_size,
                                      .checkpoint_count = s->checkpoint_count,
                                      .searcher_metric_value = s->metric,
                                      .has_searcher_metric_value = s->has_metric,
                                      .external_run_id = s->external_id,
                                      .hyperparameters = s->hparams,
                                      .summary_metrics = s->summary_metrics,
                                      .user_id = s->experiment.user_id,
                                      .has_user_id = true,
                                      .duration = (int32_t)(((s->end_us ? s->end_us : now_us) - s->start_us) / 1000000),
                                      .has_duration = s->start_us != 0,
                                      .project_id = s->project_id,
                                      .project_name = s->project_name,
                                      .workspace_id = s->workspace_id,
                                      .workspace_name = s->workspace_name,
                                      .parent_archived = s->parent_archived,
                                      .experiment = x,
                                      .metadata = s->metadata,
                                      .archived = s->archived,
                                      .local_id = arena_printf(a, "%s-%d", s->project_key, s->id),
                                      .log_policy_matched = s->log_policy_matched};
    string_list_of_json(s->experiment.labels, a, &ret->labels, &ret->labels_n, NULL);
}

static int show_runs(struct req *r, struct store *db, struct error *err)
{
    struct wire_search_runs_response *ret = r->ret;
    const struct lookup_found *found = r->state;
    struct store_run *run;
    size_t n;
    if (store_runs_shown(db, found->ids, &r->arena, &run, &n, err) < 0)
        return -1;
    ret->runs = arena_array(&r->arena, struct wire_run_flat_run, n + 1);
    ret->runs_n = n;
    for (size_t i = 0; i < n; i++)
        run_to_wire(&run[i], r->now_us, &r->arena, &ret->runs[i]);
    return 0;
}

int api_search_runs(struct req *r, struct store *db, const struct wire_search_runs_request *in,
                    struct wire_search_runs_response *ret, struct error *err)
{
    const struct page page = page_of(in->offset, in->limit);
    struct lookup_found *found = arena_new(&r->arena, struct lookup_found);
    struct lookup *search;
    if (lookup_parse(LOOKUP_RUNS, in->filter, in->sort, r->now_us, &r->arena, &search, err) < 0)
        return -1;
    lookup_limit(search, access_workspaces(r, PERMISSION_VIEW_EXPERIMENT_METADATA));
    if (store_lookup(db, search, in->has_project_id ? in->project_id : 0, page, &r->arena, found, err) < 0)
        return -1;
    ret->pagination = pagination(page, found->window, &r->arena);
    r->state = found;
    return req_then_read(r, show_runs);
}

/* ---- actions: which runs ----------------------------------------------------------------------------------------- */

struct runs_request;
/* An action is either an event of the core, made on the loop, or a change of the store, made on the writer's thread. */
typedef int run_event_fn(struct req *r, struct core *core, const struct runs_request *b,
                         const struct store_run_brief *run, struct error *err);
typedef int run_change_fn(struct req *r, struct store *db, const struct runs_request *b,
                          const struct store_run_brief *run, struct error *err);

struct runs_request {
    struct store_ints ids; /* as the request names them; with a filter, the ids that the filter finds */
    const char *filter;
    int32_t project_id;  /* 0 or less: any project */
    run_event_fn *event; /* exactly one of event and change is set */
    run_change_fn *change;
    struct action_args args;
    bool skip_multitrial;
    req_loop_fn *then; /* called on the loop when everything is committed; NULL: nothing to do */
    bool *acted;       /* for each id, whether the action was done */
    size_t at;         /* index of the next id: the loop works in parts */
    struct wire_run_action_result **results;
    size_t *results_n;
    struct store_run_brief *found; /* sorted by id */
    size_t found_n;
};

static const struct store_run_brief *find_runs(const struct runs_request *b, int32_t id)
{
    const struct store_run_brief *run = store_row_by_id(b->found, b->found_n, sizeof(*b->found), id);
    return run && (b->project_id <= 0 || run->experiment.project_id == b->project_id) ? run : NULL;
}

/* The run, if it exists and may be changed by the one who asks; else NULL and *err. A run belongs to the owner of
 * its experiment. */
static const struct store_run_brief *find_changeable(struct req *r, int32_t id, struct error *err)
{
    const struct store_run_brief *run = find_runs(r->state, id);
    if (!run)
        error_set(err, ERR_NOT_FOUND, "run '%d' not found", id);
    else if (access_may_change_of(r, ACCESS_TRIAL(run->id), run->experiment.user_id, run->experiment.username,
                                  run->experiment.workspace_id, err) < 0)
        run = NULL;
    return run;
}

/* Adds the result for one run. -1: the store does not work, and the whole request fails. */
static int answer_run(struct req *r, size_t i, struct error *failed, struct error *err)
{
    struct runs_request *b = r->state;
    if (failed->kind && error_http_status(failed->kind) >= 500) {
        error_move(err, failed);
        return -1;
    }
    b->acted[i] = !failed->kind;
    (*b->results)[i] = (struct wire_run_action_result){
        .id = b->ids.value[i], .error = failed->kind ? arena_strdup(&r->arena, error_msg(failed)) : ""};
    return 0;
}

static int tell_runs(struct req *r, struct core *core, struct error *err)
{
    struct runs_request *b = r->state;
    for (int64_t began_us = clock_monotonic_us(); b->at < b->ids.n; b->at++) {
        if (req_turn_is_over(began_us))
            return req_then_next_turn(r, tell_runs);
        cleanup_error struct error failed = ERROR_INIT;
        const struct store_run_brief *run = find_changeable(r, b->ids.value[b->at], &failed);
        if (run)
            b->event(r, core, b, run, &failed);
        if (answer_run(r, b->at, &failed, err) < 0)
            return -1;
    }
    return 0;
}

static int change_runs(struct req *r, struct store *db, struct error *err)
{
    struct runs_request *b = r->state;
    for (size_t i = 0; i < b->ids.n; i++) {
        cleanup_error struct error failed = ERROR_INIT;
        const struct store_run_brief *run = find_changeable(r, b->ids.value[i], &failed);
        if (run)
            b->change(r, db, b, run, &failed);
        if (answer_run(r, i, &failed, err) < 0)
            return -1;
    }
    return b->then ? req_then_loop(r, b->then) : 0;
}

static int find_by_filter(struct req *r, struct store *db, struct runs_request *b, struct error *err)
{
    struct lookup *search;
    if (!b->filter || !*b->filter)
        return 0;
    if (b->ids.n)
        return error_set(err, ERR_INVALID, "give ids of runs or a filter, not both");
    if (lookup_parse(LOOKUP_RUNS, b->filter, NULL, r->now_us, &r->arena, &search, err) < 0)
        return -1;
    const struct page all = {.limit = -1};
    struct lookup_found found;
    lookup_limit(search, access_workspaces(r, PERMISSION_VIEW_EXPERIMENT_METADATA));
    if (store_lookup(db, search, b->project_id > 0 ? b->project_id : 0, all, &r->arena, &found, err) < 0)
        return -1;
    b->ids = found.ids;
    return 0;
}

/* Finds the runs. Runs on the lookup thread. */
static int run_request(struct req *r, struct store *db, const struct runs_request *request, struct error *err)
{
    struct runs_request *b = arena_new(&r->arena, struct runs_request);
    *b = *request;
    if (find_by_filter(r, db, b, err) < 0 || store_run_briefs(db, b->ids, &r->arena, &b->found, &b->found_n, err) < 0)
        return -1;
    *b->results = arena_array(&r->arena, struct wire_run_action_result, b->ids.n + 1);
    *b->results_n = b->ids.n;
    b->acted = arena_array(&r->arena, bool, b->ids.n + 1);
    r->state = b;
    return b->event ? req_then_loop(r, tell_runs) : req_then_write(r, change_runs);
}

#define REQUEST(in, ret) \
    .ids = {(in)->run_ids, (in)->run_ids_n}, .filter = (in)->filter, .results = &(ret)->results, \
    .results_n = &(ret)->results_n

/* ---- the actions ------------------------------------------------------------------------------------------------- */

static int kill_run(struct req *r, struct core *core, const struct runs_request *b, const struct store_run_brief *run,
                    struct error *err)
{
    struct core_event ev = {.type = CORE_TRIAL_KILL, .now_us = r->now_us, .trial_id = run->id};
    cleanup_error struct error failed = ERROR_INIT;
    /* a run that has ended already counts as killed */
    if (req_core_step(r, core, &ev, NULL, &failed) == 0)
        return 0;
    return error_pass_unless(&failed, ERR_NOT_FOUND, err) ? -1 : 0;
}

int api_kill_runs(struct req *r, struct store *db, const struct wire_kill_runs_request *in,
                  struct wire_kill_runs_response *ret, struct error *err)
{
    return run_request(r, db, &(struct runs_request){REQUEST(in, ret), .project_id = in->project_id, .event = kill_run},
                       err);
}

static int set_state(struct req *r, struct core *core, const struct experiment_action *action, const char *verb,
                     const struct store_run_brief *run, struct error *err)
{
    if (run->multitrial)
        return error_set(err, ERR_PRECONDITION, "run %d is one of those of experiment %d: %s the experiment", run->id,
                         run->experiment.id, verb);
    struct core_event ev = {.type = action->event, .now_us = r->now_us, .experiment_id = run->experiment.id};
    cleanup_error struct error failed = ERROR_INIT;
    if (req_core_step(r, core, &ev, NULL, &failed) == 0)
        return 0;
    return error_pass_unless(&failed, ERR_NOT_FOUND, err) ? -1 : action_without_core(action, &run->experiment, err);
}

static int pause_run(struct req *r, struct core *core, const struct runs_request *b, const struct store_run_brief *run,
                     struct error *err)
{
    return set_state(r, core, &action_pause, "pause", run, err);
}

static int resume_run(struct req *r, struct core *core, const struct runs_request *b, const struct store_run_brief *run,
                      struct error *err)
{
    return set_state(r, core, &action_activate, "activate", run, err);
}

int api_pause_runs(struct req *r, struct store *db, const struct wire_pause_runs_request *in,
                   struct wire_pause_runs_response *ret, struct error *err)
{
    return run_request(r, db,
                       &(struct runs_request){REQUEST(in, ret), .project_id = in->project_id, .event = pause_run}, err);
}

int api_resume_runs(struct req *r, struct store *db, const struct wire_resume_runs_request *in,
                    struct wire_resume_runs_response *ret, struct error *err)
{
    return run_request(r, db,
                       &(struct runs_request){REQUEST(in, ret), .project_id = in->project_id, .event = resume_run},
                       err);
}

/* Reads the run again on the writer's thread: it may have changed since it was found. */
static int look_again(struct req *r, struct store *db, const struct store_run_brief *run, struct store_run_brief *ret,
                      struct error *err)
{
    struct store_run_brief *now;
    size_t n;
    if (store_run_briefs(db, (struct store_ints){&run->id, 1}, &r->arena, &now, &n, err) < 0)
        return -1;
    if (n == 0)
        return error_set(err, ERR_NOT_FOUND, "run '%d' not found", run->id);
    *ret = now[0];
    return 0;
}

static int set_archived(struct req *r, struct store *db, const struct store_run_brief *seen, bool archived,
                        struct error *err)
{
    struct store_run_brief run = *seen;
    if (look_again(r, db, seen, &run, err) < 0)
        return -1;
    if (!run_state_is_over(run.state))
        return error_set(err, ERR_PRECONDITION, "Run is not in terminal state.");
    if (run.archived == archived)
        return error_set(err, ERR_PRECONDITION, "run %d is %s already", run.id, archived ? "archived" : "unarchived");
    return store_run_set_archived(db, run.id, archived, err);
}

static int archive_run(struct req *r, struct store *db, const struct runs_request *b, const struct store_run_brief *run,
                       struct error *err)
{
    return set_archived(r, db, run, true, err);
}

static int unarchive_run(struct req *r, struct store *db, const struct runs_request *b,
                         const struct store_run_brief *run, struct error *err)
{
    return set_archived(r, db, run, false, err);
}

int api_archive_runs(struct req *r, struct store *db, const struct wire_archive_runs_request *in,
                     struct wire_archive_runs_response *ret, struct error *err)
{
    return run_request(r, db,
                       &(struct runs_request){REQUEST(in, ret), .project_id = in->project_id, .change = archive_run},
                       err);
}

int api_unarchive_runs(struct req *r, struct store *db, const struct wire_unarchive_runs_request *in,
                       struct wire_unarchive_runs_response *ret, struct error *err)
{
    return run_request(r, db,
                       &(struct runs_request){REQUEST(in, ret), .project_id = in->project_id, .change = unarchive_run},
                       err);
}

/* Deletes a run. Its experiment must be over, because a running search rests on all of its trials. The rows are
 * deleted in the background, after the files of the run's checkpoints. */
static int delete_run(struct req *r, struct store *db, const struct runs_request *b, const struct store_run_brief *seen,
                      struct error *err)
{
    struct store_run_brief run = *seen;
    if (look_again(r, db, seen, &run, err) < 0)
        return -1;
    if (!run_state_is_over(run.state))
        return error_set(err, ERR_PRECONDITION, "cannot delete run in STATE_%s state", run_state_name(run.state));
    if (!run_state_is_over(run.experiment.state))
        return error_set(err, ERR_PRECONDITION, "cannot delete run %d while its experiment %d is in STATE_%s state",
                         run.id, run.experiment.id, run_state_name(run.experiment.state));
    if (store_check_none_registered(db, run.experiment.id, run.id, err) < 0)
        return -1;
    return store_run_deletion_add(db, run.experiment.id, run.id, err);
}

static int begin_deletions(struct req *r, struct core *core, struct error *err)
{
    struct runs_request *b = r->state;
    const struct api_services *s = &r->api->services;
    for (int64_t began_us = clock_monotonic_us(); b->at < b->ids.n; b->at++) {
        if (req_turn_is_over(began_us))
            return req_then_next_turn(r, begin_deletions);
        size_t i = b->at;
        cleanup_error struct error failed = ERROR_INIT;
        int32_t id = b->ids.value[i];
        if (b->acted[i] && s->delete_experiment(s->ctx, find_runs(b, id)->experiment.id, id, &failed) < 0)
            (*b->results)[i].error = arena_strdup(&r->arena, error_msg(&failed));
    }
    return 0;
}

int api_delete_runs(struct req *r, struct store *db, const struct wire_delete_runs_request *in,
                    struct wire_delete_runs_response *ret, struct error *err)
{
    return run_request(r, db,
                       &(struct runs_request){REQUEST(in, ret), .project_id = in->project_id, .change = delete_run,
                                              .then = begin_deletions},
                       err);
}

/* A run is always in the project of its experiment, so that the experiment is moved, once. */
static int move_run(struct req *r, struct store *db, const struct runs_request *b, const struct store_run_brief *seen,
                    struct error *err)
{
    struct store_run_brief run = *seen;
    if (look_again(r, db, seen, &run, err) < 0)
        return -1;
    if (run.multitrial && b->skip_multitrial)
        return error_set(err, ERR_PRECONDITION, "run %d is one of those of experiment %d, which is skipped", run.id,
                         run.experiment.id);
    if (run.experiment.project_id == b->args.project_id)
        return 0; /* the experiment was moved for another of its runs */
    return action_move.change(r, db, &run.experiment, &b->args, err);
}

static int check_destination(struct req *r, struct store *db, struct error *err)
{
    const struct runs_request *b = r->state;
    return action_move.prepare(r, db, &b->args, err) < 0 ? -1 : change_runs(r, db, err);
}

int api_move_runs(struct req *r, struct store *db, const struct wire_move_runs_request *in,
                  struct wire_move_runs_response *ret, struct error *err)
{
    int rc = run_request(r, db,
                         &(struct runs_request){REQUEST(in, ret), .project_id = in->source_project_id,
                                                .change = move_run, .args = {.project_id = in->destination_project_id},
                                                .skip_multitrial = in->skip_multitrial},
                         err);
    return rc < 0 ? -1 : req_then_write(r, check_destination);
}
