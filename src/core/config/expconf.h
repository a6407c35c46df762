/* The experiment's configuration: from the YAML that a person wrote to the document that rules the experiment
 * (docs/spec/configuration.md).
 *
 *     text → parse → over the template → normal form → over task_container_defaults and checkpoint_storage of the
 * cluster → defaults → complete and checked → `struct exp_config`
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
    struct json_object *task_container_defaults; /* the pool's own, over the cluster's; may be NULL */
};

struct expconf_context {
    struct json_object *checkpoint_storage;      /* the cluster's; may be NULL */
    struct json_object *workspace_storage;       /* checkpoint_storage of the workspace, above it; may be NULL */
    struct json_object *task_container_defaults; /* the cluster's; may be NULL */
    const struct expconf_pool *pool;             /* all pools */
    size_t pool_n;
    const char *default_compute_pool, *default_aux_pool; /* NULL: a task must name its pool */
    struct json_object *template_config;                 /* the template's document, or NULL */
    const char *workspace, *project;                     /* of the request; NULL: as the config says */
    size_t config_max;                                   /* bytes of a configuration; 0: any */
    bool unmanaged;                                      /* runs outside the cluster: needs no entrypoint */
    uint32_t seed;                                       /* reproducibility.experiment_seed if the config has none */
    uint32_t random[3];                                  /* for a name */
};

/* Everything below lives and dies with the struct. Read only: it may be shared between threads once it is made, but for
 * printing its trees (json-c keeps the text within them); use `json`. */
struct exp_config {
    const char *json; /* the effective configuration, compact: what the store keeps and the API returns */
    /* A JSON list of sentences about what somebody has asked for and does not get, or may not have meant: keys without
     * effect, words that YAML 1.1 reads as truth values. NULL: none. Only of what expconf_prepare() and
     * expconf_continue() make: the effective form does not tell what somebody wrote. */
    struct json_object *warnings;
    const char *original;     /* the text as submitted; NULL if made from the effective form */
    struct json_object *tree; /* of json */

    struct exp_values values; /* what it says, typed; texts and trees are those of `tree` */
};

/* A `searcher` section alone, defaults filled in. *ret borrows from *ret_tree, which the caller puts, and from the
 * arena. ERR_INVALID for one that cannot run. */
int expconf_read_searcher(struct json_object *searcher, struct arena *a, struct json_object **ret_tree,
                          struct exp_searcher *ret, struct error *err);
/* The kind that a searcher runs as: another one than its own if that has been retired. */
enum exp_searcher_kind exp_searcher_runs_as(enum exp_searcher_kind kind);
/* How many trials it may have: 1 for single; 0 for grid, which has as many as there are points. */
int32_t exp_searcher_trials(const struct exp_searcher *s);
/* Where a storage that is a directory lies: on the machine (shared_fs), or as tasks see it (directory). NULL for all
 * others. */
const char *exp_checkpoint_storage_path(const struct exp_checkpoint_storage *s);

/* Adds sentences on the words of a document that YAML 1.1 reads as truth values to *list, which is made when it is
 * NULL. */
void expconf_warn_words(const struct yaml_positions *positions, struct json_object **list);
/* Checks the length of a submitted text. To be called before anything reads the text. */
int expconf_check_text(size_t n, const struct expconf_context *ctx, struct error *err);
/* ERR_INVALID with every mistake, one a line. Caller frees *ret with exp_config_free(). */
int expconf_prepare(const char *yaml, size_t n, const struct expconf_context *ctx, struct exp_config **ret,
                    struct error *err);
/* The configuration of an experiment that goes on: `override` (YAML; empty: nothing changes) laid over its effective
 * configuration (docs/spec/configuration.md#continuing-with-another-configuration). */
int expconf_continue(struct json_object *effective, const char *override, size_t n, const struct expconf_context *ctx,
                     struct exp_config **ret, struct error *err);
/* The typed view of an effective configuration out of the store. */
int exp_config_from_json(const char *json, size_t n, struct exp_config **ret, struct error *err);
void exp_config_free(struct exp_config *c); /* NULL is fine */

/* What tasks on a device type get: "cpu", "cuda" or "rocm". */
const char *const *exp_config_environment_variables(const struct exp_config *c, const char *device_type,
                                                    size_t *ret_n); /* KEY=VALUE */
const char *exp_config_image(const struct exp_config *c, const char *device_type);

/* ---- The steps, for previews, templates, policies and tests ------------------------------------------------------ */

/* Makes a checked document of a text, in the form in which it was written: shorthands and nulls are kept. Empty text is
 * an empty document. */
int expconf_parse(const char *yaml, size_t n, struct json_object **ret, struct error *err);
/* Shorthands to normal form: image and variables by device, devices and log policies as objects, sizes as bytes. */
void expconf_normalize(struct json_object *config);
/* Writes constants and lists in `hyperparameters` as {type: const, val}. This is a step of its own, since merging has
 * to tell the forms apart. */
void expconf_normalize_hyperparameters(struct json_object *config);
/* The workspace and the project that a document names, on its own or by its template; NULL where it names none, or is
 * wrong. Caller frees both. */
void expconf_place(const char *yaml, size_t n, struct json_object *template_config, char **ret_workspace,
                   char **ret_project);
/* A checkpoint_storage section that stands alone, such as a workspace's. */
int expconf_check_storage_section(struct json_object *storage, struct error *err);
struct json_object *expconf_mask_storage(struct json_object *storage); /* credentials as ********; caller puts it */
/* config over template, both as parsed; the result is checked and in normal form. Caller puts *ret. */
int expconf_merge(struct json_object *config, struct json_object *template_config, struct json_object **ret,
                  struct error *err);
/* The same for the configuration of a command, notebook, shell, TensorBoard or generic task. */
int taskconf_merge(struct json_object *config, struct json_object *template_config, struct json_object **ret,
                   struct error *err);
/* Some keys of a configuration on their own, such as a change of name or labels: types, names and lengths. */
int expconf_check_part(struct json_object *part, struct error *err);
/* The limits of a document of a request that is not read as YAML (a template, say), which has limits of its own. */
int expconf_check_values(struct json_object *document, struct error *err);
/* What a template may hold: part of a configuration of either kind, and no template. `name` is for the message. */
int expconf_check_template(struct json_object *config, const char *name, struct error *err);
/* The effective form: schema defaults and nulls, so that every key is there. Caller puts the result. */
struct json_object *expconf_fill(struct json_object *config);
/* ERR_INVALID if something required is missing. */
int expconf_check_complete(struct json_object *config, bool unmanaged, struct error *err);
/* ERR_INVALID if new experiments may not use the searcher, or it lacks something that it needs. */
int expconf_check_runnable(struct json_object *config, struct error *err);
/* "Experiment (lucky-blue-fox)": three words picked by the numbers. */
void expconf_pet_name(const uint32_t random[3], char *ret, size_t cap);

static inline void exp_config_free_p(struct exp_config **c)
{
    exp_config_free(*c);
}
#define cleanup_exp_config __attribute__((cleanup(exp_config_free_p)))

#endif
