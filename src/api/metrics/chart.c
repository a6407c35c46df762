#include "api/metrics/chart.h"

#include "store/experiments/experiments.h"

enum { POINTS_MAX = 100000 };

const char *chart_group(const char *group, enum wire_metric_type type)
{
    if (group && *group)
        return group;
    switch (type) {
    case WIRE_METRIC_TYPE_TRAINING:
        return "training";
    case WIRE_METRIC_TYPE_VALIDATION:
        return "validation";
    default:
        return NULL;
    }
}

int chart_check_points(int32_t asked, int32_t *ret, struct error *err)
{
    if (asked < 0 || asked > POINTS_MAX)
        return error_set(err, ERR_INVALID, "maxDatapoints is %d, allowed is 0 (%d) to %d", asked, CHART_POINTS_DEFAULT,
                         POINTS_MAX);
    *ret = asked ? asked : CHART_POINTS_DEFAULT;
    return 0;
}

int chart_check_range(int32_t start, int32_t end, struct error *err)
{
    if (start < 0 || end < 0 || (end && end < start))
        return error_set(err, ERR_INVALID,
                         "batches from %d to %d: neither may be negative, and the end (0: open) must"
                         " not be before the start",
                         start, end);
    return 0;
}

int chart_check_metric(const char *name, const char *group, struct error *err)
{
    if (!name || !*name)
        return error_set(err, ERR_INVALID, "metricName is missing");
    if (!group)
        return error_set(err, ERR_INVALID, "group is missing: \"training\", \"validation\" or a name of your own");
    return 0;
}

void chart_points_to_wire(const struct store_point *p, size_t n, struct arena *a, struct wire_data_point **ret)
{
    *ret = arena_array(a, struct wire_data_point, n + 1);
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = (struct wire_data_point){.batches = p[i].batches,
                                             .values = p[i].values,
                                             .time = p[i].time_us,
                                             .has_time = true,
                                             .epoch = p[i].epoch,
                                             .has_epoch = p[i].has_epoch};
}

int chart_is_over(struct req *r, struct store *db, const int32_t *ids, size_t n, bool *ret, struct error *err)
{
    *ret = true;
    for (size_t i = 0; i < n; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_experiment x;
        enum run_state state = RUN_ACTIVE;
        if (store_experiment_get(db, ids[i], /* with_config= */ false, &a, &x, err) < 0)
            return -1;
        run_state_parse(x.state, &state);
        *ret &= run_state_is_terminal(state);
    }
    return 0;
}
