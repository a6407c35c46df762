/* Takes metrics in and gives them out. A report is stored and, if it is a validation, given to the core in the same
 * transaction, so that the searcher neither misses nor repeats one across a crash. */
#include <string.h>

#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/stream.h"
#include "api/pipeline/wait.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/trials.h"
#include "store/experiments/unmanaged.h"
#include "store/metrics/metrics.h"
#include "store/models/models.h"

/* ---- reports ----------------------------------------------------------------------------------------------------- */

enum { QUICK_BYTES = 16 * 1024 }; /* a report of at most this size is checked on the loop, a larger one by a reader */

struct report {
    struct store_report row;
    struct store_report_result result;
    /* why the searcher cannot use the report; it is stored nevertheless, and the experiment stops */
    const char *searcher_error;
};

static void take_searcher_error(void *ctx, const struct core_effects *effects)
{
    struct req *r = ctx;
    struct report *p = r->state;
    p->searcher_error = arena_strdup(&r->arena, effects->searcher_error);
}

static int store_report_of(struct store *db, void *ctx, struct error *err)
{
    struct req *r = ctx;
    struct report *p = r->state;
    return store_report_add(db, &p->row, &p->result, err);
}

/* After the commit: informs the sealer. */
static void note_stored(struct req *r, const struct report *p)
{
    r->api->services.metrics_stored(r->api->services.ctx, p->row.trial_id);
}

static void validation_stored(void *ctx, const struct error *err)
{
    struct req *r = ctx;
    const struct report *p = r->state;
    struct error copy = ERROR_INIT;
    if (err)
        error_set(&copy, err->kind, "%s", error_msg(err));
    else if (p->searcher_error)
        error_set(&copy, ERR_INVALID, "%s", p->searcher_error);
    req_finish(r, &copy);
}

static int validated_step(struct req *r, struct core *core, struct error *err)
{
    const struct report *p = r->state;
    struct core_event ev = {.type = CORE_TRIAL_VALIDATED,
                            .now_us = r->now_us,
                            .validated = {.trial_id = p->row.trial_id, .metrics = p->row.avg_metrics}};
    struct companion companion = {.stepped = take_searcher_error,
                                  .store = store_report_of,
                                  .done = validation_stored,
                                  .ctx = r};
    if (req_core_step(r, core, &ev, &companion, err) < 0)
        return -1;
    return req_wait(r, NULL);
}

static int noted_step(struct req *r, struct core *core, struct error *err)
{
    note_stored(r, r->state);
    return 0;
}

static int plain_step(struct req *r, struct store *db, struct error *err)
{
    struct report *p = r->state;
    if (store_report_add(db, &p->row, &p->result, err) < 0)
        return -1;
    return req_then_loop(r, noted_step);
}

/* Runs on a reader: would the validation be accepted? A report whose keys clash with stored ones is refused before
 * the core sees it. */
static int check_step(struct req *r, struct store *db, struct error *err)
{
    struct report *p = r->state;
    if (store_report_check(db, &p->row, err) < 0)
        return -1;
    return req_then_loop(r, validated_step);
}

static int go_on(struct req *r)
{
    const struct report *p = r->state;
    return strcmp(p->row.group, "validation") == 0 ? req_then_read(r, check_step) : req_then_write(r, plain_step);
}

/* Checks only the text of the report, not the store. */
static int check_text(struct req *r, struct error *err)
{
    const struct report *p = r->state;
    return store_report_valid(&p->row, err) < 0 ? -1 : go_on(r);
}

/* The same on a reader, for texts that would occupy the loop for too long. */
static int check_text_step(struct req *r, struct store *db, struct error *err)
{
    return check_text(r, err);
}

static int add_report(struct req *r, const struct wire_trial_metrics *m, const char *group, struct error *err)
{
    if (!m)
        return error_set(err, ERR_INVALID, "metrics are missing");
    struct report *p = arena_new(&r->arena, struct report);
    p->row = (struct store_report){.trial_id = m->trial_id,
                                   .run_id = m->trial_run_id,
                                   .group = group,
                                   .has_steps = m->has_steps_completed,
                                   .steps = m->steps_completed,
                                   .report_us = m->has_report_time ? m->report_time : r->now_us,
                                   .avg_metrics = m->metrics && m->metrics->avg_metrics ? m->metrics->avg_metrics
                                                                                        : "{}",
                                   .batch_metrics = m->metrics
                                                        ? json_of_raw_list(m->metrics->batch_metrics,
                                                                           m->metrics->batch_metrics_n, &r->arena)
                                                        : NULL};
    r->state = p;
    size_t size = strlen(p->row.avg_metrics) + (p->row.batch_metrics ? strlen(p->row.batch_metrics) : 0);
    return size <= QUICK_BYTES ? check_text(r, err) : req_then_read(r, check_text_step);
}

int api_report_trial_metrics(struct req *r, struct core *core, const struct wire_report_trial_metrics_request *in,
                             struct wire_report_trial_metrics_response *ret, struct error *err)
{
    return add_report(r, in->metrics, in->group, err);
}

int api_report_trial_training_metrics(struct req *r, struct core *core,
                                      const struct wire_report_trial_training_metrics_request *in,
                                      struct wire_report_trial_training_metrics_response *ret, struct error *err)
{
    return add_report(r, in->training_metrics, "training", err);
}

int api_report_trial_validation_metrics(struct req *r, struct core *core,
                                        const struct wire_report_trial_validation_metrics_request *in,
                                        struct wire_report_trial_validation_metrics_response *ret, struct error *err)
{
    return add_report(r, in->validation_metrics, "validation", err);
}

/* ---- streams of metrics: trial by trial, in order of steps ------------------------------------------------------- */

enum {
    ROWS_PER_LINE = 100,
    ROWS_PER_FETCH = 1000, /* a block is unpacked once for so many rows */
};

struct metrics_stream {
    const int32_t *trial_id;
    size_t trial_n, at;
    const char *group; /* NULL: all groups */
    struct store_metric_cursor cursor;
};

static void report_to_wire(const struct store_metric_row *m, struct wire_trial_metrics_report *ret)
{
    *ret = (struct wire_trial_metrics_report){.trial_id = m->trial_id,
                                              .end_time = m->end_us,
                                              .has_end_time = true,
                                              .metrics = m->metrics,
                                              .total_batches = m->total_batches,
                                              .archived = m->archived,
                                              .id = (int32_t)m->id,
                                              .trial_run_id = m->run_id,
                                              .group = m->group};
}

/* GetMetrics, GetTrainingMetrics and GetValidationMetrics have the same response message under three names. */
static int fetch_metrics(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    struct metrics_stream *s = r->state;
    while (s->at < s->trial_n && stream_batch_bytes(r) < STREAM_BATCH_BYTES) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_metric_row *row;
        size_t n;
        if (store_metrics_next(db, s->trial_id[s->at], s->group, &s->cursor, ROWS_PER_FETCH, &a, &row, &n, err) < 0)
            return -1;
        if (n == 0) {
            s->at++;
            s->cursor = (struct store_metric_cursor){0};
            continue;
        }
        struct wire_trial_metrics_report *report = arena_array(&a, struct wire_trial_metrics_report, n);
        for (size_t i = 0; i < n; i++)
            report_to_wire(&row[i], &report[i]);
        for (size_t i = 0; i < n; i += ROWS_PER_LINE)
            stream_add(r,
                       &(struct wire_get_metrics_response){.metrics = report + i,
                                                           .metrics_n = n - i < ROWS_PER_LINE ? n - i : ROWS_PER_LINE});
    }
    *next = s->at < s->trial_n ? STREAM_MORE : STREAM_END;
    return 0;
}

static int start_metrics(struct req *r, const int32_t *trial_id, size_t trial_n, const char *group)
{
    struct metrics_stream *s = arena_new(&r->arena, struct metrics_stream);
    *s = (struct metrics_stream){.trial_id = trial_id, .trial_n = trial_n, .group = group};
    r->state = s;
    return req_stream(r, NULL, fetch_metrics);
}

int api_get_metrics(struct req *r, struct core *core, const struct wire_get_metrics_request *in, struct error *err)
{
    return start_metrics(r, in->trial_ids, in->trial_ids_n, in->group && *in->group ? in->group : NULL);
}

int api_get_training_metrics(struct req *r, struct core *core, const struct wire_get_training_metrics_request *in,
                             struct error *err)
{
    return start_metrics(r, in->trial_ids, in->trial_ids_n, "training");
}

int api_get_validation_metrics(struct req *r, struct core *core, const struct wire_get_validation_metrics_request *in,
                               struct error *err)
{
    return start_metrics(r, in->trial_ids, in->trial_ids_n, "validation");
}

/* ---- metrics of a checkpoint: what the trials that use it have reported ------------------------------------------ */

enum { REPORTS_OF_CHECKPOINT_MAX = 10000 };

struct reports {
    struct wire_trial_metrics_report *report;
    size_t n;
};

static int add_reports_of_trial(struct req *r, struct store *db, int32_t trial_id, const char *group,
                                struct reports *ret, struct error *err)
{
    struct store_metric_cursor cursor = {0};
    for (;;) {
        struct store_metric_row *row;
        size_t n;
        if (store_metrics_next(db, trial_id, group, &cursor, ROWS_PER_FETCH, &r->arena, &row, &n, err) < 0)
            return -1;
        if (n == 0)
            return 0;
        if (ret->n + n > REPORTS_OF_CHECKPOINT_MAX)
            return error_set(err, ERR_TOO_LARGE,
                             "more than %d reports belong to this checkpoint: name a metric_group, or "
                             "read those of trial %d by GET /api/v1/trials/metrics/trial_metrics",
                             REPORTS_OF_CHECKPOINT_MAX, trial_id);
        for (size_t i = 0; i < n; i++)
            report_to_wire(&row[i], &ret->report[ret->n++]);
    }
}

/* The reports of these trials, of one group of metrics, or of all groups if it is NULL or "". */
static int reports_of_trials(struct req *r, struct store *db, struct store_ints trials, const char *group,
                             struct reports *ret, struct error *err)
{
    *ret = (struct reports){arena_array(&r->arena, struct wire_trial_metrics_report, REPORTS_OF_CHECKPOINT_MAX), 0};
    for (size_t i = 0; i < trials.n; i++)
        if (add_reports_of_trial(r, db, trials.value[i], group && *group ? group : NULL, ret, err) < 0)
            return -1;
    return 0;
}

/* How trials use a checkpoint, as the store names it. */
static const char *const source_types[] = {[WIRE_TRIAL_SOURCE_INFO_TYPE_INFERENCE] = "INFERENCE",
                                           [WIRE_TRIAL_SOURCE_INFO_TYPE_FINE_TUNING] = "FINE_TUNING"};

int api_get_trial_metrics_by_checkpoint(struct req *r, struct store *db,
                                        const struct wire_get_trial_metrics_by_checkpoint_request *in,
                                        struct wire_get_trial_metrics_by_checkpoint_response *ret, struct error *err)
{
    const char *type = in->has_trial_source_info_type ? source_types[in->trial_source_info_type] : NULL;
    struct reports found;
    struct store_checkpoint checkpoint;
    struct store_ints trials;
    if (store_checkpoint_get(db, in->checkpoint_uuid, &r->arena, &checkpoint, err) < 0 ||
        store_trials_of_source(db, in->checkpoint_uuid, type, &r->arena, &trials, err) < 0 ||
        reports_of_trials(r, db, trials, in->metric_group, &found, err) < 0)
        return -1;
    ret->metrics = found.report;
    ret->metrics_n = found.n;
    return 0;
}

int api_get_trial_metrics_by_model_version(struct req *r, struct store *db,
                                           const struct wire_get_trial_metrics_by_model_version_request *in,
                                           struct wire_get_trial_metrics_by_model_version_response *ret,
                                           struct error *err)
{
    const char *type = in->has_trial_source_info_type ? source_types[in->trial_source_info_type] : NULL;
    struct reports found;
    struct store_model m;
    struct store_model_version v;
    struct store_ints trials;
    if (store_model_find(db, in->model_name ? in->model_name : "", &r->arena, &m, err) < 0 ||
        store_model_version_find(db, &m, in->model_version_num ? in->model_version_num : "", &r->arena, &v, err) < 0 ||
        store_trials_of_version(db, m.id, v.version, type, &r->arena, &trials, err) < 0 ||
        reports_of_trials(r, db, trials, in->metric_group, &found, err) < 0)
        return -1;
    ret->metrics = found.report;
    ret->metrics_n = found.n;
    return 0;
}
