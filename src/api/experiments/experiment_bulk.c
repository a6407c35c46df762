/* Actions on many experiments at once, named by ids or by a filter. The reply has a result for each experiment. */
#include "api/experiments/experiment_actions.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/base/clock.h"
#include "gen/handlers.h"
#include "store/lookup/lookup.h"

struct bulk {
    const struct experiment_action *action;
    struct action_args args;
    struct store_ints ids; /* as the request names them; with a filter, the ids that the filter finds */
    const struct wire_bulk_experiment_filters *filters;
    int32_t project_id; /* the project that the path names; -1: any */
    struct wire_experiment_action_result **results;
    size_t *results_n;
    struct store_experiment_brief *found; /* sorted by id */
    size_t found_n;
    size_t *changed; /* the experiments that the writer has changed, as indexes into the ids */
    size_t changed_n;
    size_t at; /* index of the next id for the loop, which works in parts */
};

/* ---- which experiments ------------------------------------------------------------------------------------------- */

static struct store_experiment_filter filter_of(const struct bulk *b, struct arena *a)
{
    const struct wire_bulk_experiment_filters *f = b->filters;
    struct store_experiment_filter filter = {.name = f->name,
                                             .description = f->description,
                                             .labels = {f->labels, f->labels_n},
                                             .has_archived = f->has_archived,
                                             .archived = f->archived,
                                             .states = experiment_state_names(f->states, f->states_n, a),
                                             .user_ids = {f->user_ids, f->user_ids_n},
                                             .project_id = f->project_id > 0   ? f->project_id
                                                           : b->project_id > 0 ? b->project_id
                                                                               : 0,
                                             .id = {.not_in = {f->excluded_experiment_ids,
                                                               f->excluded_experiment_ids_n}},
                                             .page = {.limit = -1 /* all */}};
    static const char *const paused[] = {"PAUSED"}, *const active[] = {"ACTIVE"};
    enum action_default states = f->states_n > 0 ? DEFAULT_ANY : b->action->default_states;
    if (states == DEFAULT_PAUSED)
        filter.states = (struct store_texts){paused, 1};
    else if (states == DEFAULT_ACTIVE)
        filter.states = (struct store_texts){active, 1};
    filter.only_live = states == DEFAULT_LIVE;
    filter.only_over = states == DEFAULT_OVER;
    return filter;
}

/* The experiment, if it exists, is in the project that the path names, and may be changed by the user who asks. NULL
 * and *err otherwise. */
static const struct store_experiment_brief *find_changeable(const struct req *r, int32_t id, struct error *err)
{
    const struct bulk *b = r->state;
    const struct store_experiment_brief *x = store_row_by_id(b->found, b->found_n, sizeof(*b->found), id);
    if (!x || (b->project_id > 0 && x->project_id != b->project_id)) {
        error_set(err, ERR_NOT_FOUND, "experiment '%d' not found", id);
        return NULL;
    }
    return access_may_change_of(r, ACCESS_EXPERIMENT(id), x->user_id, x->username, x->workspace_id, err) < 0 ? NULL : x;
}

static void set_bulk_reply(struct req *r, size_t i, int32_t id, const struct error *err)
{
    const struct bulk *b = r->state;
    (*b->results)[i] = (struct wire_experiment_action_result){
        .id = id, .error = err->kind ? arena_strdup(&r->arena, error_msg(err)) : ""};
}

/* ---- changes of state: on the loop ------------------------------------------------------------------------------- */

static int change_state(struct req *r, struct core *core, const struct bulk *b, int32_t id, struct error *err)
{
    const struct store_experiment_brief *x = find_changeable(r, id, err);
    if (!x)
        return -1;
    struct core_event ev = {.type = b->action->event, .now_us = r->now_us, .experiment_id = id};
    cleanup_error struct error failed = ERROR_INIT;
    if (req_core_step(r, core, &ev, NULL, &failed) == 0)
        return 0;
    return error_pass_unless(&failed, ERR_NOT_FOUND, err) ? -1 : action_without_core(b->action, x, err);
}

static int change_states(struct req *r, struct core *core, struct error *err)
{
    struct bulk *b = r->state;
    for (int64_t began_us = clock_monotonic_us(); b->at < b->ids.n && !req_turn_is_over(began_us); b->at++) {
        cleanup_error struct error failed = ERROR_INIT;
        change_state(r, core, b, b->ids.value[b->at], &failed);
        set_bulk_reply(r, b->at, b->ids.value[b->at], &failed);
    }
    return b->at < b->ids.n ? req_then_next_turn(r, change_states) : 0;
}

/* ---- all other changes: on the writer's thread, checked against what it reads ------------------------------------ */

static int change_one(struct req *r, struct store *db, const struct bulk *b, int32_t id, struct error *err)
{
    struct store_experiment_brief now;
    if (!find_changeable(r, id, err))
        return -1;
    if (store_experiment_brief(db, id, &now, err) < 0)
        return -1;
    return b->action->change(r, db, &now, &b->args, err);
}

/* Whether the error is about one experiment, and becomes its result. Otherwise the store does not work, and the
 * whole request fails. */
static bool is_judgement(const struct error *failed)
{
    return error_http_status(failed->kind) < 500;
}

static int tell_changed(struct req *r, struct core *core, struct error *err)
{
    struct bulk *b = r->state;
    for (int64_t began_us = clock_monotonic_us(); b->at < b->changed_n && !req_turn_is_over(began_us); b->at++) {
        cleanup_error struct error failed = ERROR_INIT;
        int32_t id = b->ids.value[b->changed[b->at]];
        b->action->changed(r, id, &failed);
        set_bulk_reply(r, b->changed[b->at], id, &failed);
    }
    return b->at < b->changed_n ? req_then_next_turn(r, tell_changed) : 0;
}

static int change_rows(struct req *r, struct store *db, struct error *err)
{
    struct bulk *b = r->state;
    b->changed = arena_array(&r->arena, size_t, b->ids.n + 1);
    b->changed_n = b->at = 0;
    if (b->action->prepare && b->action->prepare(r, db, &b->args, err) < 0)
        return -1;
    for (size_t i = 0; i < b->ids.n; i++) {
        cleanup_error struct error failed = ERROR_INIT;
        if (change_one(r, db, b, b->ids.value[i], &failed) == 0) {
            b->changed[b->changed_n++] = i;
        } else if (!is_judgement(&failed)) {
            error_move(err, &failed);
            return -1;
        }
        set_bulk_reply(r, i, b->ids.value[i], &failed);
    }
    if (b->action->finish)
        return b->action->finish(r, db, &b->args, err);
    return b->action->changed ? req_then_loop(r, tell_changed) : 0;
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

/* Finds the experiments. Runs on the lookup thread. */
static int run_bulk(struct req *r, struct store *db, const struct bulk *request, struct error *err)
{
    struct bulk *b = arena_new(&r->arena, struct bulk);
    *b = *request;
    if (b->filters) {
        struct store_experiment_filter f = filter_of(b, &r->arena);
        struct lookup_found found;
        f.visible = access_workspaces(r, PERMISSION_VIEW_EXPERIMENT_METADATA);
        if (store_experiment_find(db, &f, &r->arena, &found, err) < 0)
            return -1;
        b->ids = found.ids;
    }
    if (store_experiment_briefs(db, b->ids, &r->arena, &b->found, &b->found_n, err) < 0)
        return -1;
    *b->results = arena_array(&r->arena, struct wire_experiment_action_result, b->ids.n + 1);
    *b->results_n = b->ids.n;
    r->state = b;
    return b->action->change ? req_then_write(r, change_rows) : req_then_loop(r, change_states);
}

#define BULK(in, ret) \
    .ids = {(in)->experiment_ids, (in)->experiment_ids_n}, .filters = (in)->filters, .project_id = (in)->project_id, \
    .results = &(ret)->results, .results_n = &(ret)->results_n

int api_activate_experiments(struct req *r, struct store *db, const struct wire_activate_experiments_request *in,
                             struct wire_activate_experiments_response *ret, struct error *err)
{
    return run_bulk(r, db, &(struct bulk){.action = &action_activate, BULK(in, ret)}, err);
}

int api_pause_experiments(struct req *r, struct store *db, const struct wire_pause_experiments_request *in,
                          struct wire_pause_experiments_response *ret, struct error *err)
{
    return run_bulk(r, db, &(struct bulk){.action = &action_pause, BULK(in, ret)}, err);
}

int api_cancel_experiments(struct req *r, struct store *db, const struct wire_cancel_experiments_request *in,
                           struct wire_cancel_experiments_response *ret, struct error *err)
{
    return run_bulk(r, db, &(struct bulk){.action = &action_cancel, BULK(in, ret)}, err);
}

int api_kill_experiments(struct req *r, struct store *db, const struct wire_kill_experiments_request *in,
                         struct wire_kill_experiments_response *ret, struct error *err)
{
    return run_bulk(r, db, &(struct bulk){.action = &action_kill, BULK(in, ret)}, err);
}

int api_archive_experiments(struct req *r, struct store *db, const struct wire_archive_experiments_request *in,
                            struct wire_archive_experiments_response *ret, struct error *err)
{
    return run_bulk(r, db, &(struct bulk){.action = &action_archive, BULK(in, ret)}, err);
}

int api_unarchive_experiments(struct req *r, struct store *db, const struct wire_unarchive_experiments_request *in,
                              struct wire_unarchive_experiments_response *ret, struct error *err)
{
    return run_bulk(r, db, &(struct bulk){.action = &action_unarchive, BULK(in, ret)}, err);
}

int api_delete_experiments(struct req *r, struct store *db, const struct wire_delete_experiments_request *in,
                           struct wire_delete_experiments_response *ret, struct error *err)
{
    return run_bulk(r, db, &(struct bulk){.action = &action_delete, BULK(in, ret)}, err);
}

int api_move_experiments(struct req *r, struct store *db, const struct wire_move_experiments_request *in,
                         struct wire_move_experiments_response *ret, struct error *err)
{
    return run_bulk(
        r, db,
        &(struct bulk){.action = &action_move, .args = {.project_id = in->destination_project_id}, BULK(in, ret)}, err);
}

int api_put_experiments_retain_logs(struct req *r, struct store *db,
                                    const struct wire_put_experiments_retain_logs_request *in,
                                    struct wire_put_experiments_retain_logs_response *ret, struct error *err)
{
    return run_bulk(r, db, &(struct bulk){.action = &action_retain_logs, .args = {.days = in->num_days}, BULK(in, ret)},
                    err);
}
