/* Writing reports: archive what an earlier run left, merge or insert, then keep summary and best validation in step. */
#include "store/metrics.h"

#include <math.h>

#include "common/json.h"
#include "store/metric_rows.h"
#include "store/metric_summary.h"

/* A trial as a report sees it. */
struct trial_context {
    int32_t experiment_id;
    const char *searcher_metric;
    bool smaller_is_better;
    int32_t report_run_id, stale_steps, total_batches;
};

enum { REBUILD_PAGE = 1000 }; /* reports in memory at a time */

static void read_context(struct query *q, struct arena *a, void *row)
{
    struct trial_context *t = row;
    t->experiment_id = take_i32(q);
    t->searcher_metric = take_text(q, a);
    t->smaller_is_better = take_bool(q);
    t->report_run_id = take_i32(q);
    t->stale_steps = take_i32(q);
    t->total_batches = take_i32(q);
}

static bool is_validation(const char *group) { return strcmp(group, "validation") == 0; }

/* Groups of one kind void each other at the same step (contract: "partition type"). */
static const char *group_kind(const char *group)
{
    static const char *const profiling[] = {"gpu", "cpu", "memory", "disk", "network"};
    if (is_validation(group) || strcmp(group, "training") == 0)
        return group;
    for (size_t i = 0; i < sizeof(profiling) / sizeof(*profiling); i++)
        if (strcmp(group, profiling[i]) == 0)
            return "profiling";
    return "generic";
}

static int check_group(const char *group, struct error *err)
{
    if (!group || !*group)
        return error_set(err, ERR_INVALID,
                         "a metrics report needs a group: \"training\", \"validation\" or a name of your own");
    if (strchr(group, '.'))
        return error_set(err, ERR_INVALID, "metric group \"%s\": a group's name must not contain a dot", group);
    return 0;
}

static int parse_metrics(const struct store_report *r, struct json_object **ret, struct error *err)
{
    if (json_parse(r->avg_metrics, strlen(r->avg_metrics), ret, err) < 0)
        return error_wrap(err, "metrics of trial %d", r->trial_id);
    if (json_object_is_type(*ret, json_type_object))
        return 0;
    json_object_put(*ret);
    *ret = NULL;
    return error_set(err, ERR_INVALID, "metrics of trial %d: expected an object of names and values", r->trial_id);
}

/* ---- summaries and bests ---- */

static void read_text(struct query *q, struct arena *a, void *row) { *(const char **)row = take_text(q, a); }

static int load_summary(struct store *st, const struct store_report *r, struct arena *a, struct json_object **ret,
                        struct error *err)
{
    const char *text = NULL;
    if (query_one(st, Q_SUMMARIES_GET, SQL_ARGS(sql_int(r->trial_id), sql_text(r->group)), read_text, a, &text,
                  err) < 0)
        return -1;
    if (text)
        return json_parse(text, strlen(text), ret, err);
    *ret = json_object_new_object();
    return 0;
}

static int save_summary(struct store *st, int32_t trial_id, const char *group, struct json_object *summary,
                        struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(summary, &text);
    return query_exec(st, Q_SUMMARIES_SET, SQL_ARGS(sql_int(trial_id), sql_text(group), sql_text(text.s)), NULL, err);
}

static int add_to_summary(struct store *st, const struct store_report *r, struct json_object *fresh, struct arena *a,
                          struct error *err)
{
    cleanup_json struct json_object *summary = NULL;
    if (load_summary(st, r, a, &summary, err) < 0)
        return -1;
    metric_summary_add(summary, fresh, r->steps);
    return save_summary(st, r->trial_id, r->group, summary, err);
}

/* What is recomputed from the rows that are left, after some were archived. */
struct rebuilt {
    struct json_object *by_group; /* group → summary */
    int64_t best_id, latest_id;
    bool has_best, has_latest;
    double best, latest;
};

static bool is_better(const struct trial_context *t, double v, double than)
{
    return t->smaller_is_better ? v < than : v > than;
}

/* The searcher's number in a report; no NaN, for nothing compares with it. */
static bool searcher_value(const struct trial_context *t, struct json_object *metrics, double *ret)
{
    struct json_object *v;
    return json_object_object_get_ex(metrics, t->searcher_metric, &v) && metric_number(v, ret) && !isnan(*ret);
}

static void rebuild_validation(struct rebuilt *b, const struct trial_context *t, int64_t id,
                               struct json_object *metrics)
{
    double v;
    b->latest_id = id;
    b->has_latest = searcher_value(t, metrics, &v);
    if (!b->has_latest)
        return;
    b->latest = v;
    if (!b->has_best || is_better(t, v, b->best)) {
        b->has_best = true;
        b->best = v;
        b->best_id = id;
    }
}

static int rebuild_row(struct rebuilt *b, const struct trial_context *t, const struct report_row *row,
                       struct error *err)
{
    cleanup_json struct json_object *metrics = NULL;
    struct json_object *summary;
    if (json_parse(row->avg_metrics, strlen(row->avg_metrics), &metrics, err) < 0)
        return -1;
    if (!json_object_object_get_ex(b->by_group, row->group, &summary)) {
        summary = json_object_new_object();
        json_object_object_add(b->by_group, row->group, summary);
    }
    metric_summary_add(summary, metrics, row->steps);
    if (is_validation(row->group))
        rebuild_validation(b, t, row->id, metrics);
    return 0;
}

/* One page of the trial's reports, those after (*steps, *id); *ret_n is how many there were. */
static int rebuild_page(struct store *st, int32_t trial_id, const struct trial_context *t, struct rebuilt *b,
                        int64_t *steps, int64_t *id, int *ret_n, struct error *err)
{
    struct query q;
    int rc;
    *ret_n = 0;
    if (query_start(st, Q_REPORTS_OF_TRIAL,
                    SQL_ARGS(sql_int(trial_id), sql_int(*steps), sql_int(*id), sql_int(REBUILD_PAGE)), &q, err) < 0)
        return -1;
    while ((rc = query_next(&q, err)) > 0) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct report_row row;
        read_report(&q, &a, &row);
        if (rebuild_row(b, t, &row, err) < 0) {
            rc = -1;
            break;
        }
        *steps = row.steps;
        *id = row.id;
        (*ret_n)++;
    }
    query_end(&q);
    return rc;
}

static int rebuild_rows(struct store *st, int32_t trial_id, const struct trial_context *t, struct rebuilt *b,
                        struct error *err)
{
    int64_t steps = INT64_MIN, id = 0;
    int n;
    do {
        if (rebuild_page(st, trial_id, t, b, &steps, &id, &n, err) < 0)
            return -1;
    } while (n == REBUILD_PAGE);
    return 0;
}

static int save_rebuilt(struct store *st, int32_t trial_id, const struct trial_context *t, const struct rebuilt *b,
                        struct error *err)
{
    if (query_exec(st, Q_SUMMARIES_DELETE, SQL_ARGS(sql_int(trial_id)), NULL, err) < 0)
        return -1;
    json_object_object_foreach(b->by_group, group, summary)
        if (save_summary(st, trial_id, group, summary, err) < 0)
            return -1;
    if (query_exec(st, Q_TRIALS_SET_VALIDATIONS,
                   SQL_ARGS(sql_int(trial_id), sql_time(b->best_id), sql_opt_real(b->has_best, b->best),
                            sql_time(b->latest_id), sql_opt_real(b->has_latest, b->latest)), NULL, err) < 0)
        return -1;
    return query_exec(st, Q_EXPERIMENTS_RECOMPUTE_BEST, SQL_ARGS(sql_int(t->experiment_id)), NULL, err);
}

static int rebuild(struct store *st, int32_t trial_id, const struct trial_context *t, struct error *err)
{
    struct rebuilt b = {.by_group = json_object_new_object()};
    int rc = rebuild_rows(st, trial_id, t, &b, err);
    if (rc == 0)
        rc = save_rebuilt(st, trial_id, t, &b, err);
    json_object_put(b.by_group);
    return rc;
}

static int note_validation(struct store *st, const struct store_report *r, const struct trial_context *t, int64_t id,
                           struct json_object *metrics, bool *ret_best, struct error *err)
{
    double v = 0;
    bool has = searcher_value(t, metrics, &v);
    int64_t changes;
    if (query_exec(st, Q_TRIALS_LATEST_VALIDATION, SQL_ARGS(sql_int(r->trial_id), sql_int(id), sql_opt_real(has, v),
                                                            sql_int(r->steps)), NULL, err) < 0)
        return -1;
    if (!has)
        return 0;
    if (query_exec(st, Q_TRIALS_IMPROVE, SQL_ARGS(sql_int(r->trial_id), sql_int(id), sql_real(v),
                                                  sql_bool(t->smaller_is_better)), &changes, err) < 0)
        return -1;
    *ret_best = changes > 0;
    return query_exec(st, Q_EXPERIMENTS_IMPROVE, SQL_ARGS(sql_int(t->experiment_id), sql_int(r->trial_id), sql_real(v)),
                      NULL, err);
}

/* ---- merging ---- */

/* The keys of `metrics` that `old` lacks; a key of both must have the equal value. */
static int fresh_keys(const struct store_report *r, struct json_object *old, struct json_object *metrics,
                      struct json_object *ret, struct error *err)
{
    json_object_object_foreach(metrics, name, v) {
        struct json_object *was;
        if (!json_object_object_get_ex(old, name, &was)) {
            json_object_object_add(ret, name, json_object_get(v));
            continue;
        }
        double x, y;
        bool numbers = metric_number(v, &x) && metric_number(was, &y);
        if (numbers ? x != y && !(isnan(x) && isnan(y)) : !json_object_equal(was, v))
            return error_set(err, ERR_INVALID,
                             "trial %d already reported %s metric \"%s\" at step %d with another value"
                             " (%s, now %s)", r->trial_id, r->group, name, r->steps, json_object_to_json_string(was),
                             json_object_to_json_string(v));
    }
    return 0;
}

static int merge(struct store *st, const struct store_report *r, const struct report_row *row,
                 struct json_object *metrics, struct json_object *fresh, struct error *err)
{
    cleanup_json struct json_object *merged = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (r->batch_metrics && row->batch_metrics)
        return error_set(err, ERR_INVALID, "trial %d already reported batch metrics of group \"%s\" at step %d",
                         r->trial_id, r->group, r->steps);
    if (json_parse(row->avg_metrics, strlen(row->avg_metrics), &merged, err) < 0 ||
        fresh_keys(r, merged, metrics, fresh, err) < 0)
        return -1;
    json_object_object_foreach(fresh, name, v)
        json_object_object_add(merged, name, json_object_get(v));
    json_print(merged, &text);
    return query_exec(st, Q_REPORTS_MERGE,
                      SQL_ARGS(sql_int(row->id), sql_int(r->run_id), sql_int(r->report_us), sql_text(text.s),
                               sql_opt_text(r->batch_metrics ? r->batch_metrics : row->batch_metrics)), NULL, err);
}

/* Merges into the report that is there, or inserts; `fresh` receives the keys that are new. */
static int put_report(struct store *st, const struct store_report *r, struct json_object *metrics,
                      struct json_object *fresh, int64_t *ret_id, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct report_row row;
    int found = 0;
    if (r->has_steps)
        found = query_one(st, Q_REPORTS_TO_MERGE, SQL_ARGS(sql_int(r->trial_id), sql_text(r->group), sql_int(r->steps)),
                          read_report, &a, &row, err);
    if (found < 0)
        return -1;
    if (found) {
        *ret_id = row.id;
        return merge(st, r, &row, metrics, fresh, err);
    }
    json_object_object_foreach(metrics, name, v)
        json_object_object_add(fresh, name, json_object_get(v));
    return query_int(st, Q_REPORTS_INSERT,
                     SQL_ARGS(sql_int(r->trial_id), sql_int(r->run_id), sql_text(r->group),
                              sql_int(r->has_steps ? r->steps : 0), sql_bool(!r->has_steps), sql_int(r->report_us),
                              sql_text(r->avg_metrics), sql_opt_text(r->batch_metrics)), ret_id, err);
}

/* ---- archiving ---- */

/* Scans for rows to archive only while an earlier run may have some at this step or beyond. */
static int archive_older(struct store *st, const struct store_report *r, struct trial_context *t, bool *ret_archived,
                         struct error *err)
{
    int64_t changes = 0;
    bool new_run = r->run_id > t->report_run_id;
    if (new_run) {
        t->report_run_id = r->run_id;
        t->stale_steps = t->total_batches;
    }
    bool scan = r->run_id == t->report_run_id && r->steps <= t->stale_steps;
    if (scan && query_exec(st, Q_REPORTS_ARCHIVE, SQL_ARGS(sql_int(r->trial_id), sql_int(r->run_id), sql_int(r->steps),
                                                           sql_text(group_kind(r->group))), &changes, err) < 0)
        return -1;
    if (scan)
        t->stale_steps = r->steps;
    *ret_archived = changes > 0;
    if (!new_run && !scan)
        return 0;
    return query_exec(st, Q_TRIALS_SET_REPORT_RUN, SQL_ARGS(sql_int(r->trial_id), sql_int(t->report_run_id),
                                                            sql_int(t->stale_steps)), NULL, err);
}

/* ---- a report ---- */

static int add_report(struct store *st, const struct store_report *r, struct trial_context *t,
                      struct json_object *metrics,
                      struct json_object *fresh, struct arena *a, struct store_report_result *ret, struct error *err)
{
    if (r->has_steps && archive_older(st, r, t, &ret->archived_older, err) < 0)
        return -1;
    if (put_report(st, r, metrics, fresh, &ret->id, err) < 0)
        return -1;
    if (ret->archived_older)
        return rebuild(st, r->trial_id, t, err);
    if (add_to_summary(st, r, fresh, a, err) < 0)
        return -1;
    if (r->steps > t->total_batches &&
        query_exec(st, Q_TRIALS_PROGRESS, SQL_ARGS(sql_int(r->trial_id), sql_int(r->steps)), NULL, err) < 0)
        return -1;
    /* All its metrics, not only the new ones: a merge may have brought the searcher's. */
    return is_validation(r->group) ? note_validation(st, r, t, ret->id, metrics, &ret->best_of_trial, err) : 0;
}

int store_report_add(struct store *st, const struct store_report *report, struct store_report_result *ret,
                     struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *metrics = NULL, *fresh = NULL;
    struct store_report_result result = {0};
    struct store_report r = *report;
    struct trial_context t;
    if (!r.has_steps)
        r.steps = 0;
    if (check_group(r.group, err) < 0 || parse_metrics(&r, &metrics, err) < 0)
        return -1;
    int rc = query_one(st, Q_TRIALS_SEARCHER, SQL_ARGS(sql_int(r.trial_id)), read_context, &a, &t, err);
    if (rc <= 0)
        return rc == 0 ? error_set(err, ERR_NOT_FOUND, "trial '%d' not found", r.trial_id) : -1;
    fresh = json_object_new_object();
    if (add_report(st, &r, &t, metrics, fresh, &a, &result, err) < 0)
        return -1;
    *ret = result;
    return 0;
}

int store_report_check(struct store *st, const struct store_report *r, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *metrics = NULL, *old = NULL, *fresh = json_object_new_object();
    struct report_row row;
    if (check_group(r->group, err) < 0 || parse_metrics(r, &metrics, err) < 0)
        return -1;
    if (!r->has_steps)
        return 0;
    int found = query_one(st, Q_REPORTS_TO_MERGE, SQL_ARGS(sql_int(r->trial_id), sql_text(r->group), sql_int(r->steps)),
                          read_report, &a, &row, err);
    if (found <= 0 || row.run_id < r->run_id) /* an earlier run's row will be archived, not merged */
        return found < 0 ? -1 : 0;
    if (r->batch_metrics && row.batch_metrics)
        return error_set(err, ERR_INVALID, "trial %d already reported batch metrics of group \"%s\" at step %d",
                         r->trial_id, r->group, r->steps);
    if (json_parse(row.avg_metrics, strlen(row.avg_metrics), &old, err) < 0)
        return -1;
    return fresh_keys(r, old, metrics, fresh, err);
}
