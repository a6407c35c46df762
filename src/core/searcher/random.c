/* random: up to max_trials samples, max_concurrent_trials at a time. single is random with one trial. */
#include <stdlib.h>

#include "common/base/must.h"
#include "core/searcher/method.h"

struct random {
    int64_t max_trials, max_concurrent; /* max_concurrent 0: all trials run at once */
    bool replace_invalid;               /* a trial with invalid hyperparameters does not count */
    int64_t created;                    /* the number of trials that count */
};

static struct random *new_random(int64_t max_trials, int64_t max_concurrent, bool replace_invalid)
{
    struct random *r = must_calloc(1, sizeof(*r));
    *r = (struct random){.max_trials = max_trials,
                         .max_concurrent = max_concurrent,
                         .replace_invalid = replace_invalid};
    return r;
}

static int64_t random_at_once(const void *method)
{
    const struct random *r = method;
    return r->max_concurrent > 0 && r->max_concurrent < r->max_trials ? r->max_concurrent : r->max_trials;
}

static int single_new(const struct exp_searcher *config, struct json_object *hyperparameters, void **ret,
                      struct error *err)
{
    *ret = new_random(1, 1, false);
    return 0;
}

static int random_new(const struct exp_searcher *config, struct json_object *hyperparameters, void **ret,
                      struct error *err)
{
    int32_t trials = exp_searcher_trials(config);
    if (trials < 1)
        return error_set(err, ERR_INVALID, "searcher.max_trials: must be 1 or more");
    struct random *r = new_random(trials, config->max_concurrent_trials, true);
    if (method_check_start(random_at_once(r), err) < 0) {
        free(r);
        return -1;
    }
    *ret = r;
    return 0;
}

static void create_sample(struct random *r, struct searcher *s, struct searcher_actions *ret)
{
    r->created++;
    method_create_whole(s, ret);
}

static void random_start(void *method, struct searcher *s, struct searcher_actions *ret)
{
    struct random *r = method;
    for (int64_t i = random_at_once(r); i > 0; i--)
        create_sample(r, s, ret);
}

static void random_operation_completed(void *method, struct searcher *s, size_t trial, double metric,
                                       struct searcher_actions *ret)
{
    method_close(s, ret, trial);
}

static void random_exited_early(void *method, struct searcher *s, size_t trial, enum searcher_exit reason,
                                struct searcher_actions *ret)
{
    struct random *r = method;
    if (reason == SEARCHER_EXIT_INVALID_HP && r->replace_invalid)
        r->created--;
}

static void random_exited(void *method, struct searcher *s, size_t trial, struct searcher_actions *ret)
{
    struct random *r = method;
    if (r->created < r->max_trials)
        create_sample(r, s, ret);
}

static struct json_object *random_snapshot(const void *method)
{
    const struct random *r = method;
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "created_trials", json_object_new_int64(r->created));
    return o;
}

static int random_restore(void *method, struct json_object *state, size_t trial_n, struct error *err)
{
    struct random *r = method;
    return method_read_count(state, "created_trials", (int64_t)trial_n, &r->created, err);
}

static void random_preview(const void *method, struct search_plan *ret)
{
    search_plan_set_whole(ret, ((const struct random *)method)->max_trials);
}

const struct search_method_type search_method_single = {
    .name = "single",
    .new = single_new,
    .free = free,
    .start = random_start,
    .at_once = random_at_once,
    .operation_completed = random_operation_completed,
    .exited_early = random_exited_early,
    .exited = random_exited,
    .snapshot = random_snapshot,
    .restore = random_restore,
    .preview = random_preview,
};

const struct search_method_type search_method_random = {
    .name = "random",
    .new = random_new,
    .free = free,
    .start = random_start,
    .at_once = random_at_once,
    .operation_completed = random_operation_completed,
    .exited_early = random_exited_early,
    .exited = random_exited,
    .snapshot = random_snapshot,
    .restore = random_restore,
    .preview = random_preview,
};
