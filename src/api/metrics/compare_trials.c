/* GET /trials/time-series: the series of several trials in one reply. */
#include <math.h>
#include <string.h>

#include "api/metrics/chart.h"
#include "api/pipeline/convert.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/experiments/trials.h"

static enum wire_metric_type type_of(const char *group)
{
    if (strcmp(group, "training") == 0)
        return WIRE_METRIC_TYPE_TRAINING;
    return strcmp(group, "validation") == 0 ? WIRE_METRIC_TYPE_VALIDATION : WIRE_METRIC_TYPE_UNSPECIFIED;
}

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

/* metricIds are GROUP.NAME; only NAME may have dots. All metricNames belong to one group. */
static int choose_names(const struct wire_compare_trials_request *in, struct comparing *c, struct arena *a,
                        struct error *err)
{
    size_t max = in->metric_ids_n + in->metric_names_n;
    const char *group = chart_group(in->group, in->metric_type);
    c->group = arena_array(a, struct group_names, max + 1);
    for (size_t i = 0; i < in->metric_ids_n; i++) {
        const char *dot = strchr(in->metric_ids[i], '.');
        if (!dot || dot == in->metric_ids[i] || !dot[1])
            return error_set(err, ERR_INVALID, "metricIds: \"%.100s\" is not of the form GROUP.NAME",
                             in->metric_ids[i]);
        add_name(c, arena_strndup(a, in->metric_ids[i], (size_t)(dot - in->metric_ids[i])), dot + 1, max, a);
    }
    if (in->metric_names_n && !group)
        return error_set(err, ERR_INVALID, "group is missing; name the group of the metricNames");
    for (size_t i = 0; i < in->metric_names_n; i++)
        add_name(c, group, in->metric_names[i], max, a);
    return 0;
}

/* The smallest and the greatest whole number within a range. If a bound is missing, the smallest or greatest
 * possible number. */
static int64_t least_of(const struct wire_common_int32_field_filter *f)
{
    int64_t gte = f->has_gte ? f->gte : INT32_MIN, gt = f->has_gt ? (int64_t)f->gt + 1 : INT32_MIN;
    return gte > gt ? gte : gt;
}

static int64_t greatest_of(const struct wire_common_int32_field_filter *f)
{
    int64_t lte = f->has_lte ? f->lte : INT32_MAX, lt = f->has_lt ? (int64_t)f->lt - 1 : INT32_MAX;
    return lte < lt ? lte : lt;
}

/* Filters by epoch. Epochs may be fractions: an exclusive bound becomes the next double. */
static void by_epoch(double gte, double gt, double lte, double lt, struct store_series_query *q)
{
    q->by_epoch = true;
    q->start_epoch = fmax(gte, gt > -INFINITY ? nextafter(gt, INFINITY) : gt);
    q->end_epoch = fmin(lte, lt < INFINITY ? nextafter(lt, -INFINITY) : lt);
}

static void by_time(const struct wire_common_timestamp_field_filter *t, struct store_series_query *q)
{
    q->start_us = t->has_gte ? t->gte : t->has_gt ? t->gt + 1 : 0;
    q->end_us = t->has_lte ? t->lte : t->has_lt ? t->lt - 1 : 0;
}

#define BOUND(f, name, none) ((f)->has_##name ? (f)->name : (none))
#define BY_EPOCH(f, q) \
    by_epoch(BOUND(f, gte, -INFINITY), BOUND(f, gt, -INFINITY), BOUND(f, lte, INFINITY), BOUND(f, lt, INFINITY), q)

static int by_range(const struct wire_common_polymorphic_filter *f, struct store_series_query *q, struct error *err)
{
    const char *name = f->name ? f->name : "";
    if (strcmp(name, "batches") == 0 && f->integer_range) {
        q->start_batches = least_of(f->integer_range);
        q->end_batches = greatest_of(f->integer_range);
        q->has_end = true;
    } else if (strcmp(name, "epoch") == 0 && f->double_range) {
        BY_EPOCH(f->double_range, q);
    } else if (strcmp(name, "epoch") == 0 && f->integer_range) {
        BY_EPOCH(f->integer_range, q);
    } else if (strcmp(name, "time") == 0 && f->time_range) {
        by_time(f->time_range, q);
    } else {
        return error_set(err, ERR_INVALID,
                         "timeSeriesFilter: name is \"%.40s\"; allowed are batches with integerRange, epoch"
                         " with doubleRange or integerRange, and time with timeRange",
                         name);
    }
    return 0;
}

static int compare_trial(struct req *r, struct store *db, const struct comparing *c, int32_t id,
                         struct store_trial *ret_trial, struct wire_comparable_trial *ret, struct error *err)
{
    if (store_trial_get(db, id, /* full= */ true, &r->arena, ret_trial, err) < 0)
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
        if (store_metric_series(db, &q, &r->arena, &point, &m->data_n, err) < 0)
            return -1;
        chart_points_to_wire(point, m->data_n, &r->arena, &m->data);
        m->group = q.group;
        m->type = type_of(q.group);
    }
    return 0;
}

/* The core is asked after the store, as for lists of trials (trials.c). */
static int compare_display(struct req *r, struct core *core, struct error *err)
{
    struct wire_compare_trials_response *ret = r->ret;
    const struct comparing *c = r->state;
    for (size_t i = 0; i < ret->trials_n; i++) {
        struct core_trial_view view;
        bool live = core_trial(core, c->trial[i].row.id, &view);
        struct wire_trial *w = arena_new(&r->arena, struct wire_trial);
        trial_to_wire(&c->trial[i], live ? view.display : DISPLAY_STORED, r->now_us, &r->arena, w);
        ret->trials[i].trial = w;
    }
    return 0;
}

int api_compare_trials(struct req *r, struct store *db, const struct wire_compare_trials_request *in,
                       struct wire_compare_trials_response *ret, struct error *err)
{
    struct comparing *c = arena_new(&r->arena, struct comparing);
    c->query.start_batches = in->start_batches;
    c->query.end_batches = in->end_batches;
    c->query.has_end = in->end_batches != 0;
    if (in->trial_ids_n == 0 || in->trial_ids_n > CHART_TRIALS_MAX)
        return error_set(err, ERR_INVALID, "trialIds: %zu trials, allowed are 1 to %d", in->trial_ids_n,
                         CHART_TRIALS_MAX);
    c->query.beside = in->trial_ids_n - 1;
    if (chart_check_points(in->max_datapoints, &c->query.max_points, err) < 0 ||
        chart_check_range(in->start_batches, in->end_batches, err) < 0 || choose_names(in, c, &r->arena, err) < 0 ||
        (in->time_series_filter && by_range(in->time_series_filter, &c->query, err) < 0))
        return -1;
    c->trial = arena_array(&r->arena, struct store_trial, in->trial_ids_n);
    ret->trials = arena_array(&r->arena, struct wire_comparable_trial, in->trial_ids_n);
    for (; ret->trials_n < in->trial_ids_n; ret->trials_n++)
        if (compare_trial(r, db, c, in->trial_ids[ret->trials_n], &c->trial[ret->trials_n], &ret->trials[ret->trials_n],
                          err) < 0)
            return -1;
    r->state = c;
    return req_then_loop(r, compare_display);
}
