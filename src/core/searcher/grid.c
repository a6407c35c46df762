/* grid: every point of the grid once, the last one first, max_concurrent_trials at a time. A point whose trial fails or
 * finds its hyperparameters invalid is not tried again. */
#include <stdlib.h>

#include "common/base/must.h"
#include "core/searcher/hparams.h"
#include "core/searcher/method.h"

struct grid {
    struct json_object *space; /* owned by the searcher */
    int64_t points, max_concurrent, created;
};

static int64_t grid_at_once(const void *method)
{
    const struct grid *g = method;
    return g->max_concurrent > 0 && g->max_concurrent < g->points ? g->max_concurrent : g->points;
}

static int grid_new(const struct exp_searcher *config, struct json_object *hyperparameters, void **ret,
                    struct error *err)
{
    struct grid g = {.space = hyperparameters, .max_concurrent = config->max_concurrent_trials};
    if (hparams_grid_size(hyperparameters, &g.points, err) < 0 || method_check_start(grid_at_once(&g), err) < 0)
        return -1;
    struct grid *copy = must_malloc(sizeof(g));
    *copy = g;
    *ret = copy;
    return 0;
}

static void create_next_point(struct grid *g, struct searcher *s, struct searcher_actions *ret)
{
    if (g->created == g->points)
        return;
    g->created++;
    method_create_whole(s, ret);
}

static void grid_start(void *method, struct searcher *s, struct searcher_actions *ret)
{
    struct grid *g = method;
    for (int64_t i = grid_at_once(g); i > 0; i--)
        create_next_point(g, s, ret);
}

static void grid_operation_completed(void *method, struct searcher *s, size_t trial, double metric,
                                     struct searcher_actions *ret)
{
    method_close(s, ret, trial);
}

static void grid_exited(void *method, struct searcher *s, size_t trial, struct searcher_actions *ret)
{
    create_next_point(method, s, ret);
}

static struct json_object *hyperparameters_of(const void *method, size_t n)
{
    const struct grid *g = method;
    return hparams_grid_point(g->space, g->points - 1 - (int64_t)n);
}

static struct json_object *grid_snapshot(const void *method)
{
    const struct grid *g = method;
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "created_trials", json_object_new_int64(g->created));
    return o;
}

static int grid_restore(void *method, struct json_object *state, size_t trial_n, struct error *err)
{
    struct grid *g = method;
    if (method_read_count(state, "created_trials", g->points, &g->created, err) < 0)
        return -1;
    if ((size_t)g->created != trial_n)
        return error_set(err, ERR_INVALID, "created_trials: is not the number of trials");
    return 0;
}

static void grid_preview(const void *method, struct search_plan *ret)
{
    search_plan_set_whole(ret, ((const struct grid *)method)->points);
}

const struct search_method_type search_method_grid = {
    .name = "grid",
    .new = grid_new,
    .free = free,
    .start = grid_start,
    .at_once = grid_at_once,
    .operation_completed = grid_operation_completed,
    .exited = grid_exited,
    .hyperparameters = hyperparameters_of,
    .snapshot = grid_snapshot,
    .restore = grid_restore,
    .preview = grid_preview,
};
