/* A bracket's state as text, and back: what is read may have been written by anything, and is checked. */
#include "core/searcher/asha.h"

#include <math.h>

static struct json_object *snapshot_rung(const struct asha_rung *rung)
{
    struct json_object *o = json_object_new_object(), *trials = json_object_new_array();
    struct json_object *metrics = json_object_new_array(), *promoted = json_object_new_array();
    const struct ranked *result;
    struct ranking_cursor at = {0};
    for (size_t i = 0; (result = ranking_next(&rung->results, &at)); i++) {
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

/* In a snapshot each trial is one number: 4 × rung, plus 2 if the trial exited early, plus 1 if it is closed. A trial
 * of another bracket is -1. */
struct json_object *asha_snapshot(const struct asha *a)
{
    struct json_object *o = json_object_new_object(), *rungs = json_object_new_array();
    struct json_object *trials = json_object_new_array();
    for (int r = 0; r < a->rung_n; r++)
        json_object_array_add(rungs, snapshot_rung(&a->rung[r]));
    for (size_t i = 0; i < a->trial_n; i++) {
        const struct asha_trial *t = &a->trial[i];
        json_object_array_add(trials,
                              json_object_new_int(t->rung < 0 ? -1 : 4 * t->rung + 2 * t->exited_early + t->closed));
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
        struct json_object *trial = json_object_array_get_idx(trials, i),
                           *metric = json_object_array_get_idx(metrics, i);
        if (!is_int(trial, 0, (int64_t)a->trial_n - 1) || !is_metric(metric) ||
            a->trial[json_object_get_int64(trial)].rung < 0)
            return -1;
        struct ranked result = {.metric = json_object_get_double(metric),
                                .trial = (uint32_t)json_object_get_int64(trial)};
        if (ranking_insert(&rung->results, result, RANK_AFTER_EQUALS) != i)
            return -1; /* the results are not in order */
    }
    return 0;
}

static int restore_rung(struct asha *a, struct asha_rung *rung, struct json_object *o, struct error *err)
{
    struct json_object *trials = list_of(o, "trials", SIZE_MAX), *metrics = list_of(o, "metrics", SIZE_MAX);
    struct json_object *promoted = list_of(o, "promoted", SIZE_MAX);
    int64_t outstanding;
    if (!trials || !metrics || !promoted || json_object_array_length(trials) != json_object_array_length(metrics) ||
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
    struct json_object *rungs = list_of(state, "rungs", (size_t)a->rung_n),
                       *trials = list_of(state, "trials", SIZE_MAX);
    if (!rungs || json_object_array_length(rungs) != (size_t)a->rung_n || !trials)
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
