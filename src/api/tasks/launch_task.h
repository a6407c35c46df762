/* Launching tasks: what the kinds of tasks have in common, from the request to the reply. */
#ifndef DET_API_TASKS_LAUNCH_TASK_H
#define DET_API_TASKS_LAUNCH_TASK_H

#include "api/pipeline/handler.h"
#include "core/config/taskconf.h"
#include "core/core.h"
#include "store/functions.h"

/* A request to launch a task. The handler of the route fills in the first part. All of it lives as long as the request.
 * While the writer uses it, the loop does not change it. */
struct launch {
    enum task_kind kind;
    const char *config; /* JSON; may be NULL */
    const char *text;   /* the configuration as YAML or JSON, instead of `config`; may be NULL */
    const char *template_name;
    const char *base; /* a configuration, as JSON, that lies below this one as a template does; may be NULL */
    const struct wire_util_file *files;
    size_t files_n;
    int32_t workspace_id; /* 0: the workspace 1 */
    /* Of a generic task. `context_hash`, if it is set, stands for files that are in the store already. */
    const char *context_hash, *parent_id, *forked_from; /* NULL: none */
    const char *context_of;                             /* with context_hash: the task that the files are of */
    bool no_pause;
    const char *passphrase;  /* of the private key of a shell; may be NULL */
    bool preview;            /* only makes the configuration */
    const char **ret_config; /* NULL: the reply has no configuration */
    enum wire_launch_warning **ret_warnings;
    size_t *ret_warnings_n;
    const char ***ret_config_warnings;
    size_t *ret_config_warnings_n;
    /* Puts the new task into the reply. */
    void (*show)(struct req *r, const struct store_launched_task *t);

    /* the members from here on belong to launch_task.c */
    struct taskconf *made;
    struct strbuf archive;
    struct core_task_spec spec;
    struct store_launched_task row;
    const char *job_id;
    bool exceeds_slots;
};

/* Goes on with a request, from a step on a reader. *l is copied. */
int launch_task(struct req *r, struct store *db, const struct launch *l, struct error *err);

#endif
