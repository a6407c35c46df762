#include "core/searcher/asha.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/searcher/power.h"

/* What a trial that ended early "reports" for a rung that it never reached: worse than anything. */
#define WORST_METRIC DBL_MAX

int64_t truncated(double x, int64_t max)
{
    return !(x >= 1) ? 0 : x >= (double)max ? max : (int64_t)x;
}

void asha_rung_units(int rung_n, int64_t units, double divisor, int64_t *ret)
{
    for (int i = 0; i < rung_n; i++) {
        int64_t n = truncated((double)units / power(divisor, rung_n - 1 - i), units);
        ret[i] = n > 1 ? n : 1;
    }
}

int asha_length(const struct exp_searcher *config, struct asha_length *ret, struct error *err)
{
    static const char *const unit[] = {[EXP_UNIT_NONE] = "length",
                                       [EXP_UNIT_BATCHES] = "batches",
                                       [EXP_UNIT_RECORDS] = "records",
                                       [EXP_UNIT_EPOCHS] = "epochs"};
    if (config->max_time > 0 && config->time_metric != NULL)
        *ret = (struct asha_length){ASHA_BY_TIME, config->max_time, config->time_metric};
    else if (config->has_max_length && config->max_length.units > 0)
        *ret = (struct asha_length){config->stop_once ? ASHA_STOP_ONCE : ASHA_PROMOTE, config->max_length.units,
                                    unit[config->max_length.unit]};
    else
        return error_set(err, ERR_INVALID, "searcher: %s needs max_length, or max_time together with time_metric",
                         config->name);
    return 0;
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

/* Operations lead from rung to rung: the rung of the released searchers is a running sum of units, and the operation
 * is the difference of two of them (contract, searchers.md §11). What comes out is the plain length of each rung. */
void asha_init(struct asha *a, const struct asha_length *length, double divisor, int rung_n, int64_t max_trials,
               int64_t max_concurrent)
{
    int64_t units[ASHA_RUNGS_MAX];
    *a = (struct asha){.form = length->form, .unit = length->unit, .divisor = divisor, .max_trials = max_trials,
                       .max_concurrent = max_concurrent, .rung_n = rung_n};
    a->rung = calloc((size_t)rung_n, sizeof(struct asha_rung));
    if (a->rung == NULL)
        abort();
    asha_rung_units(rung_n, length->units, divisor, units);
    for (int i = 0; i < rung_n; i++)
        a->rung[i].units = units[i];
}

void asha_release(struct asha *a)
{
    for (int i = 0; i < a->rung_n; i++)
        ranking_release(&a->rung[i].results);
    free(a->rung);
    free(a->trial);
}

int64_t asha_at_once(const struct asha *a)
{
    int64_t n = a->max_concurrent;
    if (n == 0)
        n = truncated(power(a->divisor, a->rung_n - 1), a->max_trials);
    return n < 1 ? 1 : n > a->max_trials ? a->max_trials : n;
}

void asha_place(struct asha *a, size_t trial, int rung)
{
    if (trial >= a->trial_cap) {
        a->trial_cap = trial + 1 > 2 * a->trial_cap ? trial + 1 : 2 * a->trial_cap;
        a->trial = realloc(a->trial, a->trial_cap * sizeof(struct asha_trial));
        if (a->trial == NULL)
            abort();
    }
    while (a->trial_n <= trial)
        a->trial[a->trial_n++] = (struct asha_trial){.rung = -1};
    a->created += a->trial[trial].rung < 0;
    a->trial[trial].rung = (int8_t)rung;
}

static void create(struct asha *a, struct searcher *s, struct searcher_actions *ret)
{
    size_t trial = method_create(s, ret);
    asha_place(a, trial, 0);
    if (a->form == ASHA_BY_TIME)
        return;
    a->rung[0].outstanding++;
    method_validate_after(s, ret, trial, a->rung[0].units);
}

static bool may_create(const struct asha *a)
{
    return a->created - a->invalid < a->max_trials;
}

void asha_start(struct asha *a, struct searcher *s, struct searcher_actions *ret)
{
    for (int64_t i = asha_at_once(a); i > 0; i--)
        create(a, s, ret);
}

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

/* Among the best of this rung so far? Ties go before what was there. */
static bool is_among_best(const struct asha *a, struct asha_rung *rung, size_t trial, double metric)
{
    struct ranked result = {.metric = metric, .trial = (uint32_t)trial};
    size_t index = ranking_insert(&rung->results, result, RANK_BEFORE_EQUALS);
    int64_t best = truncated((double)rung->results.n / a->divisor, INT64_MAX);
    return (int64_t)index < (best > 1 ? best : 1);
}

/* One report may take a trial past several rungs. */
void asha_validated(struct asha *a, struct searcher *s, size_t trial, double metric, double time,
                    struct searcher_actions *ret)
{
    struct asha_trial *t = &a->trial[trial];
    if (t->closed)
        return;
    for (int r = t->rung; time >= (double)a->rung[r].units; r++) {
        t->rung = (int8_t)r;
        bool goes_on = is_among_best(a, &a->rung[r], trial, metric);
        if (goes_on && r + 1 < a->rung_n) {
            t->rung = (int8_t)(r + 1);
            continue;
        }
        t->closed = true;
        method_stop(ret, trial);
        if (may_create(a))
            create(a, s, ret);
        return;
    }
}

static void stop_or_go_on(struct asha *a, struct searcher *s, size_t trial, double metric,
                          struct searcher_actions *ret)
{
    struct asha_trial *t = &a->trial[trial];
    struct asha_rung *rung = &a->rung[t->rung];
    bool goes_on = is_among_best(a, rung, trial, metric) && t->rung + 1 < a->rung_n && !t->exited_early;
    rung->outstanding--;
    if (goes_on) {
        rung = &a->rung[++t->rung];
        rung->outstanding++;
        method_validate_after(s, ret, trial, rung->units);
        return;
    }
    if (!t->closed)
        method_close(s, ret, trial);
    t->closed = true;
    if (may_create(a))
        create(a, s, ret);
}

/* ---- promoting --------------------------------------------------------------------------------------------------- */

/* One more result means at most one more place among the best: the new one has it, or the one that just missed it
 * before. NULL: nobody goes on. */
static struct ranked *promotion(const struct asha *a, struct asha_rung *rung, size_t trial, double metric)
{
    struct ranking *results = &rung->results;
    int64_t before = truncated((double)results->n / a->divisor, INT64_MAX);
    int64_t after = truncated((double)(results->n + 1) / a->divisor, INT64_MAX);
    struct ranked result = {.metric = metric, .trial = (uint32_t)trial};
    size_t index = ranking_insert(results, result, RANK_AFTER_EQUALS);
    struct ranked *chosen = NULL;
    if ((int64_t)index < after)
        chosen = ranking_at(results, index);
    else if (after != before)
        chosen = ranking_at(results, (size_t)before);
    if (chosen == NULL || chosen->promoted)
        return NULL;
    chosen->promoted = true;
    return chosen;
}

/* Rung by rung from below, while nobody is on the way to it any more: who was not promoted never will be. */
static void close_out(struct asha *a, struct searcher *s, struct searcher_actions *ret)
{
    for (; a->closed_out < a->rung_n && a->rung[a->closed_out].outstanding == 0; a->closed_out++) {
        const struct ranked *result;
        struct ranking_cursor at = {0};
        while ((result = ranking_next(&a->rung[a->closed_out].results, &at)) != NULL) {
            struct asha_trial *t = &a->trial[result->trial];
            if (result->promoted || t->closed)
                continue;
            t->closed = true;
            method_close(s, ret, result->trial);
        }
    }
}

/* The trial's result at its rung. A promoted trial that cannot go on counts as if it had climbed and done worst: then it
 * is the next one's turn. Whether somebody got work. */
static bool promote(struct asha *a, struct searcher *s, size_t trial, double metric, struct searcher_actions *ret)
{
    for (;;) {
        int r = a->trial[trial].rung;
        struct asha_rung *rung = &a->rung[r];
        rung->outstanding--;
        if (r + 1 == a->rung_n) {
            ranking_insert(&rung->results, (struct ranked){.metric = metric, .trial = (uint32_t)trial},
                           RANK_AFTER_EQUALS);
            if (!a->trial[trial].closed)
                method_close(s, ret, trial);
            a->trial[trial].closed = true;
            return false;
        }
        const struct ranked *next = promotion(a, rung, trial, metric);
        if (next == NULL)
            return false;
        trial = next->trial;
        a->trial[trial].rung = (int8_t)(r + 1);
        a->rung[r + 1].outstanding++;
        if (!a->trial[trial].closed) {
            method_validate_after(s, ret, trial, a->rung[r + 1].units);
            return true;
        }
        metric = WORST_METRIC;
    }
}

static void result_at_rung(struct asha *a, struct searcher *s, size_t trial, double metric,
                           struct searcher_actions *ret)
{
    if (a->form == ASHA_STOP_ONCE) {
        stop_or_go_on(a, s, trial, metric, ret);
        return;
    }
    if (!promote(a, s, trial, metric, ret) && may_create(a))
        create(a, s, ret);
    if ((int64_t)a->rung[0].results.n == a->max_trials)
        close_out(a, s, ret);
}

void asha_operation_completed(struct asha *a, struct searcher *s, size_t trial, double metric,
                              struct searcher_actions *ret)
{
    if (!a->trial[trial].closed)
        result_at_rung(a, s, trial, metric, ret);
}

/* ---- the ends of trials ------------------------------------------------------------------------------------------ */

/* As if it had never been, and another one takes its place. */
static void replace_invalid(struct asha *a, struct searcher *s, size_t trial, struct searcher_actions *ret)
{
    struct asha_trial *t = &a->trial[trial];
    for (int r = 0; r <= t->rung; r++)
        ranking_remove(&a->rung[r].results, (uint32_t)trial);
    a->invalid++;
    a->closed_out = 0;
    if (a->form == ASHA_BY_TIME) {
        method_stop(ret, trial);
    } else {
        if (method_has_open_operation(s, trial))
            a->rung[t->rung].outstanding--;
        method_close(s, ret, trial);
    }
    create(a, s, ret);
}

static void count_as_worst(struct asha *a, struct searcher *s, size_t trial, struct searcher_actions *ret)
{
    struct asha_trial *t = &a->trial[trial];
    if (a->form == ASHA_BY_TIME) {
        struct ranked worst = {.metric = WORST_METRIC, .trial = (uint32_t)trial};
        ranking_insert(&a->rung[t->rung].results, worst, RANK_BEFORE_EQUALS);
        if (may_create(a))
            create(a, s, ret);
    } else if (method_has_open_operation(s, trial)) {
        result_at_rung(a, s, trial, WORST_METRIC, ret);
    }
    /* else it ended while it waited at a rung: its result there stands, and if it is promoted, it does worst */
}

void asha_exited_early(struct asha *a, struct searcher *s, size_t trial, enum searcher_exit reason,
                       struct searcher_actions *ret)
{
    struct asha_trial *t = &a->trial[trial];
    bool was_closed = t->closed;
    t->exited_early = t->closed = true;
    if (was_closed) /* stopped before: somebody has its place already */
        return;
    if (reason == SEARCHER_EXIT_INVALID_HP)
        replace_invalid(a, s, trial, ret);
    else
        count_as_worst(a, s, trial, ret);
}

/* Today's trials that end by themselves are not replaced (contract, searchers.md §7); one that leaves its operation
 * undone has no result to be compared. */
void asha_exited(struct asha *a, struct searcher *s, size_t trial, struct searcher_actions *ret)
{
    a->exited++;
    if (a->form != ASHA_BY_TIME && method_has_open_operation(s, trial))
        asha_exited_early(a, s, trial, SEARCHER_EXIT_ERRORED, ret);
    a->trial[trial].closed = true;
}

/* By the lowest rung, with a fifth for what comes after it, until the trials that ended say more. */
double asha_progress(const struct asha *a)
{
    size_t n = a->rung_n > 0 ? a->rung[0].results.n : 0;
    double progress = (double)n / (1.2 * (double)a->max_trials);
    if ((int64_t)n == a->max_trials)
        progress = fmax(progress, (double)(a->exited - a->invalid) / (double)a->max_trials);
    return progress;
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static struct json_object *snapshot_rung(const struct asha_rung *rung)
{
    struct json_object *o = json_object_new_object(), *trials = json_object_new_array();
    struct json_object *metrics = json_object_new_array(), *promoted = json_object_new_array();
    const struct ranked *result;
    struct ranking_cursor at = {0};
    for (size_t i = 0; (result = ranking_next(&rung->results, &at)) != NULL; i++) {
        json_object_array_add(trials, json_object_new_int64(result->trial));
        json_object_array_add(metrics, json_new_double(result->metric));
        if (result->promoted)
            json_object_array_add(promoted, json_object_new_int64((int64_t)i));
    }
    json_object_object_add(o, "outstanding", json_object_new_int64((int64_t)rung->outstanding));
    json_object_object_add(o, "trials", trials);
    json_object_object_add(o, "metrics", metrics);
    json_object_object_add(o, "promoted", promoted);
    return o;
}

/* A trial is 4 × rung + 2 if it exited early + 1 if it is closed, or -1. */
struct json_object *asha_snapshot(const struct asha *a)
{
    struct json_object *o = json_object_new_object(), *rungs = json_object_new_array();
    struct json_object *trials = json_object_new_array();
    for (int r = 0; r < a->rung_n; r++)
        json_object_array_add(rungs, snapshot_rung(&a->rung[r]));
    for (size_t i = 0; i < a->trial_n; i++) {
        const struct asha_trial *t = &a->trial[i];
        json_object_array_add(trials, json_object_new_int(t->rung < 0 ? -1 : 4 * t->rung + 2 * t->exited_early + t->closed));
    }
    json_object_object_add(o, "rungs", rungs);
    json_object_object_add(o, "trials", trials);
    json_object_object_add(o, "exited", json_object_new_int64(a->exited));
    json_object_object_add(o, "invalid", json_object_new_int64(a->invalid));
    return o;
}

static struct json_object *list_of(struct json_object *o, const char *name, size_t max)
{
    struct json_object *list = NULL;
    if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, name, &list) ||
        !json_object_is_type(list, json_type_array) || json_object_array_length(list) > max)
        return NULL;
    return list;
}

static bool is_int(struct json_object *v, int64_t min, int64_t max)
{
    return json_object_is_type(v, json_type_int) && json_object_get_int64(v) >= min && json_object_get_int64(v) <= max;
}

static bool is_metric(struct json_object *v)
{
    return (json_object_is_type(v, json_type_double) || json_object_is_type(v, json_type_int)) &&
           isfinite(json_object_get_double(v));
}

static int restore_results(struct asha *a, struct asha_rung *rung, struct json_object *trials,
                           struct json_object *metrics)
{
    for (size_t i = 0; i < json_object_array_length(trials); i++) {
        struct json_object *trial = json_object_array_get_idx(trials, i), *metric = json_object_array_get_idx(metrics, i);
        if (!is_int(trial, 0, (int64_t)a->trial_n - 1) || !is_metric(metric) ||
            a->trial[json_object_get_int64(trial)].rung < 0)
            return -1;
        struct ranked result = {.metric = json_object_get_double(metric),
                                .trial = (uint32_t)json_object_get_int64(trial)};
        if (ranking_insert(&rung->results, result, RANK_AFTER_EQUALS) != i)
            return -1; /* not in order */
    }
    return 0;
}

static int restore_rung(struct asha *a, struct asha_rung *rung, struct json_object *o, struct error *err)
{
    struct json_object *trials = list_of(o, "trials", SIZE_MAX), *metrics = list_of(o, "metrics", SIZE_MAX);
    struct json_object *promoted = list_of(o, "promoted", SIZE_MAX);
    int64_t outstanding;
    if (trials == NULL || metrics == NULL || promoted == NULL ||
        json_object_array_length(trials) != json_object_array_length(metrics) ||
        restore_results(a, rung, trials, metrics) < 0)
        return error_set(err, ERR_INVALID, "the results of a rung are not in their form");
    for (size_t i = 0; i < json_object_array_length(promoted); i++) {
        struct json_object *index = json_object_array_get_idx(promoted, i);
        if (!is_int(index, 0, (int64_t)rung->results.n - 1))
            return error_set(err, ERR_INVALID, "promoted is not a list of results");
        ranking_at(&rung->results, (size_t)json_object_get_int64(index))->promoted = true;
    }
    if (method_read_count(o, "outstanding", (int64_t)a->trial_n, &outstanding, err) < 0)
        return -1;
    rung->outstanding = (size_t)outstanding;
    return 0;
}

static int restore_trials(struct asha *a, struct json_object *trials, size_t trial_n, struct error *err)
{
    for (size_t i = 0; i < json_object_array_length(trials); i++) {
        struct json_object *v = json_object_array_get_idx(trials, i);
        if (!is_int(v, -1, 4 * a->rung_n - 1))
            return error_set(err, ERR_INVALID, "trials: is no list of trials");
        int n = json_object_get_int(v);
        if (n < 0)
            continue;
        if (i >= trial_n)
            return error_set(err, ERR_INVALID, "trials: has more than were created");
        asha_place(a, i, n / 4);
        a->trial[i].exited_early = (n & 2) != 0;
        a->trial[i].closed = (n & 1) != 0;
    }
    return 0;
}

int asha_restore(struct asha *a, struct json_object *state, size_t trial_n, struct error *err)
{
    struct json_object *rungs = list_of(state, "rungs", (size_t)a->rung_n), *trials = list_of(state, "trials", SIZE_MAX);
    if (rungs == NULL || json_object_array_length(rungs) != (size_t)a->rung_n || trials == NULL)
        return error_set(err, ERR_INVALID, "rungs or trials: do not fit this search");
    if (restore_trials(a, trials, trial_n, err) < 0)
        return -1;
    for (int r = 0; r < a->rung_n; r++)
        if (restore_rung(a, &a->rung[r], json_object_array_get_idx(rungs, (size_t)r), err) < 0)
            return -1;
    if (method_read_count(state, "exited", (int64_t)trial_n, &a->exited, err) < 0 ||
        method_read_count(state, "invalid", (int64_t)trial_n, &a->invalid, err) < 0)
        return -1;
    return 0;
}

/* ---- preview ----------------------------------------------------------------------------------------------------- */

void asha_preview(const struct asha *a, struct search_plan *ret)
{
    int64_t n = a->max_trials;
    for (int r = 0; r < a->rung_n; r++) {
        int64_t go_on = truncated((double)n / a->divisor, n);
        if (go_on < 1)
            go_on = 1;
        search_plan_add(ret, r + 1 == a->rung_n ? n : n - go_on, a->rung[r].units);
        n = go_on;
    }
    search_plan_set_unit(ret, a->unit);
}

/* ---- async_halving: one bracket ---------------------------------------------------------------------------------- */

static int halving_new(const struct exp_searcher *config, struct json_object *hyperparameters, void **ret,
                       struct error *err)
{
    struct asha_length length;
    if (asha_length(config, &length, err) < 0)
        return -1;
    if (config->num_rungs < 1 || config->num_rungs > ASHA_RUNGS_MAX)
        return error_set(err, ERR_INVALID, "searcher.num_rungs: must be 1 to %d", ASHA_RUNGS_MAX);
    if (config->max_trials < 1)
        return error_set(err, ERR_INVALID, "searcher.max_trials: must be 1 or more");
    struct asha *a = malloc(sizeof *a);
    if (a == NULL)
        abort();
    asha_init(a, &length, config->divisor, config->num_rungs, config->max_trials, config->max_concurrent_trials);
    if (method_check_start(asha_at_once(a), err) < 0) {
        asha_release(a);
        free(a);
        return -1;
    }
    *ret = a;
    return 0;
}

static void halving_free(void *method)
{
    asha_release(method);
    free(method);
}

static void halving_start(void *method, struct searcher *s, struct searcher_actions *ret)
{
    asha_start(method, s, ret);
}

static void halving_validated(void *method, struct searcher *s, size_t trial, double metric, double time,
                              struct searcher_actions *ret)
{
    asha_validated(method, s, trial, metric, time, ret);
}

static void halving_operation_completed(void *method, struct searcher *s, size_t trial, double metric,
                                        struct searcher_actions *ret)
{
    asha_operation_completed(method, s, trial, metric, ret);
}

static void halving_exited_early(void *method, struct searcher *s, size_t trial, enum searcher_exit reason,
                                 struct searcher_actions *ret)
{
    asha_exited_early(method, s, trial, reason, ret);
}

static void halving_exited(void *method, struct searcher *s, size_t trial, struct searcher_actions *ret)
{
    asha_exited(method, s, trial, ret);
}

static double halving_progress(const void *method)
{
    return asha_progress(method);
}

static struct json_object *halving_snapshot(const void *method)
{
    return asha_snapshot(method);
}

static int halving_restore(void *method, struct json_object *state, size_t trial_n, struct error *err)
{
    const struct asha *a = method;
    if (asha_restore(method, state, trial_n, err) < 0)
        return -1;
    if ((size_t)a->created != trial_n)
        return error_set(err, ERR_INVALID, "trials: %" PRId64 " of %zu are there", a->created, trial_n);
    return 0;
}

static void halving_preview(const void *method, struct search_plan *ret)
{
    asha_preview(method, ret);
}

const struct search_method_type search_method_asha = {
    .name = "async_halving", .new = halving_new, .free = halving_free, .start = halving_start,
    .validated = halving_validated, .operation_completed = halving_operation_completed,
    .exited_early = halving_exited_early, .exited = halving_exited, .progress = halving_progress,
    .snapshot = halving_snapshot, .restore = halving_restore, .preview = halving_preview,
};
