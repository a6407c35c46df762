/* Metrics: reports are stored as they arrive (durable at once, one row each), sealed into columns later
 * (metric_seal.h), and summed up in summaries with every report.
 *
 * Rules (docs/spec/metrics.md):
 *  - Reports of the same trial, group and step are merged. A key that is reported again must have the same value, and
 *    batch metrics may be reported only once; otherwise the call fails with ERR_INVALID and nothing changes.
 *  - Only the trial's current run may report, and only while the trial has not ended.
 *  - A report of run R at step S archives (hides, but keeps) rows of earlier runs: those at steps ≥ S in its own kind
 * of group, and those at steps > S in the others. Summaries and best validations are then computed from what is left.
 *  - NaN and the infinities are passed as the strings "NaN", "Infinity", "-Infinity" and count as numbers.
 *  - Reports without a step (profiling) are not merged and archive nothing. Those that have a batch are archived like
 *    others. */
#ifndef DET_STORE_METRICS_METRICS_H
#define DET_STORE_METRICS_METRICS_H

#include "store/functions.h"
#include "store/lists/page.h"

struct store_report {
    int32_t trial_id, run_id;
    bool of_current_run; /* whichever run that is: run_id is not used */
    const char *group;   /* "training", "validation", or any name without a dot */
    bool has_steps;
    int32_t steps;
    int32_t batch; /* for a report without a step: its batch, by which it is ordered; 0: unknown */
    int64_t report_us;
    const char *avg_metrics;   /* valid JSON; must be an object */
    const char *batch_metrics; /* valid JSON, a list of objects, or NULL */
};

/* Bounds of one report. The name of a group or of a metric is at most METRIC_NAME_MAX bytes long. */
enum {
    METRIC_KEYS_MAX = 10000,
    METRIC_NAME_MAX = 256,
    METRIC_VALUE_MAX = 64 << 10,
    METRIC_REPORT_MAX = 4 << 20,
    METRIC_BATCHES_MAX = 32 << 20,
};
/* Checks the report itself: names, sizes, types, steps. The time that it takes grows with the report's size; the
 * store is not read. */
int store_report_valid(const struct store_report *r, struct error *err);

struct store_report_result {
    bool archived_older; /* rows of an earlier run were archived */
    bool best_of_trial;  /* for a validation: it is now the best one of the trial */
};

/* Checks whether store_report_add() would take the report, with the same errors and without writing. It is for
 * callers who must know this before they tell others. Both functions expect a valid report. */
int store_report_check(struct store *st, const struct store_report *r, struct error *err);
/* Stores a report. The trial's row gives the searcher metric of its experiment, which decides whether a validation
 * is the best. */
int store_report_add(struct store *st, const struct store_report *r, struct store_report_result *ret,
                     struct error *err);

/* A stored report in the form of trial.v1.MetricsReport. */
struct store_metric_row {
    int64_t id;
    int32_t trial_id, run_id;
    const char *group;
    int32_t total_batches; /* for a report without a step: its batch */
    int64_t end_us;
    bool archived;
    /* JSON: {"avg_metrics": …, "batch_metrics": […]}, or {"validation_metrics": …} for validation */
    const char *metrics;
};

/* Reads the reports of a trial that are not archived, in order of step and page by page. Begin with *cursor set to
 * zeros and call until *ret_n is 0. group NULL means all groups. */
struct store_metric_cursor {
    int32_t steps;
    int64_t id;
    bool started;
};
int store_metrics_next(struct store *st, int32_t trial_id, const char *group, struct store_metric_cursor *cursor,
                       int32_t limit, struct arena *a, struct store_metric_row **ret, size_t *ret_n, struct error *err);
/* Returns the reports of the group at a checkpoint's step; NULL means the group validation. */

/* Returns {"avg_metrics": {"loss": {"count":…, "sum":…, "min":…, "max":…, "mean":…, "last":…, "type":"number"}}, …} */
int store_summary_metrics(struct store *st, struct store_ints trial_ids, struct arena *a,
                          const char ***ret /* one text for each trial */, struct error *err);

/* Returns the best value of the searcher metric in an experiment. Fails with ERR_NOT_FOUND if there is no validation
 * yet. */
int store_best_metric(struct store *st, int32_t experiment_id, double *ret, int32_t *ret_trial_id, struct error *err);

/* Returns the steps after `after` at which a metric was reported in an experiment, ascending. */
int store_metric_batches(struct store *st, int32_t experiment_id, const char *group, const char *name, int32_t after,
                         struct arena *a, int32_t **ret, size_t *ret_n, struct error *err);

/* Series for charts: the named metrics of a group (no names: all numbers) as points in order of step. Each series is
 * thinned separately, so that all together have at most max_points points (0: all points; see downsample.h). A point
 * holds the metrics that were chosen for its step. Reports that are all at one step are drawn by time. */
struct store_series_query {
    int32_t trial_id;
    const char *group;
    struct store_texts names;
    int64_t start_batches, end_batches;
    bool has_end;             /* false: there is no upper bound */
    int64_t start_us, end_us; /* 0: there is no bound */
    bool by_epoch;
    double start_epoch, end_epoch; /* only reports that have a number called "epoch" in this range */
    int32_t max_points;
    size_t beside; /* how many more series of other trials one reply reads: all of them unpack as much as one may */
};
struct store_point {
    int32_t batches;
    int64_t time_us;
    bool has_epoch;
    double epoch;       /* the metric called "epoch" of the same report */
    const char *values; /* a JSON object */
    double first;       /* the first of the values */
};
int store_metric_series(struct store *st, const struct store_series_query *q, struct arena *a, struct store_point **ret,
                        size_t *ret_n, struct error *err);

/* Workloads of a trial: reports of training and validation, and checkpoints, in one list (GET
 * /trials/{id}/workloads). */
enum store_workload_kind { STORE_WORKLOAD_TRAINING, STORE_WORKLOAD_VALIDATION, STORE_WORKLOAD_CHECKPOINT };
struct store_workload {
    enum store_workload_kind kind;
    int32_t total_batches;
    int64_t end_us;
    const char *avg_metrics, *batch_metrics;         /* JSON; batch_metrics NULL unless asked for */
    const char *uuid, *state, *resources, *metadata; /* for checkpoints; resources and metadata are JSON */
};
struct store_workload_filter {
    int32_t trial_id;
    int32_t filter;    /* numbers of api.v1.GetTrialWorkloadsRequest.FilterOption */
    const char *group; /* NULL: training and validation */
    bool batch_metrics, remove_deleted_checkpoints;
    const char *sort_key; /* "batches", "endTime", or the name of a metric; NULL: batches */
    bool descending;
    struct page page;
};
struct store_workload_list {
    struct store_workload *workload;
    size_t workload_n;
    struct page_window window;
};
int store_workload_list(struct store *st, const struct store_workload_filter *f, struct arena *a,
                        struct store_workload_list *ret, struct error *err);

#endif
