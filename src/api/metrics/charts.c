/* Charts of an experiment's trials: samples of the best trials' series, and the values of all trials at one number
 * of batches. The streams repeat while the experiment runs. */
#include <stdlib.h>

#include "api/metrics/chart.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/repeated.h"
#include "gen/handlers.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"

enum { TRIALS_DEFAULT = 25, MARGIN_MAX = 100 };

/* ---- samples of an experiment's trials --------------------------------------------------------------------------- */

/* The trials in the order of their best searcher metric; trials without one come last. */
static int best_trials(struct req *r, struct store *db, int32_t experiment_id, int32_t max, struct arena *a,
                       struct store_trial_list *ret, struct error *err)
{
    enum { BY_BEST_VALIDATION = 7 }; /* of api.v1.GetExperimentTrialsRequest.SortBy */
    struct store_experiment x;
    if (store_experiment_get(db, experiment_id, /* with_config= */ false, a, &x, err) < 0)
        return -1;
    const struct store_trial_filter f = {.experiment_id = experiment_id,
                                         .sort_by = BY_BEST_VALIDATION,
                                         .descending = !x.smaller_is_better,
                                         .page = page_of(0, max)};
    return store_trial_list(db, &f, a, ret, err);
}

struct sampled {
    int32_t trial_id, batches; /* the last point that was sent */
    bool now;
};
struct sample {
    struct sampled *trial;
    size_t n;
};

static struct sampled *find_sampled(const struct sample *s, int32_t trial_id)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->trial[i].trial_id == trial_id)
            return &s->trial[i];
    return NULL;
}

/* Sends the trial's points that were not sent yet. Hyperparameters are sent with the first points only. */
static int sample_trial(struct req *r, struct store *db, const struct store_trial *t, size_t beside,
                        struct sampled *was, struct sampled *is, struct arena *a,
                        struct wire_trials_sample_response_trial *ret, struct error *err)
{
    const struct wire_trials_sample_request *in = r->in;
    struct store_series_query q = {.trial_id = t->row.id,
                                   .group = chart_group(in->group, in->metric_type),
                                   .names = {(const char *const *)&in->metric_name, 1},
                                   .start_batches = was ? (int64_t)was->batches + 1 : in->start_batches,
                                   .end_batches = in->end_batches,
                                   .has_end = in->end_batches != 0,
                                   .max_points = in->max_datapoints ? in->max_datapoints : CHART_POINTS_DEFAULT,
                                   .beside = beside};
    struct store_point *point;
    *is = (struct sampled){.trial_id = t->row.id, .batches = was ? was->batches : -1};
    *ret = (struct wire_trials_sample_response_trial){.trial_id = t->row.id, .hparams = was ? "{}" : t->row.hparams};
    if (q.has_end && q.start_batches > q.end_batches)
        return 0;
    if (store_metric_series(db, &q, a, &point, &ret->data_n, err) < 0)
        return -1;
    chart_points_to_wire(point, ret->data_n, a, &ret->data);
    if (ret->data_n)
        is->batches = point[ret->data_n - 1].batches;
    return 0;
}

static int fetch_sample(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_trials_sample_request *in = r->in;
    struct repeated *p = r->state;
    struct sample *seen = p->seen, now;
    struct wire_trials_sample_response out = {0};
    struct store_trial_list list;
    bool over;
    if (chart_is_over(r, db, &in->experiment_id, 1, &over, err) < 0 ||
        best_trials(r, db, in->experiment_id, in->max_trials ? in->max_trials : TRIALS_DEFAULT, &a, &list, err) < 0)
        return -1;
    now = (struct sample){.trial = arena_array(&r->arena, struct sampled, list.trial_n + 1)};
    out.trials = arena_array(&a, struct wire_trials_sample_response_trial, list.trial_n + 1);
    out.promoted_trials = arena_array(&a, int32_t, list.trial_n + 1);
    out.demoted_trials = arena_array(&a, int32_t, seen->n + 1);
    for (size_t i = 0; i < list.trial_n; i++) {
        struct sampled *was = find_sampled(seen, list.trial[i].row.id);
        if (sample_trial(r, db, &list.trial[i], list.trial_n - 1, was, &now.trial[now.n++], &a,
                         &out.trials[out.trials_n++], err) < 0)
            return -1;
        if (was)
            was->now = true;
        else
            out.promoted_trials[out.promoted_trials_n++] = list.trial[i].row.id;
    }
    for (size_t i = 0; i < seen->n; i++)
        if (!seen->trial[i].now)
            out.demoted_trials[out.demoted_trials_n++] = seen->trial[i].trial_id;
    *seen = now;
    repeated_send(r, true, &out);
    *next = over ? STREAM_END : STREAM_WAIT;
    return 0;
}

int api_trials_sample(struct req *r, struct core *core, const struct wire_trials_sample_request *in, struct error *err)
{
    int32_t points;
    if (chart_check_metric(in->metric_name, chart_group(in->group, in->metric_type), err) < 0 ||
        chart_check_points(in->max_datapoints, &points, err) < 0 ||
        chart_check_range(in->start_batches, in->end_batches, err) < 0)
        return -1;
    if (in->max_trials < 0 || in->max_trials > CHART_TRIALS_MAX)
        return error_set(err, ERR_INVALID, "maxTrials is %d, allowed is 0 (%d) to %d", in->max_trials, TRIALS_DEFAULT,
                         CHART_TRIALS_MAX);
    return repeated_stream(r, in->period_seconds, arena_new(&r->arena, struct sample), fetch_sample, err);
}

/* ---- all trials at one number of batches ------------------------------------------------------------------------- */

/* The trial's point that is nearest to the requested number of batches. */
static int snapshot_trial(struct req *r, struct store *db, const struct store_trial *t, struct arena *a,
                          struct wire_trials_snapshot_response *out, struct error *err)
{
    const struct wire_trials_snapshot_request *in = r->in;
    struct store_series_query q = {.trial_id = t->row.id,
                                   .group = chart_group(in->group, in->metric_type),
                                   .names = {(const char *const *)&in->metric_name, 1},
                                   .start_batches = (int64_t)in->batches_processed - in->batches_margin,
                                   .end_batches = (int64_t)in->batches_processed + in->batches_margin,
                                   .has_end = true};
    struct store_point *point, *best = NULL;
    size_t n;
    if (store_metric_series(db, &q, a, &point, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!best || abs(point[i].batches - in->batches_processed) < abs(best->batches - in->batches_processed))
            best = &point[i];
    if (best)
        out->trials[out->trials_n++] = (struct wire_trials_snapshot_response_trial){.trial_id = t->row.id,
                                                                                    .hparams = t->row.hparams,
                                                                                    .metric = best->first,
                                                                                    .batches_processed = best->batches};
    return 0;
}

static int fetch_snapshot(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_trials_snapshot_request *in = r->in;
    struct wire_trials_snapshot_response out = {0};
    struct store_trial_list list;
    bool over;
    if (chart_is_over(r, db, &in->experiment_id, 1, &over, err) < 0 ||
        best_trials(r, db, in->experiment_id, /* all of them */ -1, &a, &list, err) < 0)
        return -1;
    out.trials = arena_array(&a, struct wire_trials_snapshot_response_trial, list.trial_n + 1);
    for (size_t i = 0; i < list.trial_n; i++)
        if (snapshot_trial(r, db, &list.trial[i], &a, &out, err) < 0)
            return -1;
    repeated_send(r, true, &out);
    *next = over ? STREAM_END : STREAM_WAIT;
    return 0;
}

int api_trials_snapshot(struct req *r, struct core *core, const struct wire_trials_snapshot_request *in,
                        struct error *err)
{
    if (chart_check_metric(in->metric_name, chart_group(in->group, in->metric_type), err) < 0)
        return -1;
    if (in->batches_processed <= 0)
        return error_set(err, ERR_INVALID, "batchesProcessed is %d, it must be 1 or more", in->batches_processed);
    if (in->batches_margin < 0 || in->batches_margin > MARGIN_MAX)
        return error_set(err, ERR_INVALID, "batchesMargin is %d, allowed is 0 to %d", in->batches_margin, MARGIN_MAX);
    return repeated_stream(r, in->period_seconds, NULL, fetch_snapshot, err);
}
