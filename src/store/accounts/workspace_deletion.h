/* The deletion of a workspace, or of one project, with everything in it.
 *
 * One transaction marks the workspace or the project, and all experiments in it, as DELETING. The experiments are then
 * deleted one by one (master/removal/deletions.c), and the workspace or the project is deleted with the last of them.
 * If an experiment cannot be deleted, or the master ends meanwhile, the workspace or the project becomes DELETE_FAILED
 * with the reason; then a user may ask for its deletion again. store_workspace_deletions_fail() and
 * store_workspace_deletions_fail_all() are made from queries/workspaces.sql. */
#ifndef DET_STORE_ACCOUNTS_WORKSPACE_DELETION_H
#define DET_STORE_ACCOUNTS_WORKSPACE_DELETION_H

#include "store/functions.h"

struct store_workspace_deletion {
    int32_t project_id, workspace_id;
}; /* one of the two ids is set, the other is 0 */

/* What forbids the deletion: the experiments and the launched tasks that are not over; the experiments, projects and
 * templates of other users; and models, which are never deleted with their workspace. */
struct store_workspace_deletion_check {
    int64_t live, tasks, of_others, models;
};
int store_workspace_deletion_check(struct store *st, struct store_workspace_deletion d, int32_t user_id,
                                   struct store_workspace_deletion_check *ret, struct error *err);
/* Marks the workspace or the project, and its experiments. *ret receives the experiments that the caller now has to
 * delete. If there are none, the workspace or the project is deleted at once. */
int store_workspace_deletion_start(struct store *st, struct store_workspace_deletion d, struct arena *a,
                                   struct store_ints *ret, struct error *err);
/* Deletes every workspace and project that is DELETING and empty. It is called after an experiment was deleted. */
int store_workspace_deletions_finish(struct store *st, struct error *err);

#endif
