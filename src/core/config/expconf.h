/* The experiment's configuration: from the YAML that a person wrote to the document that rules the experiment
 * (docs/spec/configuration.md).
 *
 *     text → parse → over the template → normal form → over task_container_defaults and checkpoint_storage of the
 *     cluster
 *          → defaults → complete and checked → `struct exp_config`
 *
 * Keys, their types, defaults and ranges are declared once, in contract/experiment-config.json. tools/gen-config makes
 * of it the struct with the values (`struct exp_values` in gen/experiment_config.h) and what reads it;
 * core/config/spec.c picks from it what the core's state machines need (docs/decisions/0012).
 *
 * Pure: what depends on the world (pools, the cluster's defaults, seed, random words for a name) comes in the context.
 * All mistakes are reported together, each with its JSON path, line and column. How lists combine is said row by row in
 * contract/experiment-config.json (`merge`). */
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
    struct json_object *task_container_defaults; /* the pool's own values, which go before the cluster's; may be NULL */
};

struct policies;
struct expconf_context {
    struct json_object *checkpoint_storage; /* the cluster's value; may be NULL */
    /* the workspace's value, which goes before the cluster's; may be NULL */
    struct json_object *workspace_storage;
    struct json_object *task_container_defaults; /* the cluster's value; may be NULL */
    const struct expconf_pool *pool;             /* all pools */
    size_t pool_n;
    const char *default_compute_pool, *default_aux_pool; /* NULL: a task has to name its pool */
    struct json_object *template_config;                 /* the template's document, or NULL */
    /* as the request names them; NULL: as the configuration says */
    const char *workspace, *project;
    size_t config_max; /* the most bytes of a configuration; 0: no limit */
    /* the experiment runs outside the cluster, so it needs no entrypoint */
    bool unmanaged;
    /* used as reproducibility.experiment_seed if the configuration has none */
    uint32_t seed;
    uint32_t random[3];        /* random numbers for the experiment's name */
    struct policies *policies; /* the policies that hold in the workspace (core/config/policies.h); NULL: none */
};

/* A configuration. Everything in it is freed with it. It may be read by several threads at once, with one exception:
 * its trees must not be printed, because json-c keeps the text within them. `json` has the text. */
struct exp_config {
    const char *json; /* the effective configuration, compact: what the store keeps and the API returns */
    /* A JSON list of sentences about what the user has asked for and does not get, or may not have meant: keys without
     * effect, and words that YAML 1.1 reads as truth values. NULL: there are none. It is set only by expconf_prepare()
     * and expconf_continue(), because an effective configuration does not tell what its author wrote. */
    struct json_object *warnings;
    const char *original;     /* the submitted text; NULL if this was made from an effective configuration */
    struct json_object *tree; /* `json` as a tree */

    struct exp_values values; /* the same as typed values; texts and trees are part of `tree` */
};

/* Reads a `searcher` section that stands alone, and fills in its defaults. *ret borrows from *ret_tree, which the
 * caller puts, and from the arena. ERR_INVALID for a searcher that cannot run. */
int expconf_read_searcher(struct json_object *searcher, struct arena *a, struct json_object **ret_tree,
                          struct exp_searcher *ret, struct error *err);
/* Returns the kind as which a searcher runs. For a retired kind this is another kind. */
enum exp_searcher_kind exp_searcher_runs_as(enum exp_searcher_kind kind);
/* Returns how many trials the searcher may create: 1 for single; 0 for grid, which creates one for each point. */
int32_t exp_searcher_trials(const struct exp_searcher *s);
/* Returns the path of a storage that is a directory: the path on the machine for shared_fs, or the path that tasks see
 * for directory. NULL for all other kinds. */
const char *exp_checkpoint_storage_path(const struct exp_checkpoint_storage *s);

/* Adds sentences on the words of a document that YAML 1.1 reads as truth values to *list, which is made when it is
 * NULL. */
void expconf_warn_words(const struct yaml_positions *positions, struct json_object **list);
/* Checks the length of a submitted text. To be called before anything reads the text. */
int expconf_check_text(size_t n, const struct expconf_context *ctx, struct error *err);
/* Makes the configuration of a new experiment. ERR_INVALID lists every mistake, one a line. The caller frees *ret with
 * exp_config_free(). */
int expconf_prepare(const char *yaml, size_t n, const struct expconf_context *ctx, struct exp_config **ret,
                    struct error *err);
/* Makes the configuration of an experiment that is continued: `override` (YAML; empty: nothing changes) laid over the
 * experiment's effective configuration (docs/spec/configuration.md#continuing-with-another-configuration). */
int expconf_continue(struct json_object *effective, const char *override, size_t n, const struct expconf_context *ctx,
                     struct exp_config **ret, struct error *err);
/* Makes the typed values of an effective configuration that was read from the store. */
int exp_config_from_json(const char *json, size_t n, struct exp_config **ret, struct error *err);
void exp_config_free(struct exp_config *c); /* c may be NULL */

/* Returns the variables that tasks get on a type of device: "cpu", "cuda" or "rocm". */
const char *const *exp_config_environment_variables(const struct exp_config *c, const char *device_type,
                                                    size_t *ret_n); /* each variable is KEY=VALUE */
const char *exp_config_image(const struct exp_config *c, const char *device_type);
/* Do the same for a section, which tasks that are no trials have, too. */
const char *const *exp_environment_variables_of(const struct exp_environment *e, const char *device_type,
                                                size_t *ret_n);
const char *exp_environment_image_of(const struct exp_environment *e, const char *device_type);

/* ---- The steps, for previews, templates, policies and tests ------------------------------------------------------ */

/* Makes a checked document of a text, in the form in which it was written: shorthands and nulls are kept. Empty text is
 * an empty document. */
int expconf_parse(const char *yaml, size_t n, struct json_object **ret, struct error *err);
/* Turns shorthands into their normal form: images and variables get a value for each device, devices and log policies
 * become objects, and sizes become bytes. */
void expconf_normalize(struct json_object *config);
/* Writes constants and lists in `hyperparameters` as {type: const, val}. This is a step of its own, since merging has
 * to tell the forms apart. */
void expconf_normalize_hyperparameters(struct json_object *config);
/* Finds the workspace and the project that a document names, by itself or by its template. They are NULL if the
 * document names none, or is wrong. The caller frees both. */
void expconf_place(const char *yaml, size_t n, struct json_object *template_config, char **ret_workspace,
                   char **ret_project);
/* Checks a checkpoint_storage section that stands alone, such as that of a workspace. */
int expconf_check_storage_section(struct json_object *storage, struct error *err);
/* Shows credentials as ********; the caller puts the result. */
struct json_object *expconf_mask_storage(struct json_object *storage);
/* Lays config over template, both as parsed. The result is checked and in normal form. The caller puts *ret. */
int expconf_merge(struct json_object *config, struct json_object *template_config, struct json_object **ret,
                  struct error *err);
/* Checks some keys of a configuration without the others, such as a change of name or labels: their types, names and
 * lengths. */
int expconf_check_part(struct json_object *part, struct error *err);
/* Checks the limits of a request's document that is not read as YAML, such as a template. YAML has limits of its
 * own. */
int expconf_check_values(struct json_object *document, struct error *err);
/* Checks what a template may hold: part of a configuration of either kind, and no template. `name` is used in the
 * message. */
int expconf_check_template(struct json_object *config, const char *name, struct error *err);
/* Makes the effective form, in which every key is there, by adding the schema's defaults and nulls. The caller puts the
 * result. */
struct json_object *expconf_fill(struct json_object *config);
/* ERR_INVALID if something required is missing. */
int expconf_check_complete(struct json_object *config, bool unmanaged, struct error *err);
/* ERR_INVALID if new experiments may not use the searcher, or if the searcher lacks something that it needs. */
int expconf_check_runnable(struct json_object *config, struct error *err);
/* Makes a name such as "Experiment (lucky-blue-fox)", whose three words are chosen by the numbers. */
void expconf_pet_name(const uint32_t random[3], char *ret, size_t cap);

static inline void exp_config_free_p(struct exp_config **c)
{
    exp_config_free(*c);
}
#define cleanup_exp_config __attribute__((cleanup(exp_config_free_p)))

#endif
