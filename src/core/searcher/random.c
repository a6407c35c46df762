/* random: up to max_trials samples, max_concurrent_trials at a time. single is random with one trial. */
#include <stdlib.h>

#include "core/searcher/method.h"

struct random {
    int64_t max_trials, max_concurrent; /* max_concurrent 0: all at once */
    bool replace_invalid;               /* a trial with invalid hyperparameters does not count */
    int64_t created, pending;
};

static struct random *new_random(int64_t max_trials, int64_t max_concurrent, bool replace_invalid)
{
    struct random *r = calloc(1, sizeof *r);
    if (r == NULL)
        abort();
    *r = (struct random){.max_trials = max_trials,
                         .max_concurrent = max_concurrent,
                         .replace_invalid = replace_invalid};
    return r;
}

static int single_new(struct json_object *config, void **ret, struct error *err)
{
    *ret = new_random(1, 1, false);
    return 0;
}

static int random_new(struct json_object *config, void **ret, struct error *err)
{
    struct json_object *max_trials = NULL, *max_concurrent = NULL;
    json_object_object_get_ex(config, "max_trials", &max_trials);
    json_object_object_get_ex(config, "max_concurrent_trials", &max_concurrent);
    if (json_object_get_int64(max_trials) < 1)
        return error_set(err, ERR_INVALID, "searcher.max_trials: must be 1 or more");
    if (json_object_get_int64(max_concurrent) < 0)
        return error_set(err, ERR_INVALID, "searcher.max_concurrent_trials: must be 0 (no limit) or more");
    *ret = new_random(json_object_get_int64(max_trials), json_object_get_int64(max_concurrent), true);
    return 0;
}

static int create(struct random *r, struct searcher *s, struct searcher_actions *ret, struct error *err)
{
    r->created++;
    r->pending++;
    return method_create(s, ret, err);
}

static int initial_trials(void *method, struct searcher *s, struct searcher_actions *ret, struct error *err)
{
    struct random *r = method;
    int64_t n = r->max_trials;
    if (r->max_concurrent > 0 && r->max_concurrent < n)
        n = r->max_concurrent;
    for (int64_t i = 0; i < n; i++)
        if (create(r, s, ret, err) < 0)
            return -1;
    return 0;
}

static int trial_exited_early(void *method, struct searcher *s, const char *request_id, enum searcher_exit reason,
                              struct searcher_actions *ret, struct error *err)
{
    struct random *r = method;
    r->pending--;
    if (reason == SEARCHER_EXIT_INVALID_HP && r->replace_invalid)
        r->created--;
    return 0;
}

static int trial_exited(void *method, struct searcher *s, const char *request_id, struct searcher_actions *ret,
                        struct error *err)
{
    struct random *r = method;
    r->pending--;
    return r->created < r->max_trials ? create(r, s, ret, err) : 0;
}

static double progress(const void *method, const struct searcher_trial *trial, size_t trial_n)
{
    return method_mean_progress(trial, trial_n);
}

static struct json_object *snapshot(const void *method)
{
    const struct random *r = method;
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "created_trials", json_object_new_int64(r->created));
    json_object_object_add(o, "pending_trials", json_object_new_int64(r->pending));
    return o;
}

static int restore(void *method, struct json_object *snapshot_, struct error *err)
{
    struct random *r = method;
    struct json_object *created, *pending;
    if (!json_object_object_get_ex(snapshot_, "created_trials", &created) ||
        !json_object_object_get_ex(snapshot_, "pending_trials", &pending))
        return error_set(err, ERR_INVALID, "created_trials or pending_trials is missing");
    r->created = json_object_get_int64(created);
    r->pending = json_object_get_int64(pending);
    return 0;
}

const struct search_method_type search_method_single = {
    .name = "single", .new = single_new, .free = free, .initial_trials = initial_trials,
    .trial_exited_early = trial_exited_early, .trial_exited = trial_exited, .progress = progress,
    .snapshot = snapshot, .restore = restore,
};

const struct search_method_type search_method_random = {
    .name = "random", .new = random_new, .free = free, .initial_trials = initial_trials,
    .trial_exited_early = trial_exited_early, .trial_exited = trial_exited, .progress = progress,
    .snapshot = snapshot, .restore = restore,
};
