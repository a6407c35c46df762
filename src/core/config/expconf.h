/* The experiment's configuration: from the YAML that a user wrote to the document that rules the experiment
 * (docs/spec/configuration.md).
 *
 *     text → parse → over the template → normal form → over task_container_defaults and checkpoint_storage of the
 *     cluster → defaults → complete and checked → `struct exp_config`
 *
 * Keys, their types, defaults and ranges are declared once, in contract/experiment-config.json. From this table
 * tools/gen-config makes the struct with the values (`struct exp_values` in gen/experiment_config.h) and the code that
 * reads it; core/config/spec.c picks from the struct what the core's state machines need (docs/decisions/0012).
 *
 * The functions are pure: what depends on the world (pools, the cluster's defaults, the seed, random words for a
 * name) comes in the context. All mistakes are reported together, each with its JSON path, line and column. Each row
 * of contract/experiment-config.json says how its lists are combined (`merge`). */
#ifndef DET_CORE_CONFIG_EXPCONF_H
#define DET_CORE_CONFIG_EXPCONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/json/json.h"
#include "gen/experiment_config.h"

struct expconf_pool {
    const char *name;
    int default_priority;
    /* the pool's own section, already laid over the cluster's; may be NULL */
    struct json_object *task_container_defaults;
};

struct expconf_context {
    struct json_object *checkpoint_storage; /* the cluster's section; may be NULL */
    /* the workspace's section, which is laid over the cluster's; may be NULL */
    struct json_object *workspace_storage;
    struct json_object *task_container_defaults; /* the cluster's section; may be NULL */
    const struct expconf_pool *pool;             /* all pools of the cluster */
    size_t pool_n;
    const char *default_compute_pool, *default_aux_pool; /* NULL: a task must name its pool */
    struct json_object *template_config;                 /* the template's document, or NULL */
    /* the place that the request names; NULL: the place that the configuration names */
    const char *workspace, *project;
    /* the most bytes that a configuration may have; 0: there is no limit */
    size_t config_max;
    /* the experiment runs outside of the cluster and needs no entrypoint */
    bool unmanaged;
    /* used as reproducibility.experiment_seed if the configuration has none */
    uint32_t seed;
    uint32_t random[3]; /* chooses the words of a name (expconf_pet_name()) */
};

/* Everything that the members point to is freed with the struct. The struct is not changed once it is made, so
 * threads may share it. They must not print its trees, however, since json-c keeps the printed text within the tree;
 * they use `json` instead. */
struct exp_config {
    const char *json; /* the effective configuration, compact: what the store keeps and the API returns */
    /* A JSON list of warnings about what a user has asked for and does not get, or may not have meant: keys without
     * effect, and words that YAML 1.1 reads as truth values. NULL: there is no warning. Only expconf_prepare() and
     * expconf_continue() set the list, since the effective form does not tell what a user wrote. */
    struct json_object *warnings;
    const char *original;     /* the text as submitted; NULL if made from the effective form */
    struct json_object *tree; /* `json` as a tree */

    struct exp_values values; /* the values of the configuration, typed; texts and trees in it belong to `tree` */
};

/* Reads a `searcher` section alone and fills in its defaults. *ret borrows from the arena and from *ret_tree, whose
 * reference the caller releases (json_object_put). Fails with ERR_INVALID for a searcher that cannot run. */
int expconf_read_searcher(struct json_object *searcher, struct arena *a, struct json_object **ret_tree,
                          struct exp_searcher *ret, struct error *err);
/* Returns the kind that a searcher runs as. It differs from the searcher's own kind if that one has been retired. */
enum exp_searcher_kind exp_searcher_runs_as(enum exp_searcher_kind kind);
/* Returns how many trials the searcher may have: 1 for single, and 0 for grid, whose trials are as many as its
 * points. */
int32_t exp_searcher_trials(const struct exp_searcher *s);
/* Returns the directory of a storage that is one: a path on the machine (shared_fs) or as tasks see it (directory).
 * Returns NULL for all other storages. */
const char *exp_checkpoint_storage_path(const struct exp_checkpoint_storage *s);

/* Adds a warning to *list for each word of a document that YAML 1.1 reads as a truth value. The list is made if
 * *list is NULL. */
void expconf_warn_words(const struct yaml_positions *positions, struct json_object **list);
/* Checks the length of a submitted text. It has to be called before anything reads the text. */
int expconf_check_text(size_t n, const struct expconf_context *ctx, struct error *err);
/* Makes the configuration of a new experiment. Fails with ERR_INVALID and all mistakes, one on each line. The caller
 * frees *ret with exp_config_free(). */
int expconf_prepare(const char *yaml, size_t n, const struct expconf_context *ctx, struct exp_config **ret,
                    struct error *err);
/* Makes the configuration of an experiment that goes on: `override` is YAML that is laid over the effective
 * configuration; an empty one changes nothing (docs/spec/configuration.md#continuing-with-another-configuration). */
int expconf_continue(struct json_object *effective, const char *override, size_t n, const struct expconf_context *ctx,
                     struct exp_config **ret, struct error *err);
/* Makes the typed view of an effective configuration that was read from the store. */
int exp_config_from_json(const char *json, size_t n, struct exp_config **ret, struct error *err);
void exp_config_free(struct exp_config *c); /* NULL is allowed */

/* Returns the environment variables of tasks on a type of device: "cpu", "cuda" or "rocm". */
const char *const *exp_config_environment_variables(const struct exp_config *c, const char *device_type,
                                                    size_t *ret_n); /* the number of texts, each KEY=VALUE */
const char *exp_config_image(const struct exp_config *c, const char *device_type);

/* ---- The steps, for previews, templates, policies and tests ------------------------------------------------------ */

/* Makes a checked document of a text. The document keeps the form in which it was written, with its shorthands and
 * nulls. An empty text gives an empty document. */
int expconf_parse(const char *yaml, size_t n, struct json_object **ret, struct error *err);
/* Brings shorthands into normal form: image and variables by type of device, devices and log policies as objects,
 * sizes as bytes. */
void expconf_normalize(struct json_object *config);
/* Writes constants and lists in `hyperparameters` as {type: const, val}. This is a step of its own, since merging has
 * to tell the forms apart. */
void expconf_normalize_hyperparameters(struct json_object *config);
/* Finds the workspace and the project that a document names, itself or by its template. A name is NULL if there is
 * none or if it is wrong. The caller frees both. */
void expconf_place(const char *yaml, size_t n, struct json_object *template_config, char **ret_workspace,
                   char **ret_project);
/* Checks a checkpoint_storage section that stands alone, such as a workspace's. */
int expconf_check_storage_section(struct json_object *storage, struct error *err);
/* credentials become ********; the caller releases the result */
struct json_object *expconf_mask_storage(struct json_object *storage);
/* Lays a configuration over a template, both as they were parsed. The result is checked and in normal form. The
 * caller releases *ret. */
int expconf_merge(struct json_object *config, struct json_object *template_config, struct json_object **ret,
                  struct error *err);
/* Does the same as expconf_merge() for the configuration of a command, notebook, shell, TensorBoard or generic task. */
int taskconf_merge(struct json_object *config, struct json_object *template_config, struct json_object **ret,
                   struct error *err);
/* Checks the types, names and lengths of some keys of a configuration, such as those of a request that changes the
 * name or the labels. */
int expconf_check_part(struct json_object *part, struct error *err);
/* Checks that a document of a request keeps the limits that the YAML reader sets. It is for documents that are not
 * read as YAML, such as a template. */
int expconf_check_values(struct json_object *document, struct error *err);
/* Checks what a template holds: a part of a configuration of an experiment or a task, which names no template
 * itself. `name` is the template's, for the message. */
int expconf_check_template(struct json_object *config, const char *name, struct error *err);
/* Makes the effective form: all keys are there, with the defaults of the schema or null. The caller releases the
 * result. */
struct json_object *expconf_fill(struct json_object *config);
/* Fails with ERR_INVALID if something required is missing. */
int expconf_check_complete(struct json_object *config, bool unmanaged, struct error *err);
/* Fails with ERR_INVALID if new experiments may not use the searcher, or if the searcher lacks something that it
 * needs. */
int expconf_check_runnable(struct json_object *config, struct error *err);
/* Makes a name such as "Experiment (lucky-blue-fox)". The three numbers choose the three words. */
void expconf_pet_name(const uint32_t random[3], char *ret, size_t cap);

static inline void exp_config_free_p(struct exp_config **c)
{
    exp_config_free(*c);
}
#define cleanup_exp_config __attribute__((cleanup(exp_config_free_p)))

#endif
