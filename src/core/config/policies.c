#include "core/config/policies.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/config/schema_read.h"
#include "common/json/json.h"
#include "core/config/expconf.h"
#include "core/config/expconf_checks.h"
#include "core/config/expconf_internal.h"
#include "gen/config_numbers.h"
#include "gen/config_tables.h"
#include "gen/experiment_config.h"
#include "gen/task_config.h"

/* Two rows of a table and the section that they are in: what differs between the two types of workloads. */
static const struct workload {
    const char *name;
    const struct schema_key *table;
    const char *slots; /* the key of `resources` for the slots of one trial or task */
    int32_t default_slots;
    /* keys that no invariant configuration may set, with the reason */
    const struct {
        const char *key, *reason;
    } refused[4];
} workloads[POLICY_WORKLOAD_NR] = {
    [POLICY_EXPERIMENT] = {.name = "EXPERIMENT",
                           .table = experiment_config_keys,
                           .slots = "slots_per_trial",
                           .default_slots = EXP_RESOURCES_SLOTS_PER_TRIAL_DEFAULT,
                           .refused = {{"workspace", "the workspace decides which policies hold"},
                                       {"project", "an experiment is filed where its author says"}}},
    [POLICY_NTSC] = {.name = "NTSC",
                     .table = task_config_keys,
                     .slots = "slots",
                     .default_slots = TASK_RESOURCES_SLOTS_DEFAULT,
                     .refused = {{"entrypoint", "it is what a command or a generic task is"},
                                 {"work_dir", "a task that comes with files begins in their directory"}}},
};

const char *policy_workload_name(enum policy_workload w)
{
    return workloads[w].name;
}

int policy_workload_parse(const char *name, enum policy_workload *ret)
{
    for (int w = 0; w < POLICY_WORKLOAD_NR; w++)
        if (name && strcmp(workloads[w].name, name) == 0) {
            *ret = w;
            return 0;
        }
    return -1;
}

static bool is_object(struct json_object *v)
{
    return json_object_is_type(v, json_type_object);
}

static bool is_list(struct json_object *v)
{
    return json_object_is_type(v, json_type_array);
}

/* The limits of time, by their keys of `resources`. */
static const struct {
    const char *key;
    size_t member;
} times[] = {{"max_time", offsetof(struct policies, max_time)},
             {"max_idle_time", offsetof(struct policies, max_idle_time)}};
enum { TIMES = sizeof(times) / sizeof(times[0]) };

static struct policy_time *time_limit(struct policies *p, size_t i)
{
    return (struct policy_time *)((char *)p + times[i].member);
}

static const struct policy_time *const_time_limit(const struct policies *p, size_t i)
{
    return (const struct policy_time *)((const char *)p + times[i].member);
}

/* Returns a duration, which is a text or a number of nanoseconds, in microseconds. 0: v is NULL, or no duration. */
static int64_t duration_us(struct json_object *v)
{
    int64_t ns = v ? json_object_get_int64(v) : 0;
    if (json_object_is_type(v, json_type_string) && duration_parse(json_object_get_string(v), &ns) < 0)
        return 0;
    return ns / 1000;
}

/* ---- Reading a policy -------------------------------------------------------------------------------------------- */

/* With such a time nothing could be started under the policy. */
static void check_invariant_times(struct json_object *resources, const struct schema_place *place,
                                  struct schema_problems *problems)
{
    for (size_t i = 0; i < TIMES; i++) {
        cleanup_strbuf struct strbuf path = STRBUF_INIT;
        struct json_object *v = json_member(resources, times[i].key);
        strbuf_addf(&path, "invariant_config.resources.%s", times[i].key);
        if (v && problems->n == 0 && duration_us(v) <= 0)
            schema_problem(problems, place, strbuf_str(&path), "must be more than 0, found %s",
                           json_object_get_string(v));
    }
}

static void check_invariant(const struct workload *w, struct json_object *invariant, const struct schema_place *place,
                            struct schema_problems *problems)
{
    schema_validate_at(w->table, invariant, "invariant_config", SCHEMA_PARTIAL, expconf_checks, place, problems);
    for (size_t i = 0; w->refused[i].key; i++) {
        cleanup_strbuf struct strbuf path = STRBUF_INIT;
        strbuf_addf(&path, "invariant_config.%s", w->refused[i].key);
        if (json_member(invariant, w->refused[i].key))
            schema_problem(problems, place, strbuf_str(&path), "cannot be set by a policy: %s", w->refused[i].reason);
    }
    check_invariant_times(json_member(invariant, "resources"), place, problems);
}

/* Older pages of release 0.38.1's documentation have the limit there. */
static void check_misplaced_limit(struct json_object *policy, const struct schema_place *place,
                                  struct schema_problems *problems)
{
    if (json_member(json_member(json_member(policy, "constraints"), "resources"), "priority_limit"))
        schema_problem(problems, place, "constraints.resources.priority_limit",
                       "belongs one level higher: constraints.priority_limit");
}

static bool has_content(struct json_object *policy, const char *name)
{
    struct json_object *v = json_member(policy, name);
    return is_object(v) && json_object_object_length(v) > 0;
}

static int check_policy(const struct workload *w, struct json_object *policy, const struct yaml_positions *positions,
                        struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.positions = positions, .root = "<policy>"};
    check_misplaced_limit(policy, &place, &problems);
    if (problems.n == 0)
        schema_validate(policy_config_keys, policy, SCHEMA_PRESENT, expconf_checks, &place, &problems);
    if (is_object(json_member(policy, "invariant_config")))
        check_invariant(w, json_member(policy, "invariant_config"), &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

/* ---- The policies that hold in a workspace ----------------------------------------------------------------------- */

static void add_limit(struct policy_limit *limit, struct json_object *v, const char *scope)
{
    if (v)
        *limit = (struct policy_limit){.is_set = true, .value = json_object_get_int(v), .scope = scope};
}

void policies_add(struct policies *p, enum policy_workload w, const char *scope, struct json_object *policy)
{
    struct json_object *constraints = json_member(policy, "constraints");
    add_limit(&p->max_slots, json_member(json_member(constraints, "resources"), "max_slots"), scope);
    for (size_t i = 0; i < TIMES; i++) {
        int64_t us = duration_us(json_member(json_member(constraints, "resources"), times[i].key));
        if (us > 0)
            *time_limit(p, i) = (struct policy_time){us, scope};
    }
    add_limit(&p->priority_limit, json_member(constraints, "priority_limit"), scope);
    if (!has_content(policy, "invariant_config"))
        return;
    cleanup_json struct json_object *upper = json_copy(json_member(policy, "invariant_config")), *lower = p->invariant;
    expconf_normalize(upper);
    p->invariant = schema_merge(workloads[w].table, upper, lower);
    p->invariant_scope = lower ? "the cluster and the workspace" : scope;
}

void policies_release(struct policies *p)
{
    json_object_put(p->invariant);
    *p = (struct policies){0};
}

/* ---- Invariant configurations ------------------------------------------------------------------------------------ */

static bool ends_with(struct json_object *list, struct json_object *end)
{
    size_t n = json_object_array_length(list), m = json_object_array_length(end);
    if (m > n)
        return false;
    for (size_t i = 0; i < m; i++)
        if (!json_object_equal(json_object_array_get_idx(list, n - m + i), json_object_array_get_idx(end, i)))
            return false;
    return true;
}

/* Removes the lists from `upper` that `lower` ends with already, where lists are joined one after the other. */
static void drop_present_lists(const struct schema_key *key, enum schema_merge_rule inherited,
                               struct json_object *upper, struct json_object *lower)
{
    enum schema_merge_rule rule = key ? key->merge : inherited;
    if (rule == SCHEMA_MERGE_REPLACE || rule == SCHEMA_MERGE_MEMBERS || !is_object(upper) || !is_object(lower))
        return;
    json_object_object_foreach(lower, name, value)
    {
        const struct schema_key *row = key ? schema_member(key, name, NULL) : NULL;
        struct json_object *other = json_member(upper, name);
        enum schema_merge_rule of_row = row ? row->merge : rule;
        if (is_list(other) && is_list(value) && of_row == SCHEMA_MERGE_DEFAULT && ends_with(value, other))
            json_object_object_del(upper, name);
        else
            drop_present_lists(row, rule, other, value);
    }
}

struct json_object *policies_lay(const struct policies *p, const struct schema_key *table, struct json_object *config)
{
    if (!p || !p->invariant)
        return json_copy(config);
    cleanup_json struct json_object *upper = json_copy(p->invariant);
    drop_present_lists(table, SCHEMA_MERGE_DEFAULT, upper, config);
    return schema_merge(table, upper, config);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

/* The first half of each sentence is that of release 0.38.1, which programs search for. */
static int too_many_slots(const char *key, int32_t n, const struct policy_limit *limit, struct error *err)
{
    return error_set(
        err, ERR_INVALID,
        "requested resources.%s [%d] exceeds limit set by admin [%d]: submitted workload failed a resource "
        "constraint; the configuration policy of %s (constraints.resources.max_slots) allows 0 to %d",
        key, n, limit->value, limit->scope, limit->value);
}

static int check_slots(const struct policies *p, const char *key, int32_t n, struct error *err)
{
    return p->max_slots.is_set && n > p->max_slots.value ? too_many_slots(key, n, &p->max_slots, err) : 0;
}

static int check_priority(const struct policies *p, int32_t priority, struct error *err)
{
    const struct policy_limit *limit = &p->priority_limit;
    if (!limit->is_set || priority >= limit->value)
        return 0;
    return error_set(err, ERR_INVALID,
                     "requested priority [%d] exceeds limit set by admin [%d]: submitted workload failed priority "
                     "constraint; the configuration policy of %s (constraints.priority_limit) allows %d to %d, and a "
                     "lower number is a higher priority",
                     priority, limit->value, limit->scope, limit->value, EXP_RESOURCES_PRIORITY_MAX);
}

static int check_number(const struct policies *p, struct json_object *resources, const char *key, struct error *err)
{
    struct json_object *v = json_member(resources, key);
    return v ? check_slots(p, key, json_object_get_int(v), err) : 0;
}

static void duration_text(int64_t us, struct strbuf *ret)
{
    duration_format(us * 1000, ret);
}

/* Checks the times of a configuration. One that it does not set is not too long. */
static int check_times(const struct policies *p, struct json_object *resources, struct error *err)
{
    for (size_t i = 0; i < TIMES; i++) {
        const struct policy_time *limit = const_time_limit(p, i);
        int64_t us = duration_us(json_member(resources, times[i].key));
        cleanup_strbuf struct strbuf wanted = STRBUF_INIT, max = STRBUF_INIT;
        if (limit->us == 0 || us <= limit->us)
            continue;
        duration_text(us, &wanted);
        duration_text(limit->us, &max);
        return error_set(err, ERR_INVALID,
                         "resources.%s is %s, and the configuration policy of %s (constraints.resources.%s) allows at "
                         "most %s",
                         times[i].key, strbuf_str(&wanted), limit->scope, times[i].key, strbuf_str(&max));
    }
    return 0;
}

/* A configuration that does not set a time gets the limit; otherwise its tasks could run, or be idle, for ever. */
static void limit_times(const struct policies *p, struct json_object *resources)
{
    for (size_t i = 0; i < TIMES; i++) {
        const struct policy_time *limit = const_time_limit(p, i);
        cleanup_strbuf struct strbuf max = STRBUF_INIT;
        if (limit->us == 0 || json_member(resources, times[i].key))
            continue;
        duration_text(limit->us, &max);
        json_object_object_add(resources, times[i].key, json_object_new_string(strbuf_str(&max)));
    }
}

/* Refuses a configuration that does not set a time for which there is a limit. */
static int check_times_set(const struct policies *p, struct json_object *resources, struct error *err)
{
    for (size_t i = 0; i < TIMES; i++) {
        const struct policy_time *limit = const_time_limit(p, i);
        if (limit->us > 0 && !json_member(resources, times[i].key))
            return error_set(err, ERR_INVALID,
                             "the experiment sets no resources.%s, and the configuration policy of %s "
                             "(constraints.resources.%s) demands one",
                             times[i].key, limit->scope, times[i].key);
    }
    return 0;
}

/* A priority that nobody asked for, which is the pool's default one, becomes the limit if it is above it. */
static void lower_priority(const struct policies *p, struct json_object *resources)
{
    struct json_object *v = json_member(resources, "priority");
    int32_t priority = v ? json_object_get_int(v) : MASTER_CONFIG_RESOURCE_MANAGER_SCHEDULER_DEFAULT_PRIORITY_UNSET;
    if (p->priority_limit.is_set && priority < p->priority_limit.value)
        json_object_object_add(resources, "priority", json_object_new_int(p->priority_limit.value));
}

int policies_limit(const struct policies *p, enum policy_workload w, struct json_object *config, bool priority_asked,
                   struct error *err)
{
    if (!p)
        return 0;
    struct json_object *resources = schema_section(exp_values, config, resources);
    if (!json_member(resources, workloads[w].slots) &&
        check_slots(p, workloads[w].slots, workloads[w].default_slots, err) < 0)
        return -1;
    if (check_number(p, resources, workloads[w].slots, err) < 0 || check_number(p, resources, "max_slots", err) < 0 ||
        check_times(p, resources, err) < 0)
        return -1;
    limit_times(p, resources);
    /* without a limit of its own, the trials of a search could have more slots together */
    if (p->max_slots.is_set && w == POLICY_EXPERIMENT && !json_member(resources, "max_slots"))
        json_object_object_add(resources, "max_slots", json_object_new_int(p->max_slots.value));
    struct json_object *priority = json_member(resources, "priority");
    if (priority_asked && priority)
        return check_priority(p, json_object_get_int(priority), err);
    lower_priority(p, resources);
    return 0;
}

/* Refuses a policy whose own invariant configuration exceeds its own limits: nothing could be started under it. */
static int check_against_itself(enum policy_workload w, struct json_object *policy, struct error *err)
{
    struct policies p = {0};
    policies_add(&p, w, "this policy", policy);
    struct json_object *resources = json_member(p.invariant, "resources"),
                       *priority = json_member(resources, "priority");
    int r = check_number(&p, resources, workloads[w].slots, err);
    if (r == 0)
        r = check_number(&p, resources, "max_slots", err);
    if (r == 0)
        r = check_times(&p, resources, err);
    if (r == 0 && priority)
        r = check_priority(&p, json_object_get_int(priority), err);
    policies_release(&p);
    return r < 0 ? error_wrap(err, "invariant_config contradicts constraints") : 0;
}

int policy_parse(const char *text, size_t n, enum policy_workload type, struct json_object **ret, struct error *err)
{
    const struct workload *w = &workloads[type];
    cleanup_json struct json_object *policy = NULL;
    struct yaml_positions *positions = NULL;
    int r = yaml_parse(text, n, &policy, &positions, err);
    if (r < 0)
        error_wrap(err, "the policy is not valid YAML");
    else if (policy && (r = expconf_check_values(policy, err)) == 0)
        r = check_policy(w, policy, positions, err);
    yaml_positions_free(positions);
    if (r < 0)
        return -1;
    if (!has_content(policy, "invariant_config") && !has_content(policy, "constraints"))
        return error_set(err, ERR_INVALID,
                         "the policy sets nothing: give it invariant_config or constraints, or remove the policy with "
                         "'det config-policies delete'");
    if (check_against_itself(type, policy, err) < 0)
        return -1;
    *ret = take_ptr(policy);
    return 0;
}

/* ---- Changes of what exists already ------------------------------------------------------------------------------ */

static int is_pinned(const struct policies *p, const char *key, const char *value, struct error *err)
{
    return error_set(err, ERR_INVALID,
                     "%s cannot be modified: the configuration policy of %s (invariant_config) sets it to %s", key,
                     p->invariant_scope, value);
}

/* Whether the invariant configuration sets the key of the section to another number. */
static bool sets_other(const struct policies *p, const char *section, const char *key, double wanted,
                       struct json_object **ret)
{
    *ret = json_member(json_member(p->invariant, section), key);
    return *ret && json_object_get_double(*ret) != wanted;
}

static int check_collection(const struct policies *p, const struct policy_change *x, struct error *err)
{
    const struct {
        const char *key;
        int32_t value;
    } rows[] = {{"save_experiment_best", x->save_experiment_best},
                {"save_trial_best", x->save_trial_best},
                {"save_trial_latest", x->save_trial_latest}};
    struct json_object *pinned;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (sets_other(p, "checkpoint_storage", rows[i].key, rows[i].value, &pinned))
            return is_pinned(p, rows[i].key, json_object_get_string(pinned), err);
    return 0;
}

int policies_check_change(const struct policies *p, const struct policy_change *x, struct error *err)
{
    struct json_object *pinned;
    if (x->set_priority && sets_other(p, "resources", "priority", x->priority, &pinned))
        return is_pinned(p, "priority", json_object_get_string(pinned), err);
    if (x->set_weight && sets_other(p, "resources", "weight", x->weight, &pinned))
        return is_pinned(p, "weight", json_object_get_string(pinned), err);
    if (x->set_max_slots && sets_other(p, "resources", "max_slots", x->max_slots, &pinned))
        return is_pinned(p, "max_slots", json_object_get_string(pinned), err);
    if (x->set_collection && check_collection(p, x, err) < 0)
        return -1;
    if (x->set_max_slots && x->max_slots < 0 && p->max_slots.is_set)
        return error_set(err, ERR_INVALID,
                         "resources.max_slots cannot be removed: the configuration policy of %s "
                         "(constraints.resources.max_slots) allows 0 to %d",
                         p->max_slots.scope, p->max_slots.value);
    if (x->set_max_slots && check_slots(p, "max_slots", x->max_slots, err) < 0)
        return -1;
    return x->set_priority ? check_priority(p, x->priority, err) : 0;
}

/* Whether two values are equal when the order of lists does not count. Merging may bring the items of a list with keys
 * into another order. */
static bool is_same(struct json_object *a, struct json_object *b)
{
    enum { COMPARED_MAX = 1000 }; /* lists with keys are shorter; a longer list has its order */
    if (json_object_equal(a, b))
        return true;
    if (is_list(a) && is_list(b)) {
        size_t n = json_object_array_length(a), found = 0;
        if (n > COMPARED_MAX)
            return false;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n; k++)
                if (is_same(json_object_array_get_idx(a, i), json_object_array_get_idx(b, k))) {
                    found++;
                    break;
                }
        return n == json_object_array_length(b) && found == n;
    }
    if (!is_object(a) || !is_object(b))
        return false;
    json_object_object_foreach(a, name, value)
    {
        if (!is_same(value, json_object_object_get(b, name)))
            return false;
    }
    return json_object_object_length(a) == json_object_object_length(b);
}

/* The first key at the top of the configuration that the invariant configuration would change; NULL: none. */
static const char *first_difference(const struct policies *p, struct json_object *effective)
{
    cleanup_json struct json_object *laid = policies_lay(p, experiment_config_keys, effective), *filled = NULL;
    filled = expconf_fill(laid);
    json_object_object_foreach(p->invariant, name, value)
    {
        if (value && !is_same(json_member(filled, name), json_member(effective, name)))
            return name;
    }
    return NULL;
}

int policies_check_effective(const struct policies *p, struct json_object *effective, struct error *err)
{
    struct json_object *resources = json_member(effective, "resources"), *priority = json_member(resources, "priority");
    if (check_number(p, resources, "slots_per_trial", err) < 0 || check_number(p, resources, "max_slots", err) < 0 ||
        check_times(p, resources, err) < 0 || check_times_set(p, resources, err) < 0 ||
        (priority && check_priority(p, json_object_get_int(priority), err) < 0))
        return -1;
    if (p->max_slots.is_set && !json_member(resources, "max_slots"))
        return error_set(err, ERR_INVALID,
                         "the experiment sets no resources.max_slots, and the configuration policy of %s "
                         "(constraints.resources.max_slots) allows 0 to %d; give it a limit with 'det experiment set "
                         "max-slots'",
                         p->max_slots.scope, p->max_slots.value);
    const char *other = p->invariant ? first_difference(p, effective) : NULL;
    if (!other)
        return 0;
    return error_set(err, ERR_INVALID,
                     "the configuration policy of %s (invariant_config) demands another value of %s, and the "
                     "configuration of an experiment that is not over does not change",
                     p->invariant_scope, other);
}
