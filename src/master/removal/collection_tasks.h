/* Tasks that remove the files of checkpoints where only agents reach them: determined.exec.gc_checkpoints with the
 * rights, the image and the environment of the experiment's owner. Such a task removes what is marked for it in the
 * store (store/experiments/removals.h), and reports by PATCH /checkpoints what is left of each checkpoint. The
 * functions are for the loop, but for the last one. */
#ifndef DET_MASTER_REMOVAL_COLLECTION_TASKS_H
#define DET_MASTER_REMOVAL_COLLECTION_TASKS_H

#include "core/core.h"
#include "gen/wire.h"
#include "store/experiments/removals.h"

struct master;

/* Asks the core for a task and claims the group's marks for the task, in one transaction. `done` is called after the
 * transaction. */
int collection_task_start(struct master *m, const struct store_removal_group *g,
                          void (*done)(void *ctx, const struct error *err), void *ctx, struct error *err);

/* Fills in the task's command and files. To be called on the writer's thread. t->files must have room for three more
 * files. */
int collection_task_fill(struct store *db, const char *task_id, int32_t experiment_id, const char *experiment_config,
                         struct wire_link_start_task *t, struct arena *a, struct error *err);

#endif
