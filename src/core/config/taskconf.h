/* The configuration of a task that is no trial: a command, notebook, shell, TensorBoard or generic task
 * (docs/spec/configuration.md#tasks-that-are-no-trials).
 *
 *     document → over the template → normal form → over task_container_defaults of the pool and of the cluster
 *              → what belongs to the kind of task → defaults → checked → `struct taskconf`
 *
 * Keys, their types, defaults and ranges are declared once, in contract/task-config.json; tools/gen-config makes of it
 * `struct task_values` (gen/task_config.h). Sections that experiments have, too, have the structs of the experiment's
 * configuration, such as `struct exp_environment`.
 *
 * Pure, as expconf.h is. All mistakes of a document are reported together. */
#ifndef DET_CORE_CONFIG_TASKCONF_H
#define DET_CORE_CONFIG_TASKCONF_H

#include "core/config/expconf.h"
#include "core/records/states.h"
#include "gen/task_config.h"

/* The entry of a kind, as the effective configuration of a command has it in front of the user's words. Release 0.38.1
 * had it there, and programs read it. */
#define TASKCONF_COMMAND_ENTRY "/run/determined/command-entrypoint.sh"

/* What is fixed for each kind of task. */
struct taskconf_kind {
    const char *label;          /* what generated descriptions begin with: "Command" */
    bool has_service;           /* a task of this kind listens at a port of its own (core/state/ports.h) */
    bool runs_entrypoint;       /* the user says what runs; other kinds run a program of the platform */
    const char *const *program; /* what `entrypoint` shows for these other kinds; ends with NULL */
};
extern const struct taskconf_kind taskconf_kinds[TASK_KIND_NR]; /* the row of TASK_KIND_COLLECTION is empty */

struct taskconf_request {
    enum task_kind kind; /* one that users launch */
    /* The request's document, as a tree or as text. Text is YAML or JSON, and mistakes in it are reported with their
     * lines. If both are NULL, the document is empty. */
    struct json_object *config;
    const char *text;
    size_t text_n;
    /* The template is cluster->template_config. What concerns only experiments (checkpoint_storage, workspace, seed) is
     * not looked at. */
    const struct expconf_context *cluster;
    bool has_context; /* files come with the request; the task begins in their directory, so work_dir must not be set */
    /* the cluster's notebook_timeout and tensorboard_timeout, in seconds; 0: none */
    int32_t notebook_timeout_s, tensorboard_timeout_s;
};

/* A configuration. Everything in it is freed with it, and borrowed until then. As with `struct exp_config`, several
 * threads may read it, but must not print its trees. */
struct taskconf {
    enum task_kind kind;
    const char *json;         /* the effective configuration, compact: what the store keeps and the API returns */
    struct json_object *tree; /* `json` as a tree */
    /* A JSON list of sentences about what the user has asked for and does not get; NULL: there are none. It is set
     * only by taskconf_prepare(). */
    struct json_object *warnings;
    struct task_values values; /* the same as typed values */
    /* The user's program and its arguments. One element is a line for the shell. Empty if a program of ours runs. */
    const char *const *argv;
    size_t argv_n;
    int64_t idle_timeout_us; /* 0: the task is never ended for being idle */
};

/* Makes the effective configuration of a new task. ERR_INVALID lists every mistake, one a line. The caller frees *ret
 * with taskconf_free(). */
int taskconf_prepare(const struct taskconf_request *rq, struct taskconf **ret, struct error *err);
/* Makes the typed values of an effective configuration that was read from the store. */
int taskconf_from_json(enum task_kind kind, const char *json, size_t n, struct taskconf **ret, struct error *err);
void taskconf_free(struct taskconf *c); /* c may be NULL */

/* Returns the variables that the task gets on a type of device: "cpu", "cuda" or "rocm". */
const char *const *taskconf_environment_variables(const struct taskconf *c, const char *device_type, size_t *ret_n);
const char *taskconf_image(const struct taskconf *c, const char *device_type);

/* Lays config over template, both as written. The result is checked and in normal form. The caller puts *ret. */
int taskconf_merge(struct json_object *config, struct json_object *template_config, struct json_object **ret,
                   struct error *err);

static inline void taskconf_free_p(struct taskconf **c)
{
    taskconf_free(*c);
}
#define cleanup_taskconf __attribute__((cleanup(taskconf_free_p)))

#endif
