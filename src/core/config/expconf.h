/* The experiment's configuration: from the YAML that a person wrote to the document that rules the experiment
 * (docs/spec/configuration.md).
 *
 *     text → parse → over the template → normal form → over task_container_defaults and checkpoint_storage of the cluster
 *          → defaults → complete and checked → `struct exp_config`
 *
 * Pure: what depends on the world (pools, the cluster's defaults, seed, random words for a name) comes in the context.
 * All mistakes are reported together, each with its JSON path, line and column. How lists combine is said row by row in
 * contract/experiment-config.json (`merge`). */
#ifndef DET_CORE_EXPCONF_H
#define DET_CORE_EXPCONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/json/json.h"

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
    struct json_object *template_config;         /* the template's document, or NULL */
    const char *workspace, *project;             /* of the request; NULL: as the config says */
    size_t config_max;                           /* bytes of a configuration; 0: any */
    bool unmanaged;                              /* runs outside the cluster: needs no entrypoint */
    uint32_t seed;                               /* reproducibility.experiment_seed if the config has none */
    uint32_t random[3];                          /* for a name */
};

enum exp_searcher_kind {
    EXP_SEARCHER_SINGLE, EXP_SEARCHER_RANDOM, EXP_SEARCHER_GRID, EXP_SEARCHER_ASYNC_HALVING, EXP_SEARCHER_ADAPTIVE_ASHA,
    EXP_SEARCHER_NR,
};

enum exp_unit { EXP_UNIT_NONE, EXP_UNIT_BATCHES, EXP_UNIT_RECORDS, EXP_UNIT_EPOCHS };

struct exp_length {
    enum exp_unit unit; /* NONE: a bare number, its unit is the user's business */
    int64_t units;
};

struct exp_searcher {
    /* what runs: adaptive and adaptive_simple are ADAPTIVE_ASHA, sync_halving is ASYNC_HALVING */
    enum exp_searcher_kind kind;
    const char *name;            /* as written */
    const char *runs_as;         /* another name that it runs under, or NULL */
    const char *metric;
    bool smaller_is_better;
    bool has_max_length;
    struct exp_length max_length;
    int max_trials;             /* 1 for single, 0 for grid: as many as there are points */
    int max_concurrent_trials;  /* 0: no limit */
    int source_trial_id;        /* 0: none */
    const char *source_checkpoint_uuid; /* NULL: none */
    int64_t max_time;           /* halving: 0 if unset */
    const char *time_metric;    /* halving: NULL if unset */
    int num_rungs, max_rungs;
    double divisor;
    const char *mode;           /* adaptive_asha */
    bool stop_once;
    struct json_object *bracket_rungs;
};

struct exp_resources {
    int slots_per_trial;
    int max_slots;    /* -1: no limit */
    double weight;
    int priority;     /* 1 … 99, smaller runs first */
    const char *pool;
    int64_t shm_bytes; /* 0: the cluster's default */
    int64_t memory_bytes, disk_bytes; /* of each task; 0: the agent's default */
    int32_t processes;
    bool single_node;
};

enum exp_storage_kind { EXP_STORAGE_SHARED_FS, EXP_STORAGE_DIRECTORY, EXP_STORAGE_S3, EXP_STORAGE_GCS, EXP_STORAGE_AZURE };

struct exp_storage {
    enum exp_storage_kind kind;
    int save_experiment_best, save_trial_best, save_trial_latest;
    const char *path;         /* shared_fs: host_path; directory: container_path; NULL otherwise */
    struct json_object *tree; /* the whole section */
};

/* Everything below lives and dies with the struct. Read only: it may be shared between threads once it is made, but for
 * printing its trees (json-c keeps the text within them); use `json`. */
struct exp_config {
    const char *json; /* the effective configuration, compact: what the store keeps and the API returns */
    /* A JSON list of sentences about what somebody has asked for and does not get, or may not have meant: keys without effect,
     * words that YAML 1.1 reads as truth values. NULL: none. Only of what expconf_prepare() and expconf_continue() make: the
     * effective form does not tell what somebody wrote. */
    struct json_object *warnings;
    const char *original; /* the text as submitted; NULL if made from the effective form */
    struct json_object *tree; /* of json */

    const char *name, *description; /* description may be NULL */
    const char *workspace, *project; /* "" if not named */
    struct json_object *entrypoint;  /* string or list of strings; NULL if unmanaged */
    const char **label;
    size_t label_n;
    struct exp_searcher searcher;
    struct exp_resources resources;
    struct exp_storage storage;
    struct json_object *hyperparameters; /* normal form: typed objects and nested groups */
    struct json_object *data, *environment, *bind_mounts, *log_policies;
    const char *checkpoint_policy; /* best, all, none */
    struct exp_length min_validation_period, min_checkpoint_period;
    bool perform_initial_validation, debug;
    int scheduling_unit, max_restarts;
    int64_t records_per_epoch;
    uint32_t seed;
    int preemption_timeout_s;
    bool has_log_retention;
    int log_retention_days; /* -1: for ever */
};

/* A `searcher` section alone, defaults filled in. The view borrows from *ret_tree, which the caller puts. ERR_INVALID
 * for one that cannot run. */
int exp_searcher_read(struct json_object *searcher, struct json_object **ret_tree, struct exp_searcher *ret,
                      struct error *err);

/* Adds sentences on the words of a document that YAML 1.1 reads as truth values to *list, which is made when it is NULL. */
void expconf_warn_words(const struct yaml_positions *positions, struct json_object **list);
/* Checks the length of a submitted text. To be called before anything reads the text. */
int expconf_check_text(size_t n, const struct expconf_context *ctx, struct error *err);
/* ERR_INVALID with every mistake, one a line. Caller frees *ret with exp_config_free(). */
int expconf_prepare(const char *yaml, size_t n, const struct expconf_context *ctx, struct exp_config **ret,
                    struct error *err);
/* The configuration of an experiment that goes on: `override` (YAML; empty: nothing changes) laid over its effective configuration
 * (docs/spec/configuration.md#continuing-with-another-configuration). */
int expconf_continue(struct json_object *effective, const char *override, size_t n, const struct expconf_context *ctx,
                     struct exp_config **ret, struct error *err);
/* The typed view of an effective configuration out of the store. */
int exp_config_from_json(const char *json, size_t n, struct exp_config **ret, struct error *err);
void exp_config_free(struct exp_config *c); /* NULL is fine */

/* KEY=VALUE list for tasks on a device type: "cpu", "cuda" or "rocm". A JSON list of strings, borrowed. */
struct json_object *exp_config_environment_variables(const struct exp_config *c, const char *device_type);
const char *exp_config_image(const struct exp_config *c, const char *device_type);

/* ---- The steps, for previews, templates, policies and tests ------------------------------------------------------ */

/* Makes a checked document of a text, in the form in which it was written: shorthands and nulls are kept. Empty text is an empty
 * document. */
int expconf_parse(const char *yaml, size_t n, struct json_object **ret, struct error *err);
/* Shorthands to normal form: image and variables by device, devices and log policies as objects, sizes as bytes. */
void expconf_normalize(struct json_object *config);
/* Writes constants and lists in `hyperparameters` as {type: const, val}. This is a step of its own, since merging has to tell the forms
 * apart. */
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

static inline void exp_config_free_p(struct exp_config **c) { exp_config_free(*c); }
#define cleanup_exp_config __attribute__((cleanup(exp_config_free_p)))

#endif
