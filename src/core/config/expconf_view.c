/* The typed view of an effective configuration, and what is asked of searcher and storage before one is made. */
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/config/capabilities.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "core/config/expconf.h"
#include "core/config/expconf_checks.h"
#include "core/config/expconf_internal.h"
#include "gen/config_tables.h"

#define PREEMPTION_TIMEOUT_S 3600

/* The struct that callers see, with the memory of its texts behind it. */
struct view {
    struct exp_config config;
    struct arena arena;
};

/* ---- Members of a tree ------------------------------------------------------------------------------------------- */

static struct json_object *member(struct json_object *v, const char *name)
{
    return json_object_is_type(v, json_type_object) ? json_object_object_get(v, name) : NULL;
}

static const char *text(struct json_object *v, const char *name)
{
    struct json_object *s = member(v, name);
    return s ? json_object_get_string(s) : NULL;
}

static int64_t number(struct json_object *v, const char *name, int64_t otherwise)
{
    struct json_object *n = member(v, name);
    return n ? json_object_get_int64(n) : otherwise;
}

static double real(struct json_object *v, const char *name, double otherwise)
{
    struct json_object *n = member(v, name);
    return n ? json_object_get_double(n) : otherwise;
}

static bool truth(struct json_object *v, const char *name)
{
    return json_object_get_boolean(member(v, name));
}

static struct exp_length length(struct json_object *v)
{
    static const char *const names[] =
        {[EXP_UNIT_BATCHES] = "batches", [EXP_UNIT_RECORDS] = "records", [EXP_UNIT_EPOCHS] = "epochs"};
    if (!json_object_is_type(v, json_type_object))
        return (struct exp_length){EXP_UNIT_NONE, json_object_get_int64(v)};
    for (enum exp_unit u = EXP_UNIT_BATCHES; u <= EXP_UNIT_EPOCHS; u++) {
        if (member(v, names[u]))
            return (struct exp_length){u, number(v, names[u], 0)};
    }
    return (struct exp_length){0};
}

/* ---- Searcher ---------------------------------------------------------------------------------------------------- */

/* What a name of the configuration runs as: docs/spec/searchers.md#retired-searchers. */
static const struct {
    const char *name;
    enum exp_searcher_kind kind;
    bool halving; /* needs to know how long a trial trains */
    const char *runs_as; /* retired: by this name */
} searchers[] = {
    {"single", EXP_SEARCHER_SINGLE, false, NULL},
    {"random", EXP_SEARCHER_RANDOM, false, NULL},
    {"grid", EXP_SEARCHER_GRID, false, NULL},
    {"async_halving", EXP_SEARCHER_ASYNC_HALVING, true, NULL},
    {"sync_halving", EXP_SEARCHER_ASYNC_HALVING, true, "async_halving"},
    {"adaptive_asha", EXP_SEARCHER_ADAPTIVE_ASHA, true, NULL},
    {"adaptive", EXP_SEARCHER_ADAPTIVE_ASHA, true, "adaptive_asha"},
    {"adaptive_simple", EXP_SEARCHER_ADAPTIVE_ASHA, true, "adaptive_asha"},
};
#define SEARCHER_N (sizeof searchers / sizeof *searchers)

static size_t find_searcher(const char *name)
{
    size_t i = 0;
    while (i < SEARCHER_N && strcmp(searchers[i].name, name) != 0)
        i++;
    return i;
}

/* Those that are not are refused by the table. */
static bool is_name_of_searcher(const char *name)
{
    const char *const *c = schema_find(experiment_config_keys, "searcher.name")->choice;
    while (*c && strcmp(*c, name) != 0)
        c++;
    return *c;
}

void expconf_check_capabilities(struct json_object *config, const struct schema_place *place, struct schema_problems *problems)
{
    struct json_object *list = member(member(config, "environment"), "drop_capabilities");
    uint64_t mask;
    for (size_t i = 0; json_object_is_type(list, json_type_array) && i < json_object_array_length(list); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(list, i));
        if (capability_mask(name, &mask) < 0)
            schema_problem(problems, place, "environment.drop_capabilities",
                           "there is no Linux capability \"%s\" (man 7 capabilities lists them)", name);
    }
}

void expconf_check_searcher(struct json_object *config, const struct schema_place *place,
                            struct schema_problems *problems)
{
    struct json_object *searcher = member(config, "searcher");
    const char *name = text(searcher, "name");
    if (!name)
        return;
    size_t i = find_searcher(name);
    if (i == SEARCHER_N) {
        if (!is_name_of_searcher(name))
            return;
        schema_problem(problems, place, "searcher.name",
                       "the searcher \"%s\" cannot run; choose adaptive_asha, async_halving, random, "
                       "grid or single",
                       name);
        return;
    }
    bool has_time = member(searcher, "max_time") && member(searcher, "time_metric");
    if (searchers[i].halving && !member(searcher, "max_length") && !has_time)
        schema_problem(problems, place, "searcher", "%s needs max_length, or max_time together with time_metric", name);
}

/* adaptive and sync_halving say how much all trials train together instead of how many there are. */
static int trials_of_budget(struct json_object *searcher, struct exp_length max_length)
{
    struct exp_length budget = length(member(searcher, "budget"));
    int64_t n = max_length.units > 0 ? budget.units / max_length.units : 1;
    return n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : (int)n;
}

static int max_trials(struct json_object *searcher, const struct exp_searcher *s)
{
    if (s->kind == EXP_SEARCHER_SINGLE)
        return 1;
    if (member(searcher, "budget"))
        return trials_of_budget(searcher, s->max_length);
    return (int)number(searcher, "max_trials", 0);
}

static struct exp_searcher view_searcher(struct json_object *v)
{
    struct exp_searcher s = {
        .name = text(v, "name"),
        .metric = text(v, "metric"),
        .smaller_is_better = truth(v, "smaller_is_better"),
        .has_max_length = member(v, "max_length") != NULL,
        .max_length = length(member(v, "max_length")),
        .max_concurrent_trials = (int)number(v, "max_concurrent_trials", 1),
        .source_trial_id = (int)number(v, "source_trial_id", 0),
        .source_checkpoint_uuid = text(v, "source_checkpoint_uuid"),
        .max_time = number(v, "max_time", 0),
        .time_metric = text(v, "time_metric"),
        .num_rungs = (int)number(v, "num_rungs", 0),
        .max_rungs = (int)number(v, "max_rungs", 0),
        .divisor = real(v, "divisor", 4),
        .mode = text(v, "mode"),
        .stop_once = truth(v, "stop_once"),
        .bracket_rungs = member(v, "bracket_rungs"),
    };
    size_t i = s.name ? find_searcher(s.name) : SEARCHER_N;
    s.kind = i < SEARCHER_N ? searchers[i].kind : EXP_SEARCHER_SINGLE;
    s.runs_as = i < SEARCHER_N ? searchers[i].runs_as : NULL;
    s.max_trials = max_trials(v, &s);
    return s;
}

int exp_searcher_read(struct json_object *searcher, struct json_object **ret_tree, struct exp_searcher *ret,
                      struct error *err)
{
    const struct schema_key *key = schema_find(experiment_config_keys, "searcher");
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.root = "<config>"};
    cleanup_json struct json_object *whole = json_object_new_object();
    json_object_object_add(whole, "searcher", json_object_get(searcher));
    schema_validate(experiment_config_keys, whole, SCHEMA_PRESENT, expconf_checks, &place, &problems);
    if (problems.n == 0 && !text(searcher, "name"))
        schema_problem(&problems, &place, "searcher", "\"name\" must be set");
    if (problems.n == 0)
        expconf_check_searcher(whole, &place, &problems);
    int rc = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    if (rc < 0)
        return -1;
    *ret_tree = schema_fill(key, searcher);
    *ret = view_searcher(*ret_tree);
    return 0;
}

/* ---- Storage ----------------------------------------------------------------------------------------------------- */

void expconf_check_storage(struct json_object *config, const struct schema_place *place,
                           struct schema_problems *problems)
{
    struct json_object *storage = member(config, "checkpoint_storage");
    const char *type = text(storage, "type");
    if (!type || strcmp(type, "azure") != 0)
        return;
    if (!member(storage, "connection_string") == !member(storage, "account_url"))
        schema_problem(problems, place, "checkpoint_storage",
                       "exactly one of connection_string and account_url must be set");
    else if (member(storage, "connection_string") && member(storage, "credential"))
        schema_problem(problems, place, "checkpoint_storage",
                       "credential goes with account_url, not with connection_string");
}

static struct exp_storage view_storage(struct json_object *v)
{
    static const char *const names[] = {
        [EXP_STORAGE_SHARED_FS] = "shared_fs", [EXP_STORAGE_DIRECTORY] = "directory", [EXP_STORAGE_S3] = "s3",
        [EXP_STORAGE_GCS] = "gcs", [EXP_STORAGE_AZURE] = "azure",
    };
    struct exp_storage s = {
        .save_experiment_best = (int)number(v, "save_experiment_best", 0),
        .save_trial_best = (int)number(v, "save_trial_best", 1),
        .save_trial_latest = (int)number(v, "save_trial_latest", 1),
        .tree = v,
    };
    while (s.kind < EXP_STORAGE_AZURE && strcmp(names[s.kind], text(v, "type")) != 0)
        s.kind++;
    s.path = s.kind == EXP_STORAGE_SHARED_FS   ? text(v, "host_path")
             : s.kind == EXP_STORAGE_DIRECTORY ? text(v, "container_path")
                                               : NULL;
    return s;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static struct exp_resources view_resources(struct json_object *v)
{
    return (struct exp_resources){
        .slots_per_trial = (int)number(v, "slots_per_trial", 1),
        .max_slots = (int)number(v, "max_slots", -1),
        .weight = real(v, "weight", 1),
        .priority = (int)number(v, "priority", 42),
        .pool = text(v, "resource_pool"),
        .shm_bytes = number(v, "shm_size", 0),
        .memory_bytes = number(v, "memory_limit", 0),
        .disk_bytes = number(v, "disk_limit", 0),
        .processes = (int32_t)number(v, "process_limit", 0),
        .single_node = truth(v, "is_single_node"),
    };
}

static void view_labels(struct view *view, struct json_object *list)
{
    struct exp_config *c = &view->config;
    c->label_n = json_object_array_length(list);
    c->label = arena_array(&view->arena, const char *, c->label_n + 1);
    for (size_t i = 0; i < c->label_n; i++)
        c->label[i] = json_object_get_string(json_object_array_get_idx(list, i));
}

static void view_scalars(struct exp_config *c, struct json_object *tree)
{
    struct json_object *days = member(member(tree, "retention_policy"), "log_retention_days");
    c->name = text(tree, "name") ? text(tree, "name") : "";
    c->description = text(tree, "description");
    c->workspace = text(tree, "workspace");
    c->project = text(tree, "project");
    c->checkpoint_policy = text(tree, "checkpoint_policy");
    c->min_validation_period = length(member(tree, "min_validation_period"));
    c->min_checkpoint_period = length(member(tree, "min_checkpoint_period"));
    c->perform_initial_validation = truth(tree, "perform_initial_validation");
    c->debug = truth(tree, "debug");
    c->scheduling_unit = (int)number(tree, "scheduling_unit", 100);
    c->max_restarts = (int)number(tree, "max_restarts", 5);
    c->records_per_epoch = number(tree, "records_per_epoch", 0);
    c->seed = (uint32_t)number(member(tree, "reproducibility"), "experiment_seed", 0);
    c->preemption_timeout_s = (int)number(tree, "preemption_timeout", PREEMPTION_TIMEOUT_S);
    c->has_log_retention = days != NULL;
    c->log_retention_days = days ? json_object_get_int(days) : 0;
}

struct exp_config *expconf_view(struct json_object *take_tree, const char *original, size_t original_n)
{
    struct view *view = must_calloc(1, sizeof *view);
    struct exp_config *c = &view->config;
    cleanup_strbuf struct strbuf json = STRBUF_INIT;
    json_print(take_tree, &json);
    c->tree = take_tree;
    c->json = arena_strndup(&view->arena, json.s, json.n);
    c->original = original ? arena_strndup(&view->arena, original, original_n) : NULL;
    c->entrypoint = member(take_tree, "entrypoint");
    c->searcher = view_searcher(member(take_tree, "searcher"));
    c->resources = view_resources(member(take_tree, "resources"));
    c->storage = view_storage(member(take_tree, "checkpoint_storage"));
    c->hyperparameters = member(take_tree, "hyperparameters");
    c->data = member(take_tree, "data");
    c->environment = member(take_tree, "environment");
    c->bind_mounts = member(take_tree, "bind_mounts");
    c->log_policies = member(take_tree, "log_policies");
    view_labels(view, member(take_tree, "labels"));
    view_scalars(c, take_tree);
    return c;
}

void exp_config_free(struct exp_config *c)
{
    if (!c)
        return;
    struct view *view = (struct view *)c; /* config is its first member */
    json_object_put(c->tree);
    json_object_put(c->warnings);
    arena_release(&view->arena);
    free(view);
}

struct json_object *exp_config_environment_variables(const struct exp_config *c, const char *device_type)
{
    return member(member(c->environment, "environment_variables"), device_type);
}

const char *exp_config_image(const struct exp_config *c, const char *device_type)
{
    return text(member(c->environment, "image"), device_type);
}
