/* async_halving: a search of one bracket (asha.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/must.h"
#include "core/searcher/asha.h"

static int halving_new(const struct exp_searcher *config, struct json_object *hyperparameters, void **ret,
                       struct error *err)
{
    struct asha_length length;
    if (asha_length(config, &length, err) < 0)
        return -1;
    if (config->num_rungs < 1 || config->num_rungs > ASHA_RUNGS_MAX)
        return error_set(err, ERR_INVALID, "searcher.num_rungs: must be 1 to %d", ASHA_RUNGS_MAX);
    int32_t trials = exp_searcher_trials(config);
    if (trials < 1)
        return error_set(err, ERR_INVALID, "searcher.max_trials: must be 1 or more");
    struct asha *a = must_malloc(sizeof(*a));
    asha_init(a, &length, config->divisor, config->num_rungs, trials, config->max_concurrent_trials);
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

static int64_t halving_at_once(const void *method)
{
    return asha_at_once(method);
}

const struct search_method_type search_method_halving = {
    .name = "async_halving",
    .new = halving_new,
    .free = halving_free,
    .start = halving_start,
    .at_once = halving_at_once,
    .validated = halving_validated,
    .operation_completed = halving_operation_completed,
    .exited_early = halving_exited_early,
    .exited = halving_exited,
    .progress = halving_progress,
    .snapshot = halving_snapshot,
    .restore = halving_restore,
    .preview = halving_preview,
};
