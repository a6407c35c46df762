#include "core/config/spec.h"

#include "common/base/strbuf.h"
#include "gen/config_numbers.h"

/* The values that count if neither the experiment nor the cluster sets any. */
#define PRIORITY MASTER_CONFIG_RESOURCE_MANAGER_SCHEDULER_DEFAULT_PRIORITY_UNSET
#define PREEMPTION_TIMEOUT_S MASTER_CONFIG_TASK_CONTAINER_DEFAULTS_PREEMPTION_TIMEOUT_S_DEFAULT

static const char *print(struct json_object *v, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(v, &text);
    return arena_strdup(a, strbuf_str(&text));
}

void core_spec_take_warnings(const struct exp_config *c, struct arena *a, struct core_experiment_spec *ret)
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
    const struct exp_values *v = &c->values;
    const struct exp_resources *r = &v->resources;
    *ret = (struct core_experiment_spec){
        .owner_id = owner_id,
        .pool = arena_strdup(a, r->resource_pool),
        .slots_per_trial = r->slots_per_trial,
        .single_node = r->is_single_node,
        .needs = needs_of(r->cpus, r->memory_bytes),
        .priority = r->has_priority ? r->priority : PRIORITY,
        .weight = r->weight,
        .max_slots = r->has_max_slots ? r->max_slots : -1,
        .max_restarts = v->max_restarts,
        .preemption_timeout_s = v->has_preemption_timeout_s ? v->preemption_timeout_s : PREEMPTION_TIMEOUT_S,
        .max_time_us = r->has_max_time_us ? r->max_time_us : 0,
        .max_idle_us = r->has_max_idle_time_us ? r->max_idle_time_us : 0,
        .seed = (uint32_t)v->reproducibility.experiment_seed,
        .has_log_retention = v->retention_policy.has_log_retention_days,
        .log_retention_days = v->retention_policy.log_retention_days,
        .searcher = print(v->searcher.tree, a),
        .hyperparameters = print(v->hyperparameters, a),
    };
    core_spec_take_warnings(c, a, ret);
}
