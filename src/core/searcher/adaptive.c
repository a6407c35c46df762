#include "core/searcher/adaptive.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "core/searcher/power.h"
#include "gen/config_numbers.h"

struct adaptive {
    struct asha *bracket;
    size_t bracket_n;
    int16_t *bracket_of; /* the index of each trial's bracket, by the trial's number */
    size_t trial_n, trial_cap;
};

/* ---- brackets ---------------------------------------------------------------------------------------------------- */

void adaptive_share_trials(struct adaptive_bracket *b, size_t n, int64_t max_trials, double divisor)
{
    cleanup_free double *weight = must_calloc(n + 1, sizeof(*weight));
    double all = 0;
    int64_t left = max_trials;
    for (size_t i = 0; i < n; i++) {
        weight[i] = power(divisor, b[i].rungs - 1) / b[i].rungs;
        all += weight[i];
    }
    for (size_t i = 0; i < n; i++) {
        b[i].max_trials = truncated(weight[i] / all * (double)max_trials, max_trials);
        if (b[i].max_trials < 1)
            b[i].max_trials = 1;
        left -= b[i].max_trials;
    }
    if (left > 0)
        b[0].max_trials += left;
}

void adaptive_share_concurrency(struct adaptive_bracket *b, size_t n, int64_t max_concurrent, double divisor)
{
    if (max_concurrent == 0) {
        int64_t least = truncated(divisor, INT32_MAX);
        for (size_t i = 0; i < n; i++)
            b[i].max_concurrent = b[n - 1].max_trials > least ? b[n - 1].max_trials : least;
        return;
    }
    if (max_concurrent < (int64_t)n)
        max_concurrent = (int64_t)n;
    for (size_t i = 0; i < n; i++)
        b[i].max_concurrent = max_concurrent / (int64_t)n + ((int64_t)i < max_concurrent % (int64_t)n);
}

/* Returns ⌊ln x / ln divisor⌋ + 1, the number of rungs at which x trials come down to one if one in `divisor` goes on
 * from each rung. The result is as inexact as doubles are: ln 1000 / ln 10 gives 2.9999… and so 3 rungs. */
static int64_t rungs_for(double x, double divisor)
{
    return truncated(natural_log(x) / natural_log(divisor), ASHA_RUNGS_MAX) + 1;
}

static int fewest_rungs(enum exp_searcher_mode mode, int most)
{
    switch (mode) {
    case EXP_SEARCHER_MODE_AGGRESSIVE:
        return most;
    case EXP_SEARCHER_MODE_CONSERVATIVE:
        return 1;
    case EXP_SEARCHER_MODE_STANDARD:
        break;
    }
    return (most - 1) / 2 + 1;
}

static void brackets_of_mode(const struct exp_searcher *config, int64_t units, struct adaptive_bracket **ret,
                             size_t *ret_n)
{
    int64_t most = config->max_rungs < ASHA_RUNGS_MAX ? config->max_rungs : ASHA_RUNGS_MAX;
    int64_t by_units = rungs_for((double)units, config->divisor);
    int64_t by_trials = rungs_for((double)exp_searcher_trials(config), config->divisor);
    most = by_units < most ? by_units : most;
    most = by_trials < most ? by_trials : most;
    int fewest = fewest_rungs(config->mode, (int)most);
    *ret_n = (size_t)(most - fewest + 1);
    *ret = must_calloc(*ret_n, sizeof(**ret));
    for (size_t i = 0; i < *ret_n; i++)
        (*ret)[i].rungs = (int)most - (int)i;
}

static int by_rungs_down(const void *a, const void *b)
{
    return ((const struct adaptive_bracket *)b)->rungs - ((const struct adaptive_bracket *)a)->rungs;
}

static int brackets_as_given(const int32_t *rungs, size_t n, struct adaptive_bracket **ret, size_t *ret_n,
                             struct error *err)
{
    if (n > ADAPTIVE_BRACKETS_MAX)
        return error_set(err, ERR_INVALID, "searcher.bracket_rungs: %zu brackets, at most %d are possible", n,
                         ADAPTIVE_BRACKETS_MAX);
    cleanup_free struct adaptive_bracket *b = must_calloc(n, sizeof(*b));
    for (size_t i = 0; i < n; i++) {
        if (rungs[i] < EXP_SEARCHER_BRACKET_RUNGS_MIN || rungs[i] > ASHA_RUNGS_MAX)
            return error_set(err, ERR_INVALID, "searcher.bracket_rungs[%zu]: must be 1 to %d", i, ASHA_RUNGS_MAX);
        b[i].rungs = rungs[i];
    }
    qsort(b, n, sizeof(*b), by_rungs_down);
    *ret = take_ptr(b);
    *ret_n = n;
    return 0;
}

int adaptive_brackets(const struct exp_searcher *config, struct adaptive_bracket **ret, size_t *ret_n,
                      struct error *err)
{
    struct asha_length length;
    if (asha_length(config, &length, err) < 0)
        return -1;
    int32_t trials = exp_searcher_trials(config);
    if (trials < 1)
        return error_set(err, ERR_INVALID, "searcher.max_trials: must be 1 or more");
    if (config->bracket_rungs_n == 0)
        brackets_of_mode(config, length.units, ret, ret_n);
    else if (brackets_as_given(config->bracket_rungs, config->bracket_rungs_n, ret, ret_n, err) < 0)
        return -1;
    adaptive_share_trials(*ret, *ret_n, trials, config->divisor);
    adaptive_share_concurrency(*ret, *ret_n, config->max_concurrent_trials, config->divisor);
    return 0;
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static void adaptive_free(void *method)
{
    struct adaptive *a = method;
    for (size_t i = 0; i < a->bracket_n; i++)
        asha_release(&a->bracket[i]);
    free(a->bracket);
    free(a->bracket_of);
    free(a);
}

static int64_t adaptive_at_once(const void *method)
{
    const struct adaptive *a = method;
    int64_t n = 0;
    for (size_t i = 0; i < a->bracket_n; i++)
        n += asha_at_once(&a->bracket[i]);
    return n;
}

static int adaptive_new(const struct exp_searcher *config, struct json_object *hyperparameters, void **ret,
                        struct error *err)
{
    cleanup_free struct adaptive_bracket *b = NULL;
    struct asha_length length;
    size_t n;
    if (adaptive_brackets(config, &b, &n, err) < 0 || asha_length(config, &length, err) < 0)
        return -1;
    struct adaptive *a = must_calloc(1, sizeof(*a));
    a->bracket = must_calloc(n, sizeof(struct asha));
    a->bracket_n = n;
    for (size_t i = 0; i < n; i++)
        asha_init(&a->bracket[i], &length, config->divisor, b[i].rungs, b[i].max_trials, b[i].max_concurrent);
    if (method_check_start(adaptive_at_once(a), err) < 0) {
        adaptive_free(a);
        return -1;
    }
    *ret = a;
    return 0;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void set_bracket(struct adaptive *a, size_t trial, size_t bracket)
{
    if (trial >= a->trial_cap) {
        a->trial_cap = trial + 1 > 2 * a->trial_cap ? trial + 1 : 2 * a->trial_cap;
        a->bracket_of = must_realloc(a->bracket_of, a->trial_cap * sizeof(*a->bracket_of));
    }
    while (a->trial_n <= trial)
        a->bracket_of[a->trial_n++] = -1;
    a->bracket_of[trial] = (int16_t)bracket;
}

/* Enters the trials that the bracket has created as its own: these are the actions from index `from` on that create
 * trials. */
static void adopt_created_trials(struct adaptive *a, size_t bracket, const struct searcher_actions *actions,
                                 size_t from)
{
    for (size_t i = from; i < actions->n; i++)
        if (actions->item[i].type == SEARCHER_CREATE)
            set_bracket(a, actions->item[i].trial, bracket);
}

static void adaptive_start(void *method, struct searcher *s, struct searcher_actions *ret)
{
    struct adaptive *a = method;
    for (size_t i = 0; i < a->bracket_n; i++) {
        size_t from = ret->n;
        asha_start(&a->bracket[i], s, ret);
        adopt_created_trials(a, i, ret, from);
    }
}

static void adaptive_validated(void *method, struct searcher *s, size_t trial, double metric, double time,
                               struct searcher_actions *ret)
{
    struct adaptive *a = method;
    size_t from = ret->n, i = (size_t)a->bracket_of[trial];
    asha_validated(&a->bracket[i], s, trial, metric, time, ret);
    adopt_created_trials(a, i, ret, from);
}

static void adaptive_operation_completed(void *method, struct searcher *s, size_t trial, double metric,
                                         struct searcher_actions *ret)
{
    struct adaptive *a = method;
    size_t from = ret->n, i = (size_t)a->bracket_of[trial];
    asha_operation_completed(&a->bracket[i], s, trial, metric, ret);
    adopt_created_trials(a, i, ret, from);
}

static void adaptive_exited_early(void *method, struct searcher *s, size_t trial, enum searcher_exit reason,
                                  struct searcher_actions *ret)
{
    struct adaptive *a = method;
    size_t from = ret->n, i = (size_t)a->bracket_of[trial];
    asha_exited_early(&a->bracket[i], s, trial, reason, ret);
    adopt_created_trials(a, i, ret, from);
}

static void adaptive_exited(void *method, struct searcher *s, size_t trial, struct searcher_actions *ret)
{
    struct adaptive *a = method;
    size_t from = ret->n, i = (size_t)a->bracket_of[trial];
    asha_exited(&a->bracket[i], s, trial, ret);
    adopt_created_trials(a, i, ret, from);
}

static double adaptive_progress(const void *method)
{
    const struct adaptive *a = method;
    double sum = 0;
    for (size_t i = 0; i < a->bracket_n; i++)
        sum += asha_progress(&a->bracket[i]);
    return sum / (double)a->bracket_n;
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static struct json_object *adaptive_snapshot(const void *method)
{
    const struct adaptive *a = method;
    struct json_object *o = json_object_new_object(), *brackets = json_object_new_array();
    for (size_t i = 0; i < a->bracket_n; i++)
        json_object_array_add(brackets, asha_snapshot(&a->bracket[i]));
    json_object_object_add(o, "brackets", brackets);
    return o;
}

static int restore_bracket(struct adaptive *a, size_t i, struct json_object *state, size_t trial_n, struct error *err)
{
    struct asha *b = &a->bracket[i];
    if (asha_restore(b, state, trial_n, err) < 0)
        return error_wrap(err, "bracket %zu", i);
    for (size_t t = 0; t < b->trial_n; t++) {
        if (b->trial[t].rung < 0)
            continue;
        if (t < a->trial_n && a->bracket_of[t] >= 0)
            return error_set(err, ERR_INVALID, "trial %zu is in two brackets", t);
        set_bracket(a, t, i);
    }
    return 0;
}

static int adaptive_restore(void *method, struct json_object *state, size_t trial_n, struct error *err)
{
    struct adaptive *a = method;
    struct json_object *brackets = json_object_is_type(state, json_type_object)
                                       ? json_object_object_get(state, "brackets")
                                       : NULL;
    if (!json_object_is_type(brackets, json_type_array) || json_object_array_length(brackets) != a->bracket_n)
        return error_set(err, ERR_INVALID, "brackets: are not the %zu of this search", a->bracket_n);
    for (size_t i = 0; i < a->bracket_n; i++)
        if (restore_bracket(a, i, json_object_array_get_idx(brackets, i), trial_n, err) < 0)
            return -1;
    for (size_t t = 0; t < trial_n; t++)
        if (t >= a->trial_n || a->bracket_of[t] < 0)
            return error_set(err, ERR_INVALID, "trial %zu is in no bracket", t);
    return 0;
}

static void adaptive_preview(const void *method, struct search_plan *ret)
{
    const struct adaptive *a = method;
    for (size_t i = 0; i < a->bracket_n; i++)
        asha_preview(&a->bracket[i], ret);
}

const struct search_method_type search_method_adaptive_asha = {
    .name = "adaptive_asha",
    .new = adaptive_new,
    .free = adaptive_free,
    .start = adaptive_start,
    .at_once = adaptive_at_once,
    .validated = adaptive_validated,
    .operation_completed = adaptive_operation_completed,
    .exited_early = adaptive_exited_early,
    .exited = adaptive_exited,
    .progress = adaptive_progress,
    .snapshot = adaptive_snapshot,
    .restore = adaptive_restore,
    .preview = adaptive_preview,
};
