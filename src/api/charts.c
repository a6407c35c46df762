/* What charts are drawn from: series of trials side by side, names, and samples of an experiment that are sent again
 * and again while it runs. */
#include <stdlib.h>
#include <string.h>

#include "api/convert.h"
#include "api/internal.h"
#include "api/repeated.h"
#include "api/stream.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/experiments.h"
#include "store/metrics.h"
#include "store/trials.h"

enum {
    POINTS_DEFAULT = 1000,
    POINTS_MAX = 100000,
    TRIALS_DEFAULT = 25,
    TRIALS_MAX = 1000,
    MARGIN_MAX = 100,
    BATCHES_PER_LINE = 10000,
};

/* ---- what is asked for ---- */

/* The group by its name, or by the older kind; NULL if neither says. */
static const char *group_of(const char *group, enum wire_metric_type type)
{
    if (group && *group)
        return group;
    switch (type) {
    case WIRE_METRIC_TYPE_TRAINING:
        return "training";
    case WIRE_METRIC_TYPE_VALIDATION:
        return "validation";
    default:
        return NULL;
    }
}

static enum wire_metric_type type_of(const char *group)
{
    if (strcmp(group, "training") == 0)
        return WIRE_METRIC_TYPE_TRAINING;
    return strcmp(group, "validation") == 0 ? WIRE_METRIC_TYPE_VALIDATION : WIRE_METRIC_TYPE_UNSPECIFIED;
}

static int check_points(int32_t asked, int32_t *ret, struct error *err)
{
    if (asked < 0 || asked > POINTS_MAX)
        return error_set(err, ERR_INVALID, "maxDatapoints is %d, allowed is 0 (%d) to %d", asked, POINTS_DEFAULT,
                         POINTS_MAX);
    *ret = asked ? asked : POINTS_DEFAULT;
    return 0;
}

static int check_range(int32_t start, int32_t end, struct error *err)
{
    if (start < 0 || end < 0 || (end && end < start))
        return error_set(err, ERR_INVALID, "batches from %d to %d: neither may be negative, and the end (0: open) must"
                         " not be before the start", start, end);
    return 0;
}

static int check_metric(const char *name, const char *group, struct error *err)
{
    if (!name || !*name)
        return error_set(err, ERR_INVALID, "metricName is missing");
    if (!group)
        return error_set(err, ERR_INVALID, "group is missing: \"training\", \"validation\" or a name of your own");
    return 0;
}

static void points_to_wire(const struct store_point *p, size_t n, struct arena *a, struct wire_data_point **ret)
{
    *ret = arena_array(a, struct wire_data_point, n + 1);
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = (struct wire_data_point){.batches = p[i].batches, .values = p[i].values, .time = p[i].time_us,
                                             .has_time = true, .epoch = p[i].epoch, .has_epoch = p[i].has_epoch};
}

/* ---- GET /trials/time-series ---- */

struct group_names {
    const char *group, **name;
    size_t n;
};

struct comparing {
    struct store_series_query query;
    struct group_names *group;
    size_t group_n;
    struct store_trial *trial;
};

static void add_name(struct comparing *c, const char *group, const char *name, size_t max, struct arena *a)
{
    size_t i = 0;
    while (i < c->group_n && strcmp(c->group[i].group, group) != 0)
        i++;
    if (i == c->group_n)
        c->group[c->group_n++] = (struct group_names){.group = group, .name = arena_array(a, const char *, max)};
    c->group[i].name[c->group[i].n++] = name;
}

/* metricIds are GROUP.NAME, where only the name may have dots; metricNames all belong to one group. */
static int choose_names(const struct wire_compare_trials_request *in, struct comparing *c, struct arena *a,
                        struct error *err)
{
    size_t max = in->metric_ids_n + in->metric_names_n;
    const char *group = group_of(in->group, in->metric_type);
    c->group = arena_array(a, struct group_names, max + 1);
    for (size_t i = 0; i < in->metric_ids_n; i++) {
        const char *dot = strchr(in->metric_ids[i], '.');
        if (!dot || dot == in->metric_ids[i] || !dot[1])
            return error_set(err, ERR_INVALID, "metricIds: \"%.100s\" is not of the form GROUP.NAME",
                             in->metric_ids[i]);
        add_name(c, arena_strndup(a, in->metric_ids[i], (size_t)(dot - in->metric_ids[i])), dot + 1, max, a);
    }
    if (in->metric_names_n && !group)
        return error_set(err, ERR_INVALID, "group is missing: to what group do the metricNames belong?");
    for (size_t i = 0; i < in->metric_names_n; i++)
        add_name(c, group, in->metric_names[i], max, a);
    return 0;
}

static int32_t integer_bound(bool has, int32_t bound, bool has_open, int32_t open, int step, int32_t none)
{
    return has ? bound : has_open ? open + step : none;
}

/* Of doubles an open bound is taken as a closed one: the point on the bound itself is shown or not, nobody sees it. */
static int by_range(const struct wire_common_polymorphic_filter *f, struct store_series_query *q, struct error *err)
{
    const struct wire_common_int32_field_filter *i = f->integer_range;
    const struct wire_common_double_field_filter *d = f->double_range;
    const struct wire_common_timestamp_field_filter *t = f->time_range;
    if (strcmp(f->name, "batches") == 0 && i) {
        q->start_batches = integer_bound(i->has_gte, i->gte, i->has_gt, i->gt, 1, 0);
        q->end_batches = integer_bound(i->has_lte, i->lte, i->has_lt, i->lt, -1, 0);
        return check_range(q->start_batches, q->end_batches, err);
    }
    if (strcmp(f->name, "epoch") == 0 && (d || i)) {
        q->by_epoch = true;
        q->start_epoch = d ? (d->has_gte ? d->gte : d->has_gt ? d->gt : -1e308)
                           : integer_bound(i->has_gte, i->gte, i->has_gt, i->gt, 1, INT32_MIN);
        q->end_epoch = d ? (d->has_lte ? d->lte : d->has_lt ? d->lt : 1e308)
                         : integer_bound(i->has_lte, i->lte, i->has_lt, i->lt, -1, INT32_MAX);
        return 0;
    }
    if (strcmp(f->name, "time") == 0 && t) {
        q->start_us = t->has_gte ? t->gte : t->has_gt ? t->gt + 1 : 0;
        q->end_us = t->has_lte ? t->lte : t->has_lt ? t->lt - 1 : 0;
        return 0;
    }
    return error_set(err, ERR_INVALID, "timeSeriesFilter: name is \"%.40s\"; allowed are batches with integerRange, epoch"
                     " with doubleRange or integerRange, and time with timeRange", f->name);
}

static int compare_trial(struct req *r, const struct comparing *c, int32_t id, struct store_trial *ret_trial,
                         struct wire_comparable_trial *ret, struct error *err)
{
    if (store_trial_get(r->db, id, /* full= */ true, &r->arena, ret_trial, err) < 0)
        return -1;
    ret->metrics = arena_array(&r->arena, struct wire_downsampled_metrics, c->group_n + 1);
    ret->metrics_n = c->group_n;
    for (size_t i = 0; i < c->group_n; i++) {
        struct wire_downsampled_metrics *m = &ret->metrics[i];
        struct store_series_query q = c->query;
        struct store_point *point;
        q.trial_id = id;
        q.group = c->group[i].group;
        q.names = (struct store_texts){c->group[i].name, c->group[i].n};
        if (store_metric_series(r->db, &q, &r->arena, &point, &m->data_n, err) < 0)
            return -1;
        points_to_wire(point, m->data_n, &r->arena, &m->data);
        m->group = q.group;
        m->type = type_of(q.group);
    }
    return 0;
}

/* The core is asked after the store, as for lists of trials. */
static int compare_display(struct req *r, struct error *err)
{
    struct wire_compare_trials_response *ret = r->ret;
    const struct comparing *c = r->state;
    for (size_t i = 0; i < ret->trials_n; i++) {
        struct core_trial_view view;
        bool live = core_trial(api_core(r->api), c->trial[i].row.id, &view);
        struct wire_trial *w = arena_new(&r->arena, struct wire_trial);
        trial_to_wire(&c->trial[i], live ? view.display : DISPLAY_STORED, r->now_us, &r->arena, w);
        ret->trials[i].trial = w;
    }
    return 0;
}

int api_compare_trials(struct req *r, const struct wire_compare_trials_request *in,
                       struct wire_compare_trials_response *ret, struct error *err)
{
    struct comparing *c = arena_new(&r->arena, struct comparing);
    c->query.start_batches = in->start_batches;
    c->query.end_batches = in->end_batches;
    if (in->trial_ids_n == 0 || in->trial_ids_n > TRIALS_MAX)
        return error_set(err, ERR_INVALID, "trialIds: %zu trials, allowed are 1 to %d", in->trial_ids_n, TRIALS_MAX);
    if (check_points(in->max_datapoints, &c->query.max_points, err) < 0 ||
        check_range(in->start_batches, in->end_batches, err) < 0 || choose_names(in, c, &r->arena, err) < 0 ||
        (in->time_series_filter && by_range(in->time_series_filter, &c->query, err) < 0))
        return -1;
    c->trial = arena_array(&r->arena, struct store_trial, in->trial_ids_n);
    ret->trials = arena_array(&r->arena, struct wire_comparable_trial, in->trial_ids_n);
    for (; ret->trials_n < in->trial_ids_n; ret->trials_n++)
        if (compare_trial(r, c, in->trial_ids[ret->trials_n], &c->trial[ret->trials_n], &ret->trials[ret->trials_n],
                          err) < 0)
            return -1;
    r->state = c;
    return req_then(r, REQ_LOOP, compare_display);
}

/* ---- streams that come again until the experiments have ended ---- */

/* Read before the metrics: what an ended experiment has then is all it will ever have. */
static int is_over(struct req *r, const int32_t *ids, size_t n, bool *ret, struct error *err)
{
    *ret = true;
    for (size_t i = 0; i < n; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_experiment x;
        enum run_state state = RUN_ACTIVE;
        if (store_experiment_get(r->db, ids[i], /* with_config= */ false, &a, &x, err) < 0)
            return -1;
        run_state_parse(x.state, &state);
        *ret &= run_state_is_terminal(state);
    }
    return 0;
}

/* ---- names ---- */

struct seen_name {
    const char *group, *name;
};
struct seen_names {
    struct seen_name *list;
    size_t n, cap;
};

static bool note_name(struct seen_names *s, const struct store_metric_name *m, struct arena *a)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->list[i].group, m->group) == 0 && strcmp(s->list[i].name, m->name) == 0)
            return false;
    if (s->n == s->cap) {
        struct seen_name *more = arena_array(a, struct seen_name, s->cap = s->cap ? s->cap * 2 : 64);
        if (s->n)
            memcpy(more, s->list, s->n * sizeof(*more));
        s->list = more;
    }
    s->list[s->n++] = (struct seen_name){arena_strdup(a, m->group), arena_strdup(a, m->name)};
    return true;
}

static int searcher_metrics(struct req *r, const struct wire_exp_metric_names_request *in, struct arena *a,
                            struct wire_exp_metric_names_response *ret, struct error *err)
{
    ret->searcher_metrics = arena_array(a, const char *, in->ids_n + 1);
    for (size_t i = 0; i < in->ids_n; i++) {
        struct store_experiment x;
        bool again = false;
        if (store_experiment_get(r->db, in->ids[i], /* with_config= */ false, a, &x, err) < 0)
            return -1;
        for (size_t k = 0; k < ret->searcher_metrics_n && !again; k++)
            again = strcmp(ret->searcher_metrics[k], x.searcher_metric) == 0;
        if (!again)
            ret->searcher_metrics[ret->searcher_metrics_n++] = x.searcher_metric;
    }
    return 0;
}

/* Each name is sent once. */
static int fetch_names(struct req *r, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_exp_metric_names_request *in = r->in;
    struct repeated *p = r->state;
    struct wire_exp_metric_names_response out = {0};
    struct store_metric_name *name;
    size_t n;
    bool over;
    if (is_over(r, in->ids, in->ids_n, &over, err) < 0 ||
        store_metric_names(r->db, (struct store_ints){in->ids, in->ids_n}, &a, &name, &n, err) < 0 ||
        (!p->sent && searcher_metrics(r, in, &a, &out, err) < 0))
        return -1;
    out.metric_names = arena_array(&a, struct wire_metric_identifier, n + 1);
    out.training_metrics = arena_array(&a, const char *, n + 1);
    out.validation_metrics = arena_array(&a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (!note_name(p->seen, &name[i], &r->arena))
            continue;
        out.metric_names[out.metric_names_n++] = (struct wire_metric_identifier){name[i].group, name[i].name};
        if (strcmp(name[i].group, "training") == 0)
            out.training_metrics[out.training_metrics_n++] = name[i].name;
        else if (strcmp(name[i].group, "validation") == 0)
            out.validation_metrics[out.validation_metrics_n++] = name[i].name;
    }
    repeated_send(r, out.metric_names_n > 0, &out);
    *next = over ? STREAM_END : STREAM_WAIT;
    return 0;
}

int api_exp_metric_names(struct req *r, const struct wire_exp_metric_names_request *in, struct error *err)
{
    if (in->ids_n == 0)
        return error_set(err, ERR_INVALID, "ids is missing: of which experiments?");
    return repeated_stream(r, in->period_seconds, arena_new(&r->arena, struct seen_names), fetch_names, err);
}

/* ---- batches ---- */

struct seen_batches {
    int32_t *list; /* ascending; on the heap, for it is replaced each time */
    size_t n;
};

static void batches_end(struct req *r)
{
    struct repeated *p = r->state;
    struct seen_batches *s = p ? p->seen : NULL;
    repeated_end(r);
    if (s)
        free(s->list);
}

/* Those that were not there the last time. */
static size_t new_batches(const struct seen_batches *seen, const int32_t *now, size_t n, int32_t *ret)
{
    size_t found = 0;
    for (size_t i = 0, k = 0; i < n; i++) {
        while (k < seen->n && seen->list[k] < now[i])
            k++;
        if (k == seen->n || seen->list[k] != now[i])
            ret[found++] = now[i];
    }
    return found;
}

static void keep_batches(struct seen_batches *seen, const int32_t *now, size_t n)
{
    free(seen->list);
    seen->list = calloc(n + 1, sizeof(*now));
    if (!seen->list)
        abort();
    if (n)
        memcpy(seen->list, now, n * sizeof(*now));
    seen->n = n;
}

static int fetch_batches(struct req *r, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_metric_batches_request *in = r->in;
    struct repeated *p = r->state;
    int32_t *steps;
    size_t n;
    bool over;
    if (is_over(r, &in->experiment_id, 1, &over, err) < 0 ||
        store_metric_batches(r->db, in->experiment_id, group_of(in->group, in->metric_type), in->metric_name, -1, &a,
                             &steps, &n, err) < 0)
        return -1;
    int32_t *fresh = arena_array(&a, int32_t, n + 1);
    size_t fresh_n = new_batches(p->seen, steps, n, fresh);
    keep_batches(p->seen, steps, n);
    for (size_t i = 0; i < fresh_n; i += BATCHES_PER_LINE)
        repeated_send(r, true, &(struct wire_metric_batches_response){
            .batches = fresh + i, .batches_n = fresh_n - i < BATCHES_PER_LINE ? fresh_n - i : BATCHES_PER_LINE});
    repeated_send(r, false, &(struct wire_metric_batches_response){0});
    *next = over ? STREAM_END : STREAM_WAIT;
    return 0;
}

int api_metric_batches(struct req *r, const struct wire_metric_batches_request *in, struct error *err)
{
    if (check_metric(in->metric_name, group_of(in->group, in->metric_type), err) < 0)
        return -1;
    int rc = repeated_stream(r, in->period_seconds, arena_new(&r->arena, struct seen_batches), fetch_batches, err);
    if (rc == REQ_CONTINUES)
        r->on_end = batches_end;
    return rc;
}

/* ---- samples of an experiment's trials ---- */

/* Trials in order of their best searcher metric, those without one last. */
static int best_trials(struct req *r, int32_t experiment_id, int32_t max, struct arena *a, struct store_trial_list *ret,
                       struct error *err)
{
    enum { BY_BEST_VALIDATION = 7 }; /* of api.v1.GetExperimentTrialsRequest.SortBy */
    struct store_experiment x;
    if (store_experiment_get(r->db, experiment_id, /* with_config= */ false, a, &x, err) < 0)
        return -1;
    const struct store_trial_filter f = {.experiment_id = experiment_id, .sort_by = BY_BEST_VALIDATION,
                                         .descending = !x.smaller_is_better, .page = page_of(0, max)};
    return store_trial_list(r->db, &f, r->now_us, a, ret, err);
}

struct sampled {
    int32_t trial_id, batches; /* the last that was sent */
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

/* A trial's points that were not sent yet; its hyperparameters only when it is new. */
static int sample_trial(struct req *r, const struct store_trial *t, struct sampled *was, struct sampled *is,
                        struct arena *a, struct wire_trials_sample_response_trial *ret, struct error *err)
{
    const struct wire_trials_sample_request *in = r->in;
    struct store_series_query q = {.trial_id = t->row.id, .group = group_of(in->group, in->metric_type),
                                   .names = {(const char *const *)&in->metric_name, 1},
                                   .start_batches = was ? was->batches + 1 : in->start_batches,
                                   .end_batches = in->end_batches,
                                   .max_points = in->max_datapoints ? in->max_datapoints : POINTS_DEFAULT};
    struct store_point *point;
    *is = (struct sampled){.trial_id = t->row.id, .batches = was ? was->batches : -1};
    *ret = (struct wire_trials_sample_response_trial){.trial_id = t->row.id, .hparams = was ? "{}" : t->row.hparams};
    if (q.end_batches && q.start_batches > q.end_batches)
        return 0;
    if (store_metric_series(r->db, &q, a, &point, &ret->data_n, err) < 0)
        return -1;
    points_to_wire(point, ret->data_n, a, &ret->data);
    if (ret->data_n)
        is->batches = point[ret->data_n - 1].batches;
    return 0;
}

static int fetch_sample(struct req *r, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_trials_sample_request *in = r->in;
    struct repeated *p = r->state;
    struct sample *seen = p->seen, now;
    struct wire_trials_sample_response out = {0};
    struct store_trial_list list;
    bool over;
    if (is_over(r, &in->experiment_id, 1, &over, err) < 0 ||
        best_trials(r, in->experiment_id, in->max_trials ? in->max_trials : TRIALS_DEFAULT, &a, &list, err) < 0)
        return -1;
    now = (struct sample){.trial = arena_array(&r->arena, struct sampled, list.trial_n + 1)};
    out.trials = arena_array(&a, struct wire_trials_sample_response_trial, list.trial_n + 1);
    out.promoted_trials = arena_array(&a, int32_t, list.trial_n + 1);
    out.demoted_trials = arena_array(&a, int32_t, seen->n + 1);
    for (size_t i = 0; i < list.trial_n; i++) {
        struct sampled *was = find_sampled(seen, list.trial[i].row.id);
        if (sample_trial(r, &list.trial[i], was, &now.trial[now.n++], &a, &out.trials[out.trials_n++], err) < 0)
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

int api_trials_sample(struct req *r, const struct wire_trials_sample_request *in, struct error *err)
{
    int32_t points;
    if (check_metric(in->metric_name, group_of(in->group, in->metric_type), err) < 0 ||
        check_points(in->max_datapoints, &points, err) < 0 ||
        check_range(in->start_batches, in->end_batches, err) < 0)
        return -1;
    if (in->max_trials < 0 || in->max_trials > TRIALS_MAX)
        return error_set(err, ERR_INVALID, "maxTrials is %d, allowed is 0 (%d) to %d", in->max_trials, TRIALS_DEFAULT,
                         TRIALS_MAX);
    return repeated_stream(r, in->period_seconds, arena_new(&r->arena, struct sample), fetch_sample, err);
}

/* ---- one moment of all trials ---- */

/* The point nearest to the batch that is asked for. */
static int snapshot_trial(struct req *r, const struct store_trial *t, struct arena *a,
                          struct wire_trials_snapshot_response *out, struct error *err)
{
    const struct wire_trials_snapshot_request *in = r->in;
    struct store_series_query q = {.trial_id = t->row.id, .group = group_of(in->group, in->metric_type),
                                   .names = {(const char *const *)&in->metric_name, 1},
                                   .start_batches = in->batches_processed - in->batches_margin,
                                   .end_batches = in->batches_processed + in->batches_margin};
    struct store_point *point, *best = NULL;
    size_t n;
    if (store_metric_series(r->db, &q, a, &point, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!best || abs(point[i].batches - in->batches_processed) < abs(best->batches - in->batches_processed))
            best = &point[i];
    if (best)
        out->trials[out->trials_n++] = (struct wire_trials_snapshot_response_trial){
            .trial_id = t->row.id, .hparams = t->row.hparams, .metric = best->first,
            .batches_processed = best->batches};
    return 0;
}

static int fetch_snapshot(struct req *r, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_trials_snapshot_request *in = r->in;
    struct wire_trials_snapshot_response out = {0};
    struct store_trial_list list;
    bool over;
    if (is_over(r, &in->experiment_id, 1, &over, err) < 0 ||
        best_trials(r, in->experiment_id, /* all of them */ -1, &a, &list, err) < 0)
        return -1;
    out.trials = arena_array(&a, struct wire_trials_snapshot_response_trial, list.trial_n + 1);
    for (size_t i = 0; i < list.trial_n; i++)
        if (snapshot_trial(r, &list.trial[i], &a, &out, err) < 0)
            return -1;
    repeated_send(r, true, &out);
    *next = over ? STREAM_END : STREAM_WAIT;
    return 0;
}

int api_trials_snapshot(struct req *r, const struct wire_trials_snapshot_request *in, struct error *err)
{
    if (check_metric(in->metric_name, group_of(in->group, in->metric_type), err) < 0)
        return -1;
    if (in->batches_processed <= 0)
        return error_set(err, ERR_INVALID, "batchesProcessed is %d, it must be 1 or more", in->batches_processed);
    if (in->batches_margin < 0 || in->batches_margin > MARGIN_MAX)
        return error_set(err, ERR_INVALID, "batchesMargin is %d, allowed is 0 to %d", in->batches_margin, MARGIN_MAX);
    return repeated_stream(r, in->period_seconds, NULL, fetch_snapshot, err);
}
