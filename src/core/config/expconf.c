/* The steps from text to an effective configuration. Checks are in expconf_checks.c, shorthands in expconf_normalize.c,
 * the typed view in expconf_view.c. */
#include "core/config/expconf.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "core/config/expconf_checks.h"
#include "core/config/expconf_internal.h"
#include "core/config/policies.h"
#include "gen/config_numbers.h"
#include "gen/config_tables.h"

static const struct schema_key *keys(void)
{
    return experiment_config_keys;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

int expconf_read(const char *yaml, size_t n, struct json_object **ret, struct yaml_positions **positions,
                 struct error *err)
{
    struct json_object *tree = NULL;
    if (yaml_parse(yaml, n, &tree, positions, err) < 0)
        return error_wrap(err, "the experiment configuration is not valid YAML");
    *ret = tree ? tree : json_object_new_object();
    return 0;
}

static int check_version(struct json_object *config, struct error *err)
{
    struct json_object *version = json_object_is_type(config, json_type_object)
                                      ? json_object_object_get(config, "version")
                                      : NULL;
    if (json_object_is_type(version, json_type_int) && json_object_get_int64(version) != 0)
        return error_set(err, ERR_INVALID, "<config>.version: only version 0 exists, found %s",
                         json_object_get_string(version));
    return 0;
}

static bool is_set(struct json_object *config, const char *name)
{
    struct json_object *v = json_object_object_get(config, name);
    return v && json_object_get_string_len(v) > 0;
}

static void check_whole(struct json_object *config, bool unmanaged, const struct schema_place *place,
                        struct schema_problems *problems)
{
    if (!unmanaged && !json_object_object_get(config, "entrypoint"))
        schema_problem(problems, place, "", "\"entrypoint\" must be set, as the cluster runs this experiment");
    if (is_set(config, "workspace") != is_set(config, "project"))
        schema_problem(problems, place, "", "\"workspace\" and \"project\" must be set together");
}

static struct json_object *cluster_storage(const struct expconf_context *ctx)
{
    return schema_merge(schema_find(keys(), "checkpoint_storage"), ctx->workspace_storage, ctx->checkpoint_storage);
}

/* Adds what is missing in a document that has mistakes, so that its author learns of both at once. */
static void check_missing(struct json_object *config, const struct expconf_context *ctx,
                          const struct schema_place *place, struct schema_problems *problems)
{
    if (!json_object_is_type(config, json_type_object))
        return;
    cleanup_json struct json_object *whole = json_object_new_object(), *lower = cluster_storage(ctx);
    json_object_object_foreach(config, name, value) json_object_object_add(whole, name, json_object_get(value));
    struct json_object *storage = schema_merge(schema_find(keys(), "checkpoint_storage"),
                                               json_object_object_get(config, "checkpoint_storage"), lower);
    if (storage)
        json_object_object_add(whole, "checkpoint_storage", storage);
    schema_validate(keys(), whole, SCHEMA_MISSING, expconf_checks, place, problems);
    expconf_check_storage(whole, place, problems);
    expconf_check_searcher(whole, place, problems);
    check_whole(whole, ctx->unmanaged, place, problems);
}

/* Checks everything that is in the document. If there is a mistake and ctx is not NULL, what is missing is reported as
 * well. */
static int check_present(struct json_object *config, const struct yaml_positions *positions,
                         const struct expconf_context *ctx, struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.positions = positions, .root = "<config>"};
    schema_validate(keys(), config, SCHEMA_PRESENT, expconf_checks, &place, &problems);
    if (problems.n && ctx)
        check_missing(config, ctx, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

int expconf_check_present(struct json_object *config, const struct yaml_positions *positions, struct error *err)
{
    return check_present(config, positions, NULL, err);
}

/* Reads and checks a document. The caller frees *ret_positions, which is set also for a document with mistakes. */
static int parse(const char *yaml, size_t n, const struct expconf_context *ctx, struct json_object **ret,
                 struct yaml_positions **ret_positions, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    if (expconf_read(yaml, n, &config, ret_positions, err) < 0 || check_version(config, err) < 0 ||
        check_present(config, *ret_positions, ctx, err) < 0)
        return -1;
    *ret = take_ptr(config);
    return 0;
}

int expconf_parse(const char *yaml, size_t n, struct json_object **ret, struct error *err)
{
    struct yaml_positions *positions = NULL;
    int r = parse(yaml, n, NULL, ret, &positions, err);
    yaml_positions_free(positions);
    return r;
}

/* ---- The request ------------------------------------------------------------------------------------------------- */

/* Reads the request's document, lays it over its template, and checks the result. Mistakes in the request's own
 * document are reported with their lines. *ret_positions, which the caller frees, serves to report later mistakes with
 * their lines, too; it is NULL if there is a template. Sentences on words of the document are added to *warnings. */
static int read_request(const char *yaml, size_t n, const struct expconf_context *ctx, struct json_object **ret,
                        struct yaml_positions **ret_positions, struct json_object **warnings, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    if (!ctx->template_config) {
        if (parse(yaml, n, ctx, &config, ret_positions, err) < 0)
            return -1;
        expconf_warn_words(*ret_positions, warnings);
        expconf_normalize(config);
        expconf_normalize_hyperparameters(config);
        *ret = take_ptr(config);
        return 0;
    }
    struct yaml_positions *positions = NULL;
    int rc = expconf_read(yaml, n, &config, &positions, err);
    expconf_warn_words(positions, warnings);
    yaml_positions_free(positions);
    if (rc < 0 || check_version(config, err) < 0)
        return -1;
    cleanup_error struct error merged_error = ERROR_INIT;
    if (expconf_merge(config, ctx->template_config, ret, &merged_error) == 0)
        return 0;
    cleanup_json struct json_object *alone = NULL;
    if (expconf_parse(yaml, n, &alone, err) == 0)
        error_move(err, &merged_error);
    return -1;
}

/* ---- What the cluster adds --------------------------------------------------------------------------------------- */

static int slots_of(struct json_object *config)
{
    struct json_object *slots = schema_get(exp_resources, schema_get(exp_values, config, resources), slots_per_trial);
    return slots ? json_object_get_int(slots) : EXP_RESOURCES_SLOTS_PER_TRIAL_DEFAULT;
}

int expconf_resolve_pool(struct json_object *config, const struct expconf_context *ctx, const struct expconf_pool **ret,
                         struct error *err)
{
    return cluster_find_pool(schema_section(exp_values, config, resources), slots_of(config) > 0, ctx, ret, err);
}

static struct json_object *add_cluster_defaults(struct json_object *config, const struct expconf_context *ctx,
                                                const struct expconf_pool *pool)
{
    cleanup_json struct json_object *lower = cluster_task_defaults(keys(), config, ctx, pool, slots_of(config) > 0);
    struct json_object *storage = cluster_storage(ctx);
    if (storage)
        json_object_object_add(lower, "checkpoint_storage", storage);
    return schema_merge(keys(), config, lower);
}

/* Adds the defaults that depend on the request and on the time at which it is made. */
static void add_request_defaults(struct json_object *config, const struct expconf_context *ctx,
                                 const struct expconf_pool *pool)
{
    struct json_object *resources = schema_section(exp_values, config, resources),
                       *reproducibility = schema_section(exp_values, config, reproducibility);
    if (pool->default_priority > 0 && !schema_get(exp_resources, resources, priority))
        schema_put(exp_resources, resources, priority, json_object_new_int(pool->default_priority));
    if (!schema_get(exp_reproducibility, reproducibility, experiment_seed))
        schema_put(exp_reproducibility, reproducibility, experiment_seed,
                   json_object_new_int64(ctx->seed & EXP_REPRODUCIBILITY_EXPERIMENT_SEED_MAX));
    if (!schema_get(exp_values, config, name)) {
        char words[64];
        cleanup_strbuf struct strbuf name = STRBUF_INIT;
        expconf_pet_name(ctx->random, words, sizeof(words));
        strbuf_addf(&name, "Experiment (%s)", words);
        schema_put(exp_values, config, name, json_object_new_string(name.s));
    }
    if (ctx->workspace && ctx->project) {
        schema_put(exp_values, config, workspace, json_object_new_string(ctx->workspace));
        schema_put(exp_values, config, project, json_object_new_string(ctx->project));
    }
}

/* ---- Completeness ------------------------------------------------------------------------------------------------ */

static void check_complete(struct json_object *config, bool unmanaged, const struct schema_place *place,
                           struct schema_problems *problems)
{
    schema_validate(keys(), config, SCHEMA_FINISHED, expconf_checks, place, problems);
    expconf_check_storage(config, place, problems);
    check_whole(config, unmanaged, place, problems);
}

int expconf_check_complete(struct json_object *config, bool unmanaged, struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.root = "<config>"};
    check_complete(config, unmanaged, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

int expconf_check_runnable(struct json_object *config, struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.root = "<config>"};
    expconf_check_searcher(config, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

static int check_new(struct json_object *config, const struct expconf_context *ctx,
                     const struct yaml_positions *positions, struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.positions = positions, .root = "<config>"};
    check_complete(config, ctx->unmanaged, &place, &problems);
    expconf_check_searcher(config, &place, &problems);
    expconf_check_capabilities(config, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

/* Replaces the document by one that has what the policies demand. */
static int lay_policies(const struct expconf_context *ctx, struct json_object **config, struct error *err)
{
    if (!ctx->policies || !ctx->policies->invariant)
        return 0;
    struct json_object *laid = policies_lay(ctx->policies, keys(), *config);
    json_object_put(*config);
    *config = laid;
    expconf_normalize_hyperparameters(laid);
    return check_present(laid, NULL, NULL, err) < 0
               ? error_wrap(err, "with the configuration policy of %s merged", ctx->policies->invariant_scope)
               : 0;
}

static bool has_priority(struct json_object *config)
{
    return schema_get(exp_resources, schema_get(exp_values, config, resources), priority) != NULL;
}

int expconf_prepare(const char *yaml, size_t n, const struct expconf_context *ctx, struct exp_config **ret,
                    struct error *err)
{
    cleanup_json struct json_object *config = NULL, *merged = NULL;
    struct yaml_positions *positions = NULL;
    cleanup_json struct json_object *warnings = NULL;
    const struct expconf_pool *pool = NULL;
    int r = expconf_check_text(n, ctx, err);
    if (r == 0)
        r = read_request(yaml, n, ctx, &config, &positions, &warnings, err);
    /* done before the cluster's defaults are added, because the master has told its administrator about those */
    if (r == 0)
        expconf_warn_unserved(keys(), config, &warnings);
    if (r == 0)
        r = lay_policies(ctx, &config, err);
    if (r == 0)
        r = expconf_resolve_pool(config, ctx, &pool, err);
    if (r == 0) {
        merged = add_cluster_defaults(config, ctx, pool);
        add_request_defaults(merged, ctx, pool);
        r = check_new(merged, ctx, positions, err);
    }
    if (r == 0 && !ctx->unmanaged)
        r = policies_limit(ctx->policies, POLICY_EXPERIMENT, merged, has_priority(config), err);
    yaml_positions_free(positions);
    if (r < 0)
        return -1;
    cleanup_exp_config struct exp_config *view = expconf_view(expconf_fill(merged), yaml, n);
    if (expconf_check_limits(view, ctx, err) < 0)
        return -1;
    view->warnings = take_ptr(warnings);
    *ret = take_ptr(view);
    return 0;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static char *named(struct json_object *config, struct json_object *template_config, const char *name)
{
    struct json_object *v = config ? json_object_object_get(config, name) : NULL;
    if (!v && json_object_is_type(template_config, json_type_object))
        v = json_object_object_get(template_config, name);
    return json_object_is_type(v, json_type_string) ? must_strdup(json_object_get_string(v)) : NULL;
}

void expconf_place(const char *yaml, size_t n, struct json_object *template_config, char **ret_workspace,
                   char **ret_project)
{
    cleanup_json struct json_object *config = NULL;
    *ret_workspace = *ret_project = NULL;
    if (expconf_read(yaml, n, &config, NULL, NULL) < 0 || !json_object_is_type(config, json_type_object))
        return;
    *ret_workspace = named(config, template_config, "workspace");
    *ret_project = named(config, template_config, "project");
}

int expconf_check_part(struct json_object *part, struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.root = "<config>"};
    schema_validate(keys(), part, SCHEMA_PARTIAL, expconf_checks, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

int expconf_check_storage_section(struct json_object *storage, struct error *err)
{
    cleanup_json struct json_object *config = json_object_new_object();
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {0};
    json_object_object_add(config, "checkpoint_storage", json_object_get(storage));
    bool whole = schema_kind(schema_find(keys(), "checkpoint_storage"), storage) != NULL;
    schema_validate_at(schema_find(keys(), "checkpoint_storage"), storage, "checkpoint_storage",
                       whole ? SCHEMA_FINISHED : SCHEMA_PRESENT, expconf_checks, &place, &problems);
    if (whole && problems.n == 0)
        expconf_check_storage(config, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

struct json_object *expconf_mask_storage(struct json_object *storage)
{
    return schema_mask(schema_find(keys(), "checkpoint_storage"), storage, SCHEMA_MASKED);
}

int exp_config_from_json(const char *json, size_t n, struct exp_config **ret, struct error *err)
{
    struct json_object *tree = NULL;
    if (json_parse(json, n, &tree, err) < 0)
        return error_wrap(err, "the stored experiment configuration");
    if (!json_object_is_type(tree, json_type_object) || expconf_check_complete(tree, true, err) < 0) {
        json_object_put(tree);
        return err && err->kind ? error_wrap(err, "the stored experiment configuration")
                                : error_set(err, ERR_INVALID, "the stored experiment configuration is no object");
    }
    *ret = expconf_view(expconf_fill(tree), NULL, 0);
    json_object_put(tree);
    return 0;
}
