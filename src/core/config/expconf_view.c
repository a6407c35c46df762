/* The typed view of an effective configuration, and what is asked of searcher and storage before one is made. */
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/config/capabilities.h"
#include "common/json/json.h"
#include "core/config/expconf.h"
#include "core/config/expconf_checks.h"
#include "core/config/expconf_internal.h"
#include "gen/config_tables.h"

/* An exp_config, which callers see, with the memory of its texts. */
struct view {
    struct exp_config config;
    struct arena arena;
};

/* ---- Members of a tree ------------------------------------------------------------------------------------------- */

static const char *text(struct json_object *v, const char *name)
{
    struct json_object *s = json_member(v, name);
    return s ? json_object_get_string(s) : NULL;
}

/* ---- Searcher ---------------------------------------------------------------------------------------------------- */

/* For each kind of searcher: the kind as which it runs, and whether it has to know how long a trial trains. A kind
 * without `runs` cannot run: docs/spec/searchers.md#retired-searchers. */
static const struct {
    bool runs, halving;
    enum exp_searcher_kind as;
} searchers[EXP_SEARCHER_KIND_NR] = {
    [EXP_SEARCHER_SINGLE] = {true, false, EXP_SEARCHER_SINGLE},
    [EXP_SEARCHER_RANDOM] = {true, false, EXP_SEARCHER_RANDOM},
    [EXP_SEARCHER_GRID] = {true, false, EXP_SEARCHER_GRID},
    [EXP_SEARCHER_ASYNC_HALVING] = {true, true, EXP_SEARCHER_ASYNC_HALVING},
    [EXP_SEARCHER_SYNC_HALVING] = {true, true, EXP_SEARCHER_ASYNC_HALVING},
    [EXP_SEARCHER_ADAPTIVE_ASHA] = {true, true, EXP_SEARCHER_ADAPTIVE_ASHA},
    [EXP_SEARCHER_ADAPTIVE] = {true, true, EXP_SEARCHER_ADAPTIVE_ASHA},
    [EXP_SEARCHER_ADAPTIVE_SIMPLE] = {true, true, EXP_SEARCHER_ADAPTIVE_ASHA},
    [EXP_SEARCHER_CUSTOM] = {false, false, EXP_SEARCHER_CUSTOM},
};

/* Finds the kind with that name; EXP_SEARCHER_KIND_NR if there is none. The table refuses such a name. */
static size_t find_searcher(const char *name)
{
    size_t i = 0;
    while (exp_searcher_kind_names[i] && strcmp(exp_searcher_kind_names[i], name) != 0)
        i++;
    return i;
}

enum exp_searcher_kind exp_searcher_runs_as(enum exp_searcher_kind kind)
{
    return searchers[kind].as;
}

void expconf_check_capabilities(struct json_object *config, const struct schema_place *place,
                                struct schema_problems *problems)
{
    struct json_object *list = json_member(json_member(config, "environment"), "drop_capabilities");
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
    struct json_object *searcher = json_member(config, "searcher");
    const char *name = text(searcher, "name");
    if (!name)
        return;
    size_t kind = find_searcher(name);
    if (kind == EXP_SEARCHER_KIND_NR)
        return;
    if (!searchers[kind].runs) {
        schema_problem(problems, place, "searcher.name",
                       "the searcher \"%s\" cannot run; choose adaptive_asha, async_halving, random, "
                       "grid or single",
                       name);
        return;
    }
    bool has_time = json_member(searcher, "max_time") && json_member(searcher, "time_metric");
    if (searchers[kind].halving && !json_member(searcher, "max_length") && !has_time)
        schema_problem(problems, place, "searcher", "%s needs max_length, or max_time together with time_metric", name);
}

/* Computes the number of trials for adaptive and sync_halving, which have a budget for how much all trials train
 * together. */
static int32_t trials_of_budget(const struct exp_searcher *s)
{
    int64_t n = s->max_length.units > 0 ? s->budget.units / s->max_length.units : 1;
    return n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

int32_t exp_searcher_trials(const struct exp_searcher *s)
{
    if (s->kind == EXP_SEARCHER_SINGLE)
        return 1;
    return s->budget.units > 0 ? trials_of_budget(s) : s->max_trials;
}

int expconf_read_searcher(struct json_object *searcher, struct arena *a, struct json_object **ret_tree,
                          struct exp_searcher *ret, struct error *err)
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
    exp_searcher_read(*ret_tree, a, ret);
    return 0;
}

/* ---- Storage ----------------------------------------------------------------------------------------------------- */

void expconf_check_storage(struct json_object *config, const struct schema_place *place,
                           struct schema_problems *problems)
{
    struct json_object *storage = json_member(config, "checkpoint_storage");
    const char *type = text(storage, "type");
    if (!type || strcmp(type, "azure") != 0)
        return;
    if (!json_member(storage, "connection_string") == !json_member(storage, "account_url"))
        schema_problem(problems, place, "checkpoint_storage",
                       "exactly one of connection_string and account_url must be set");
    else if (json_member(storage, "connection_string") && json_member(storage, "credential"))
        schema_problem(problems, place, "checkpoint_storage",
                       "credential goes with account_url, not with connection_string");
}

const char *exp_checkpoint_storage_path(const struct exp_checkpoint_storage *s)
{
    switch (s->kind) {
    case EXP_CHECKPOINT_STORAGE_SHARED_FS:
        return s->host_path;
    case EXP_CHECKPOINT_STORAGE_DIRECTORY:
        return s->container_path;
    case EXP_CHECKPOINT_STORAGE_S3:
    case EXP_CHECKPOINT_STORAGE_GCS:
    case EXP_CHECKPOINT_STORAGE_AZURE:
        break;
    }
    return NULL;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

struct exp_config *expconf_view(struct json_object *take_tree, const char *original, size_t original_n)
{
    struct view *view = must_calloc(1, sizeof(*view));
    struct exp_config *c = &view->config;
    cleanup_strbuf struct strbuf json = STRBUF_INIT;
    json_print(take_tree, &json);
    c->tree = take_tree;
    c->json = arena_strndup(&view->arena, json.s, json.n);
    c->original = original ? arena_strndup(&view->arena, original, original_n) : NULL;
    exp_values_read(take_tree, &view->arena, &c->values);
    return c;
}

void exp_config_free(struct exp_config *c)
{
    if (!c)
        return;
    struct view *view = (struct view *)c; /* config is the first member of struct view */
    json_object_put(c->tree);
    json_object_put(c->warnings);
    arena_release(&view->arena);
    free(view);
}

const char *const *exp_environment_variables_of(const struct exp_environment *e, const char *device_type, size_t *ret_n)
{
    const struct exp_environment_variables *v = &e->environment_variables;
    if (strcmp(device_type, "cuda") == 0)
        return *ret_n = v->cuda_n, v->cuda;
    if (strcmp(device_type, "rocm") == 0)
        return *ret_n = v->rocm_n, v->rocm;
    return *ret_n = v->cpu_n, v->cpu;
}

const char *exp_environment_image_of(const struct exp_environment *e, const char *device_type)
{
    const struct exp_image *image = &e->image;
    return strcmp(device_type, "cuda") == 0 ? image->cuda : strcmp(device_type, "rocm") == 0 ? image->rocm : image->cpu;
}

const char *const *exp_config_environment_variables(const struct exp_config *c, const char *device_type, size_t *ret_n)
{
    return exp_environment_variables_of(&c->values.environment, device_type, ret_n);
}

const char *exp_config_image(const struct exp_config *c, const char *device_type)
{
    return exp_environment_image_of(&c->values.environment, device_type);
}
