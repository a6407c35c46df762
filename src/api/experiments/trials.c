/* Trials: details, lists, workloads, killing, and what the code of a trial reports except metrics (reports.c). */
#include <math.h>

#include "api/checkpoints/checkpoint_access.h"
#include "api/metrics/chart.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/metrics/metrics.h"

/* ---- details and list: display states from the core, everything else from the store ------------------------------ */

static int get_trial_read(struct req *r, struct store *db, struct error *err)
{
    const struct wire_get_trial_request *in = r->in;
    struct wire_get_trial_response *ret = r->ret;
    const enum display_state *display = r->state;
    struct store_trial t;
    if (store_trial_get(db, in->trial_id, /* full= */ true, &r->arena, &t, err) < 0)
        return -1;
    struct wire_trial *w = arena_new(&r->arena, struct wire_trial);
    trial_to_wire(&t, *display, r->now_us, &r->arena, w);
    ret->trial = w;
    return 0;
}

int api_get_trial(struct req *r, struct core *core, const struct wire_get_trial_request *in,
                  struct wire_get_trial_response *ret, struct error *err)
{
    enum display_state *display = arena_new(&r->arena, enum display_state);
    struct core_trial_view view;
    *display = core_trial(core, in->trial_id, &view) ? view.display : DISPLAY_STORED;
    r->state = display;
    return req_then_read(r, get_trial_read);
}

/* The core is asked after the store. A trial that has ended in between shows its stored state, which is right as
 * well. */
static int list_trials_display(struct req *r, struct core *core, struct error *err)
{
    struct wire_get_experiment_trials_response *ret = r->ret;
    const struct store_trial_list *list = r->state;
    for (size_t i = 0; i < list->trial_n; i++) {
        struct core_trial_view view;
        bool live = core_trial(core, list->trial[i].row.id, &view);
        trial_to_wire(&list->trial[i], live ? view.display : DISPLAY_STORED, r->now_us, &r->arena, &ret->trials[i]);
    }
    return 0;
}

int api_get_experiment_trials(struct req *r, struct store *db, const struct wire_get_experiment_trials_request *in,
                              struct wire_get_experiment_trials_response *ret, struct error *err)
{
    struct store_trial_filter f = {.experiment_id = in->experiment_id,
                                   .states = experiment_state_names(in->states, in->states_n, &r->arena),
                                   .sort_by = (int32_t)in->sort_by,
                                   .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                   .now_us = r->now_us,
                                   .page = page_of(in->offset, in->limit)};
    struct store_experiment x;
    struct store_trial_list *list = arena_new(&r->arena, struct store_trial_list);
    if (store_experiment_get(db, in->experiment_id, /* with_config= */ false, &r->arena, &x, err) < 0 ||
        store_trial_list(db, &f, &r->arena, list, err) < 0)
        return -1;
    ret->trials = arena_array(&r->arena, struct wire_trial, list->trial_n + 1);
    ret->trials_n = list->trial_n;
    ret->pagination = pagination(f.page, list->window, &r->arena);
    r->state = list;
    return req_then_loop(r, list_trials_display);
}

/* ---- workloads --------------------------------------------------------------------------------------------------- */

static const struct wire_trial_metrics_workload *metrics_workload(const struct store_workload *w, bool batches,
                                                                  struct arena *a, struct error *err)
{
    struct wire_common_metrics *m = arena_new(a, struct wire_common_metrics);
    m->avg_metrics = w->avg_metrics;
    if (batches && w->batch_metrics &&
        raw_list_of_json(w->batch_metrics, a, &m->batch_metrics, &m->batch_metrics_n, err) < 0)
        return NULL;
    struct wire_trial_metrics_workload *ret = arena_new(a, struct wire_trial_metrics_workload);
    *ret = (struct wire_trial_metrics_workload){.end_time = w->end_us,
                                                .has_end_time = w->end_us != 0,
                                                .metrics = m,
                                                .total_batches = w->total_batches};
    return ret;
}

static const struct wire_trial_checkpoint_workload *checkpoint_workload(const struct store_workload *w, struct arena *a)
{
    struct wire_trial_checkpoint_workload *ret = arena_new(a, struct wire_trial_checkpoint_workload);
    *ret = (struct wire_trial_checkpoint_workload){.uuid = w->uuid,
                                                   .end_time = w->end_us,
                                                   .has_end_time = w->end_us != 0,
                                                   .state = (enum wire_checkpoint_state)
                                                       state_number(&wire_enum_checkpoint_state, w->state),
                                                   .total_batches = w->total_batches,
                                                   .metadata = w->metadata};
    resources_to_wire(w->resources, a, &ret->resources, &ret->resources_n);
    return ret;
}

int api_get_trial_workloads(struct req *r, struct store *db, const struct wire_get_trial_workloads_request *in,
                            struct wire_get_trial_workloads_response *ret, struct error *err)
{
    struct store_workload_filter f = {.trial_id = in->trial_id,
                                      .filter = (int32_t)in->filter,
                                      .group = chart_group(in->group, in->metric_type),
                                      .batch_metrics = in->include_batch_metrics,
                                      .remove_deleted_checkpoints = in->remove_deleted_checkpoints,
                                      .sort_key = in->sort_key && *in->sort_key ? in->sort_key : NULL,
                                      .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                      .page = page_of(in->offset, in->limit)};
    struct store_trial t;
    struct store_workload_list list;
    if (store_trial_get(db, in->trial_id, /* full= */ false, &r->arena, &t, err) < 0 ||
        store_workload_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->workloads = arena_array(&r->arena, struct wire_workload_container, list.workload_n + 1);
    ret->workloads_n = list.workload_n;
    for (size_t i = 0; i < list.workload_n; i++) {
        const struct store_workload *w = &list.workload[i];
        if (w->kind == STORE_WORKLOAD_CHECKPOINT)
            ret->workloads[i].checkpoint = checkpoint_workload(w, &r->arena);
        else if (w->kind == STORE_WORKLOAD_VALIDATION)
            ret->workloads[i].validation = metrics_workload(w, in->include_batch_metrics, &r->arena, err);
        else
            ret->workloads[i].training = metrics_workload(w, in->include_batch_metrics, &r->arena, err);
        if (err->kind)
            return -1;
    }
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

/* ---- kill -------------------------------------------------------------------------------------------------------- */

static int kill_of_ended(struct req *r, struct store *db, struct error *err)
{
    const struct wire_kill_trial_request *in = r->in;
    struct store_trial t;
    return store_trial_get(db, in->id, /* full= */ false, &r->arena, &t, err); /* the trial is over already: success */
}

int api_kill_trial(struct req *r, struct core *core, const struct wire_kill_trial_request *in,
                   struct wire_kill_trial_response *ret, struct error *err)
{
    struct core_event ev = {.type = CORE_TRIAL_KILL, .now_us = r->now_us, .trial_id = in->id};
    cleanup_error struct error failed = ERROR_INIT;
    if (req_core_step(r, core, &ev, NULL, &failed) == 0)
        return 0;
    return error_pass_unless(&failed, ERR_NOT_FOUND, err) ? -1 : req_then_read(r, kill_of_ended);
}

/* ---- what the code of a trial reports about itself --------------------------------------------------------------- */

int api_report_trial_progress(struct req *r, struct core *core, const struct wire_report_trial_progress_request *in,
                              struct wire_report_trial_progress_response *ret, struct error *err)
{
    double progress = isfinite(in->progress) ? in->progress : 0; /* not a number counts as no progress */
    if (progress < 0)
        return error_set(err, ERR_INVALID, "progress is %g, it must not be negative", in->progress);
    struct core_event ev = {.type = CORE_TRIAL_PROGRESS,
                            .now_us = r->now_us,
                            .progress = {.trial_id = in->trial_id, .progress = progress > 1 ? 1 : progress}};
    return req_core_step(r, core, &ev, NULL, err);
}

int api_report_trial_searcher_early_exit(struct req *r, struct core *core,
                                         const struct wire_report_trial_searcher_early_exit_request *in,
                                         struct wire_report_trial_searcher_early_exit_response *ret, struct error *err)
{
    if (!in->early_exit || in->early_exit->reason == WIRE_TRIAL_EARLY_EXIT_EXITED_REASON_UNSPECIFIED)
        return error_set(err, ERR_INVALID,
                         "reason is missing; EXITED_REASON_INVALID_HP and EXITED_REASON_INIT_INVALID_HP are allowed");
    struct core_event ev = {.type = CORE_TRIAL_EARLY_EXIT,
                            .now_us = r->now_us,
                            .early_exit = {.trial_id = in->trial_id,
                                           .reason = in->early_exit->reason ==
                                                             WIRE_TRIAL_EARLY_EXIT_EXITED_REASON_INVALID_HP
                                                         ? EARLY_EXIT_INVALID_HP
                                                         : EARLY_EXIT_INIT_INVALID_HP}};
    return req_core_step(r, core, &ev, NULL, err);
}

int api_post_trial_runner_metadata(struct req *r, struct store *db,
                                   const struct wire_post_trial_runner_metadata_request *in,
                                   struct wire_post_trial_runner_metadata_response *ret, struct error *err)
{
    const char *state = in->metadata && in->metadata->state ? in->metadata->state : "";
    return store_trial_set_runner_state(db, in->trial_id, state, err);
}

int api_run_prepare_for_reporting(struct req *r, struct store *db,
                                  const struct wire_run_prepare_for_reporting_request *in,
                                  struct wire_run_prepare_for_reporting_response *ret, struct error *err)
{
    struct store_trial t;
    if (store_trial_get(db, in->run_id, /* full= */ false, &r->arena, &t, err) < 0)
        return -1;
    if (!in->checkpoint_storage)
        return 0;
    const char *canonical;
    if (checkpoint_check_report(r, db, t.row.id, err) < 0 ||
        canonical_json(in->checkpoint_storage, &r->arena, &canonical, err) < 0 ||
        store_storage_backend_id(db, canonical, &ret->storage_id, err) < 0 ||
        store_trial_storage_add(db, t.row.id, ret->storage_id, err) < 0)
        return -1;
    ret->has_storage_id = true;
    return 0;
}

int api_get_run_metadata(struct req *r, struct store *db, const struct wire_get_run_metadata_request *in,
                         struct wire_get_run_metadata_response *ret, struct error *err)
{
    struct store_trial t;
    if (store_trial_get(db, in->run_id, /* full= */ true, &r->arena, &t, err) < 0)
        return -1;
    ret->metadata = t.metadata ? t.metadata : "{}";
    return 0;
}

int api_post_run_metadata(struct req *r, struct store *db, const struct wire_post_run_metadata_request *in,
                          struct wire_post_run_metadata_response *ret, struct error *err)
{
    if (!in->metadata)
        return error_set(err, ERR_INVALID, "metadata is missing");
    if (store_trial_set_metadata(db, in->run_id, in->metadata, err) < 0)
        return -1;
    ret->metadata = in->metadata;
    return 0;
}
