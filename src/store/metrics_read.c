/* Reading reports: streams, names, series for charts, workloads. */
#include "store/metrics.h"

#include <math.h>

#include "common/json.h"
#include "store/list.h"
#include "store/metric_rows.h"
#include "store/metric_summary.h"

void read_report(struct query *q, struct arena *a, void *row)
{
    struct report_row *r = row;
    r->id = take_int(q);
    r->trial_id = take_i32(q);
    r->run_id = take_i32(q);
    r->group = take_text(q, a);
    r->steps = take_i32(q);
    r->report_us = take_int(q);
    r->archived = take_bool(q);
    r->avg_metrics = take_text(q, a);
    r->batch_metrics = take_opt_text(q, a);
}

static const char *shown_metrics(const struct report_row *r, struct arena *a)
{
    const char *key = strcmp(r->group, "validation") == 0 ? "validation_metrics" : "avg_metrics";
    if (r->batch_metrics)
        return arena_printf(a, "{\"%s\":%s,\"batch_metrics\":%s}", key, r->avg_metrics, r->batch_metrics);
    return arena_printf(a, "{\"%s\":%s}", key, r->avg_metrics);
}

static void read_metric_row(struct query *q, struct arena *a, void *row)
{
    struct store_metric_row *m = row;
    struct report_row r;
    read_report(q, a, &r);
    *m = (struct store_metric_row){
        .id = r.id, .trial_id = r.trial_id, .run_id = r.run_id, .group = r.group, .total_batches = r.steps,
        .end_us = r.report_us, .archived = r.archived, .metrics = shown_metrics(&r, a),
    };
}

int store_metrics_next(struct store *st, int32_t trial_id, const char *group, struct store_metric_cursor *cursor,
                       int32_t limit, struct arena *a, struct store_metric_row **ret, size_t *ret_n,
                           struct error *err)
{
    const struct sql_value after_steps = sql_int(cursor->started ? cursor->steps : INT64_MIN);
    const struct sql_value after_id = sql_int(cursor->id);
    int rc = group ? query_all(st, Q_REPORTS_OF_GROUP, SQL_ARGS(sql_int(trial_id), sql_text(group), after_steps,
                                                                after_id, sql_int(limit)),
                               read_metric_row, sizeof(**ret), a, ret, ret_n, err)
                   : query_all(st, Q_REPORTS_OF_TRIAL, SQL_ARGS(sql_int(trial_id), after_steps, after_id,
                                                                sql_int(limit)),
                               read_metric_row, sizeof(**ret), a, ret, ret_n, err);
    if (rc == 0 && *ret_n) {
        const struct store_metric_row *last = &(*ret)[*ret_n - 1];
        *cursor = (struct store_metric_cursor){.steps = last->total_batches, .id = last->id, .started = true};
    }
    return rc;
}

int store_metrics_at(struct store *st, int32_t trial_id, const char *group, int32_t steps, struct arena *a,
                     struct store_metric_row **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_REPORTS_AT_STEP, SQL_ARGS(sql_int(trial_id), sql_text(group ? group : "validation"),
                                                     sql_int(steps)),
                     read_metric_row, sizeof(**ret), a, ret, ret_n, err);
}

/* ---- summaries, names ---- */

struct summary_row { const char *group, *metrics; };

static void read_summary(struct query *q, struct arena *a, void *row)
{
    struct summary_row *s = row;
    s->group = take_text(q, a);
    s->metrics = take_text(q, a);
}

static const char *summary_key(const char *group)
{
    if (strcmp(group, "training") == 0)
        return "avg_metrics";
    return strcmp(group, "validation") == 0 ? "validation_metrics" : group;
}

int store_summary_metrics(struct store *st, int32_t trial_id, struct arena *a, const char **ret, struct error *err)
{
    cleanup_json struct json_object *all = json_object_new_object();
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct summary_row *row;
    size_t n;
    if (query_all(st, Q_SUMMARIES_OF_TRIAL, SQL_ARGS(sql_int(trial_id)), read_summary, sizeof(*row), a, &row, &n,
                  err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        cleanup_json struct json_object *summary = NULL;
        if (json_parse(row[i].metrics, strlen(row[i].metrics), &summary, err) < 0)
            return error_wrap(err, "summary of trial %d", trial_id);
        json_object_object_add(all, summary_key(row[i].group), metric_summary_show(summary));
    }
    json_print(all, &text);
    *ret = arena_strndup(a, text.s, text.n);
    return 0;
}

struct best_row { int32_t trial_id; double metric; };

static void read_best(struct query *q, struct arena *a, void *row)
{
    struct best_row *b = row;
    (void)a;
    b->trial_id = take_i32(q);
    b->metric = take_real(q);
}

int store_best_metric(struct store *st, int32_t experiment_id, double *ret, int32_t *ret_trial_id, struct error *err)
{
    struct best_row b;
    int rc = query_one(st, Q_BEST_METRIC, SQL_ARGS(sql_int(experiment_id)), read_best, NULL, &b, err);
    if (rc <= 0)
        return rc == 0 ? error_set(err, ERR_NOT_FOUND, "experiment %d has no validation with its searcher metric yet",
                                   experiment_id) : -1;
    *ret = b.metric;
    if (ret_trial_id)
        *ret_trial_id = b.trial_id;
    return 0;
}

static void read_name(struct query *q, struct arena *a, void *row)
{
    struct store_metric_name *m = row;
    m->group = take_text(q, a);
    m->name = take_text(q, a);
}

int store_metric_names(struct store *st, struct store_ints experiment_ids, struct arena *a,
                       struct store_metric_name **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_METRIC_NAMES, SQL_ARGS(sql_text(json_of_ints(a, experiment_ids))), read_name, sizeof(**ret),
                     a, ret, ret_n, err);
}

static void read_i32(struct query *q, struct arena *a, void *row)
{
    (void)a;
    *(int32_t *)row = take_i32(q);
}

int store_metric_batches(struct store *st, int32_t experiment_id, const char *group, const char *name, struct arena *a,
                         int32_t **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_METRIC_BATCHES, SQL_ARGS(sql_int(experiment_id), sql_text(group), sql_text(name)), read_i32,
                     sizeof(**ret), a, ret, ret_n, err);
}

/* ---- series ---- */

static bool wanted(const struct store_series_query *q, const char *name)
{
    for (size_t i = 0; i < q->names.n; i++)
        if (strcmp(q->names.text[i], name) == 0)
            return true;
    return q->names.n == 0;
}

/* The wanted numbers of a report; NULL when it has none. */
static struct json_object *pick(const struct store_series_query *q, struct json_object *metrics)
{
    struct json_object *picked = json_object_new_object();
    json_object_object_foreach(metrics, name, v) {
        double ignored;
        if (wanted(q, name) && metric_number(v, &ignored))
            json_object_object_add(picked, name, json_object_get(v));
    }
    if (json_object_object_length(picked))
        return picked;
    json_object_put(picked);
    return NULL;
}

static int to_point(const struct store_series_query *q, const struct report_row *r, struct arena *a,
                    struct store_point *ret, double *ret_y, bool *ret_has, struct error *err)
{
    cleanup_json struct json_object *metrics = NULL, *picked = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct json_object *epoch;
    *ret_has = false;
    if (json_parse(r->avg_metrics, strlen(r->avg_metrics), &metrics, err) < 0)
        return -1;
    if (!(picked = pick(q, metrics)))
        return 0;
    json_print(picked, &text);
    *ret = (struct store_point){.batches = r->steps, .time_us = r->report_us,
                                .values = arena_strndup(a, text.s, text.n)};
    ret->has_epoch = json_object_object_get_ex(metrics, "epoch", &epoch) && metric_number(epoch, &ret->epoch);
    *ret_has = true;
    /* The shape is that of the first name. */
    struct json_object_iterator it = json_object_iter_begin(picked);
    metric_number(json_object_iter_peek_value(&it), ret_y);
    return 0;
}

/* Largest triangle three buckets (Steinarsson 2013): keeps both ends, and of each bucket the point that spans the
 * largest triangle with the last one kept and the mean of the next bucket. Works in place; returns how many points are
 * left. */
static size_t thin(struct store_point *p, const double *y, size_t n, size_t max)
{
    if (max < 3 || n <= max)
        return n;
    double bucket = (double)(n - 2) / (double)(max - 2);
    size_t kept = 0, out = 1;
    for (size_t b = 0; b < max - 2; b++) {
        size_t from = (size_t)((double)b * bucket) + 1, to = (size_t)((double)(b + 1) * bucket) + 1;
        size_t next_to = (size_t)((double)(b + 2) * bucket) + 1;
        double mean_x = 0, mean_y = 0, largest = -1;
        if (next_to > n)
            next_to = n;
        for (size_t i = to; i < next_to; i++) {
            mean_x += p[i].batches;
            mean_y += y[i];
        }
        mean_x /= (double)(next_to - to);
        mean_y /= (double)(next_to - to);
        size_t best = from;
        for (size_t i = from; i < to; i++) {
            double area = fabs((p[kept].batches - mean_x) * (y[i] - y[kept]) -
                               (double)(p[kept].batches - p[i].batches) * (mean_y - y[kept]));
            if (area > largest) {
                largest = area;
                best = i;
            }
        }
        kept = best;
        p[out++] = p[best]; /* out never passes best: a bucket holds at least one point */
    }
    p[out++] = p[n - 1];
    return out;
}

int store_metric_series(struct store *st, const struct store_series_query *q, struct arena *a, struct store_point **ret,
                        size_t *ret_n, struct error *err)
{
    struct report_row *row;
    size_t row_n, n = 0;
    if (query_all(st, Q_REPORTS_IN_RANGE, SQL_ARGS(sql_int(q->trial_id), sql_text(q->group), sql_int(q->start_batches),
                                                   sql_int(q->end_batches)),
                  read_report, sizeof(*row), a, &row, &row_n, err) < 0)
        return -1;
    struct store_point *point = arena_array(a, struct store_point, row_n + 1);
    double *y = arena_array(a, double, row_n + 1);
    for (size_t i = 0; i < row_n; i++) {
        bool has;
        if (to_point(q, &row[i], a, &point[n], &y[n], &has, err) < 0)
            return -1;
        n += has;
    }
    *ret = point;
    *ret_n = thin(point, y, n, q->max_points > 0 ? (size_t)q->max_points : n);
    return 0;
}

/* ---- workloads ---- */

static void read_workload(struct query *q, struct arena *a, void *row)
{
    struct store_workload *w = row;
    w->kind = (enum store_workload_kind)take_int(q);
    w->total_batches = take_i32(q);
    w->end_us = take_int(q);
    w->avg_metrics = take_opt_text(q, a);
    w->batch_metrics = take_opt_text(q, a);
    w->uuid = take_opt_text(q, a);
    w->state = take_opt_text(q, a);
    w->resources = take_opt_text(q, a);
    w->metadata = take_opt_text(q, a);
}

static void start_workloads(struct compose *c, enum sql_fragment fragment, const void *filter)
{
    enum { ANY, CHECKPOINT, VALIDATION, CHECKPOINT_OR_VALIDATION }; /* api.v1.GetTrialWorkloadsRequest.FilterOption */
    const struct store_workload_filter *f = filter;
    compose_add(c, fragment,
                SQL_ARGS(sql_int(f->trial_id), sql_opt_text(f->group && *f->group ? f->group : NULL),
                         sql_bool(f->filter == ANY), sql_bool(f->filter != CHECKPOINT),
                             sql_bool(f->filter != VALIDATION),
                         sql_bool(!f->remove_deleted_checkpoints)));
}

static void no_filters(struct compose *c, const void *filter, struct arena *a)
{
    (void)c;
    (void)filter;
    (void)a;
}

static void sort_workloads(struct compose *c, const struct list_spec *s)
{
    const struct store_workload_filter *f = s->filter;
    bool desc = f->descending;
    const char *key = f->sort_key && *f->sort_key ? f->sort_key : "batches";
    if (strcmp(key, "batches") == 0)
        compose_add(c, desc ? F_WORKLOAD_SORT_BATCHES_DESC : F_WORKLOAD_SORT_BATCHES, SQL_NO_ARGS);
    else if (strcmp(key, "endTime") == 0)
        compose_add(c, desc ? F_WORKLOAD_SORT_END_DESC : F_WORKLOAD_SORT_END, SQL_NO_ARGS);
    else
        compose_add(c, desc ? F_WORKLOAD_SORT_METRIC_DESC : F_WORKLOAD_SORT_METRIC, SQL_ARGS(sql_text(key)));
}

int store_workload_list(struct store *st, const struct store_workload_filter *f, struct arena *a,
                        struct store_workload_list *ret, struct error *err)
{
    const struct list_spec spec = {
        .count = F_WORKLOADS_COUNT, .rows = F_WORKLOADS_ROWS, .start = start_workloads, .add_filters = no_filters,
        .filter = f, .add_sort = sort_workloads, .page = f->page, .window = page_of_workloads, .read = read_workload,
        .row_size = sizeof(struct store_workload),
    };
    if (list_run(st, &spec, a, &ret->workload, &ret->workload_n, &ret->window, err) < 0)
        return -1;
    for (size_t i = 0; i < ret->workload_n && !f->batch_metrics; i++)
        ret->workload[i].batch_metrics = NULL;
    return 0;
}
