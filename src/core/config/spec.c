#include "core/config/spec.h"

#include "common/base/strbuf.h"

static const char *print(struct json_object *v, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(v, &text);
    return arena_strdup(a, strbuf_str(&text));
}

static void add_warnings(const struct exp_config *c, struct arena *a, struct core_experiment_spec *ret)
{
    size_t n = c->warnings ? json_object_array_length(c->warnings) : 0;
    const char **warning = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        warning[i] = arena_strdup(a, json_object_get_string(json_object_array_get_idx(c->warnings, i)));
    ret->warning = warning;
    ret->warning_n = n;
}

void core_spec_of_config(const struct exp_config *c, int32_t owner_id, struct arena *a,
                         struct core_experiment_spec *ret)
{
    *ret = (struct core_experiment_spec){
        .owner_id = owner_id,
        .pool = arena_strdup(a, c->resources.pool),
        .slots_per_trial = c->resources.slots_per_trial,
        .single_node = c->resources.single_node,
        .priority = c->resources.priority,
        .weight = c->resources.weight,
        .max_slots = c->resources.max_slots,
        .max_restarts = c->max_restarts,
        .preemption_timeout_s = c->preemption_timeout_s,
        .seed = c->seed,
        .has_log_retention = c->has_log_retention,
        .log_retention_days = c->log_retention_days,
        .searcher = print(json_object_object_get(c->tree, "searcher"), a),
        .hyperparameters = print(c->hyperparameters, a),
    };
    add_warnings(c, a, ret);
}
