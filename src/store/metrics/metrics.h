/* Metrics: reports as they come (durable at once, one row each), sealed into columns later (metric_seal.h), summaries
 * kept with every report.
 *
 * Rules (docs/spec/metrics.md):
 *  - Reports of one trial, group and step merge their keys. A key reported again must carry the equal value; batch
 *    metrics are not reported twice: ERR_INVALID otherwise, and nothing changes.
 *  - Only the trial's current run may report, and only while the trial has not ended.
 *  - A report of run R at step S archives (hides, keeps) rows of earlier runs: step ≥ S in its own kind of group, step
 *    > S in the others. Summaries and best validations then count what is left.
 *  - NaN and the infinities travel as the strings "NaN", "Infinity", "-Infinity" and count as numbers.
 *  - Reports without a step (profiling) neither merge nor archive; those that stand at a batch are archived like
 * others. */
#ifndef DET_STORE_METRICS_METRICS_H
#define DET_STORE_METRICS_METRICS_H

#include "store/functions.h"
#include "store/lists/page.h"

struct store_report {
    int32_t trial_id, run_id;
    bool of_current_run; /* whichever that is: run_id is not looked at */
    const char *group;   /* "training", "validation", or any name without a dot */
    bool has_steps;
    int32_t steps;
    int32_t batch; /* of one without a step: where it stands among the others; 0: nobody knows */
    int64_t report_us;
    const char *avg_metrics;   /* valid JSON; must be an object */
    const char *batch_metrics; /* valid JSON, a list of objects, or NULL */
};

/* Bounds of one report. A group's or a metric's name is at most METRIC_NAME_MAX bytes long. */
enum {
    METRIC_KEYS_MAX = 10000,
    METRIC_NAME_MAX = 256,
    METRIC_VALUE_MAX = 64 << 10,
    METRIC_REPORT_MAX = 4 << 20,
    METRIC_BATCHES_MAX = 32 << 20,
};
/* The report by itself: names, sizes, types, steps. Takes time by its size; no store is asked. */
int store_report_valid(const struct store_report *r, struct error *err);

struct store_report_result {
    bool archived_older; /* rows of an earlier run were archived */
    bool best_of_trial;  /* validation: the trial's best is now this one */
};

/* Would store_report_add take it? The same errors, and nothing is written: for who must know before others are told.
 * Both expect a valid report. */
int store_report_check(struct store *st, const struct store_report *r, struct error *err);
/* The trial's row gives its experiment's searcher metric, by which a validation becomes the best. */
int store_report_add(struct store *st, const struct store_report *r, struct store_report_result *ret,
                     struct error *err);

/* A stored report as trial.v1.MetricsReport shows it. */
struct store_metric_row {
    int64_t id;
    int32_t trial_id, run_id;
    const char *group;
    int32_t total_batches; /* of a report without a step its batch */
    int64_t end_us;
    bool archived;
    /* JSON: {"avg_metrics": …, "batch_metrics": […]}, or {"validation_metrics": …} for validation */
    const char *metrics;
};

/* Pages through the reports of a trial that are not archived, in order of step: start with *cursor zeroed, call until
 * *ret_n is 0. group NULL: all groups. */
struct store_metric_cursor {
    int32_t steps;
    int64_t id;
    bool started;
};
int store_metrics_next(struct store *st, int32_t trial_id, const char *group, struct store_metric_cursor *cursor,
                       int32_t limit, struct arena *a, struct store_metric_row **ret, size_t *ret_n, struct error *err);
/* Reports of the group (NULL: validation) at a checkpoint's step. */

/* {"avg_metrics": {"loss": {"count":…, "sum":…, "min":…, "max":…, "mean":…, "last":…, "type":"number"}}, …} */
int store_summary_metrics(struct store *st, struct store_ints trial_ids, struct arena *a,
                          const char ***ret /* one for each */, struct error *err);

/* The best searcher metric of an experiment. ERR_NOT_FOUND when nothing is validated yet. */
int store_best_metric(struct store *st, int32_t experiment_id, double *ret, int32_t *ret_trial_id, struct error *err);

/* Steps after `after` at which a metric was reported in an experiment, ascending. */
int store_metric_batches(struct store *st, int32_t experiment_id, const char *group, const char *name, int32_t after,
                         struct arena *a, int32_t **ret, size_t *ret_n, struct error *err);

/* Series for charts: the named metrics of a group (no names: all numbers) as points in order of step, each thinned by
 * itself so that they are at most max_points together (0: all; see downsample.h). A point holds those metrics that were
 * chosen there. Reports that all stand at one step are drawn by time. */
struct store_series_query {
    int32_t trial_id;
    const char *group;
    struct store_texts names;
    int64_t start_batches, end_batches;
    bool has_end;             /* without it there is no end */
    int64_t start_us, end_us; /* 0: open */
    bool by_epoch;
    double start_epoch, end_epoch; /* only reports with a number called "epoch" within */
    int32_t max_points;
};
struct store_point {
    int32_t batches;
    int64_t time_us;
    bool has_epoch;
    double epoch;       /* of a metric named "epoch" in the same report */
    const char *values; /* JSON object */
    double first;       /* the first of them */
};
int store_metric_series(struct store *st, const struct store_series_query *q, struct arena *a, struct store_point **ret,
                        size_t *ret_n, struct error *err);

/* Workloads of a trial: reports of training and validation and checkpoints in one list (GET /trials/{id}/workloads). */
enum store_workload_kind { STORE_WORKLOAD_TRAINING, STORE_WORKLOAD_VALIDATION, STORE_WORKLOAD_CHECKPOINT };
struct store_workload {
    enum store_workload_kind kind;
    int32_t total_batches;
    int64_t end_us;
    const char *avg_metrics, *batch_metrics;         /* JSON; batch_metrics NULL unless asked for */
    const char *uuid, *state, *resources, *metadata; /* checkpoints; resources and metadata are JSON */
};
struct store_workload_filter {
    int32_t trial_id;
    int32_t filter;    /* numbers of api.v1.GetTrialWorkloadsRequest.FilterOption */
    const char *group; /* NULL: training and validation */
    bool batch_metrics, remove_deleted_checkpoints;
    const char *sort_key; /* "batches", "endTime", or a metric's name; NULL: batches */
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
