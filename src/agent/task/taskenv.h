/* The environment of a task, in the order of docs/spec/task-environment.md#order-of-the-environment. */
#ifndef DET_AGENT_TASK_TASKENV_H
#define DET_AGENT_TASK_TASKENV_H

#include "agent/config.h"
#include "agent/machine/account.h"
#include "agent/machine/slots.h"
#include "agent/python/python_order.h"
#include "common/base/arena.h"
#include "common/base/word_list.h"
#include "gen/wire.h"

#define TASKENV_RUN_DIR "/run/determined"             /* where programs expect a task's files … */
#define TASKENV_SHARED_FS_DIR "/determined_shared_fs" /* … and a checkpoint storage of type shared_fs */

struct taskenv {
    struct word_list list; /* "NAME=value" */
};

/* What the agent knows beyond the master's message. */
struct taskenv_facts {
    const struct agent_config *config;
    const struct account *account;
    const struct slots *slots;
    const char *master_id, *cluster_id;
    char *const *image_env; /* variables of the task's image, NULL-terminated; NULL: the task has no image */
    const char *library;    /* directory of our library, as the task sees it; "" if there is none */
    const char *run_dir;    /* the directory that the task sees as /run/determined */
    const char *work_dir;
    const struct python_place *python; /* the Python that the order asks for; NULL: the agent's */
    const char *python_shims;          /* "" or a directory in which `python3` is that Python */
};

void taskenv_build(struct taskenv *e, const struct wire_link_start_task *t, const struct taskenv_facts *f,
                   char *const *machine, struct arena *a);
/* Sets `file_variable` in place of `name`, whose value lies in that file. */
void taskenv_replace(struct taskenv *e, const char *name, const char *file_variable, const char *file);
void taskenv_set(struct taskenv *e, const char *name, const char *value);
const char *taskenv_get(const struct taskenv *e, const char *name); /* NULL if unset */

/* A path at or below TASKENV_RUN_DIR becomes the path at which the file really lies; others stay as they are. */
const char *taskenv_map_path(const char *path, const char *run_dir, struct arena *a);

#endif
