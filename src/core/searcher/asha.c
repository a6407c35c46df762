#include "core/searcher/asha.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "core/searcher/power.h"

/* The result that a trial which ended early has at a rung that it never reached. No result is worse. */
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
    int unit = config->max_length.unit;
    if (config->has_max_time && config->time_metric)
        *ret = (struct asha_length){ASHA_BY_TIME, config->max_time, config->time_metric};
    else if (config->has_max_length && config->max_length.units > 0)
        *ret = (struct asha_length){config->stop_once ? ASHA_STOP_ONCE : ASHA_PROMOTE, config->max_length.units,
                                    unit == EXP_UNIT_NONE ? "length" : exp_unit_name((enum exp_unit)unit)};
    else
        return error_set(err, ERR_INVALID, "searcher: %s needs max_length, or max_time together with time_metric",
                         exp_searcher_kind_name(config->kind));
    return 0;
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

/* Sets up a bracket. The length of the operation that leads to a rung is the rung's own number of units. (In the
 * predecessor, a rung is a running sum of units, and an operation is the difference of two such sums; the result is the
 * same.) */
void asha_init(struct asha *a, const struct asha_length *length, double divisor, int rung_n, int64_t max_trials,
               int64_t max_concurrent)
{
    int64_t units[ASHA_RUNGS_MAX];
    *a = (struct asha){.form = length->form,
                       .unit = length->unit,
                       .divisor = divisor,
                       .max_trials = max_trials,
                       .max_concurrent = max_concurrent,
                       .rung_n = rung_n};
    a->rung = must_calloc((size_t)rung_n, sizeof(struct asha_rung));
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
        a->trial = must_realloc(a->trial, a->trial_cap * sizeof(struct asha_trial));
    }
    while (a->trial_n <= trial)
        a->trial[a->trial_n++] = (struct asha_trial){.rung = -1};
    a->created += a->trial[trial].rung < 0;
    a->trial[trial].rung = (int8_t)rung;
}

static void create_trial(struct asha *a, struct searcher *s, struct searcher_actions *ret)
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
        create_trial(a, s, ret);
}

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

/* Enters a result at a rung, before results there that are equal to it. Returns true if the result is among the best of
 * the rung so far. */
static bool is_among_best(const struct asha *a, struct asha_rung *rung, size_t trial, double metric)
{
    struct ranked result = {.metric = metric, .trial = (uint32_t)trial};
    size_t index = ranking_insert(&rung->results, result, RANK_BEFORE_EQUALS);
    int64_t best = truncated((double)rung->results.n / a->divisor, INT64_MAX);
    return (int64_t)index < (best > 1 ? best : 1);
}

/* Handles a report of a trial. One report may take the trial past several rungs. */
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
            create_trial(a, s, ret);
        return;
    }
}

static void stop_or_go_on(struct asha *a, struct searcher *s, size_t trial, double metric, struct searcher_actions *ret)
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
        create_trial(a, s, ret);
}

/* ---- promoting --------------------------------------------------------------------------------------------------- */

/* Enters a result at a rung and chooses the trial to be promoted from the rung. One more result makes at most one more
 * place among the best. Either the new result gets that place, or the best of the results that had no place before.
 * NULL: no trial is promoted. */
static struct ranked *choose_promotion(const struct asha *a, struct asha_rung *rung, size_t trial, double metric)
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
    if (!chosen || chosen->promoted)
        return NULL;
    chosen->promoted = true;
    return chosen;
}

/* Closes the trials that will never be promoted. These are the trials at the rungs below the lowest rung that a trial
 * is still on its way to. */
static void close_out(struct asha *a, struct searcher *s, struct searcher_actions *ret)
{
    for (; a->closed_out < a->rung_n && a->rung[a->closed_out].outstanding == 0; a->closed_out++) {
        const struct ranked *result;
        struct ranking_cursor at = {0};
        while ((result = ranking_next(&a->rung[a->closed_out].results, &at))) {
            struct asha_trial *t = &a->trial[result->trial];
            if (result->promoted || t->closed)
                continue;
            t->closed = true;
            method_close(s, ret, result->trial);
        }
    }
}

/* Enters the trial's result at its rung and promotes a trial from there. If the promoted trial is closed, it counts as
 * if it had reached the next rung with the worst result, and a trial is chosen at that rung. Returns true if a trial
 * has been given an operation. */
static bool promote_from_rung(struct asha *a, struct searcher *s, size_t trial, double metric,
                              struct searcher_actions *ret)
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
        const struct ranked *next = choose_promotion(a, rung, trial, metric);
        if (!next)
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
    if (!promote_from_rung(a, s, trial, metric, ret) && may_create(a))
        create_trial(a, s, ret);
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

/* A trial with invalid hyperparameters is taken out of all results, and another trial is created in its place. */
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
    create_trial(a, s, ret);
}

static void count_as_worst(struct asha *a, struct searcher *s, size_t trial, struct searcher_actions *ret)
{
    struct asha_trial *t = &a->trial[trial];
    if (a->form == ASHA_BY_TIME) {
        struct ranked worst = {.metric = WORST_METRIC, .trial = (uint32_t)trial};
        ranking_insert(&a->rung[t->rung].results, worst, RANK_BEFORE_EQUALS);
        if (may_create(a))
            create_trial(a, s, ret);
    } else if (method_has_open_operation(s, trial)) {
        result_at_rung(a, s, trial, WORST_METRIC, ret);
    }
    /* Otherwise the trial ended while it waited at a rung. Its result there stays. If it is promoted later, it counts
     * as the worst at the next rung. */
}

void asha_exited_early(struct asha *a, struct searcher *s, size_t trial, enum searcher_exit reason,
                       struct searcher_actions *ret)
{
    struct asha_trial *t = &a->trial[trial];
    bool was_closed = t->closed;
    t->exited_early = t->closed = true;
    if (was_closed) /* the trial was stopped before, and another trial has been created in its place */
        return;
    if (reason == SEARCHER_EXIT_INVALID_HP)
        replace_invalid(a, s, trial, ret);
    else
        count_as_worst(a, s, trial, ret);
}

/* A trial that ends by itself is not replaced. In searches with operations, a trial that has not completed its
 * operation has no result that could be compared, so it counts as failed. */
void asha_exited(struct asha *a, struct searcher *s, size_t trial, struct searcher_actions *ret)
{
    a->exited++;
    if (a->form != ASHA_BY_TIME && method_has_open_operation(s, trial))
        asha_exited_early(a, s, trial, SEARCHER_EXIT_ERRORED, ret);
    a->trial[trial].closed = true;
}

/* Progress is computed from the number of results at the lowest rung; a sixth of the whole is left for the rungs above
 * it. Once every trial has a result at the lowest rung, the number of trials that have ended counts as well. */
double asha_progress(const struct asha *a)
{
    size_t n = a->rung_n > 0 ? a->rung[0].results.n : 0;
    double progress = (double)n / (1.2 * (double)a->max_trials);
    if ((int64_t)n == a->max_trials)
        progress = fmax(progress, (double)(a->exited - a->invalid) / (double)a->max_trials);
    return progress;
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
