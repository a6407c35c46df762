/* The account on agents that a task runs as, and whether it may store checkpoints where its configuration says. */
#ifndef DET_API_TASK_ACCOUNT_H
#define DET_API_TASK_ACCOUNT_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "store/functions.h"
#include "store/accounts/workspaces.h"

struct json_object;

/* docs/spec/task-environment.md#account: each part of it is what the workspace sets, else what the owner is linked to, else
 * `otherwise`, which is whole. */
struct store_agent_user_group task_account_of(const struct store_agent_user_group *link, const struct store_workspace_agent *place,
                                              const struct store_agent_user_group *otherwise);

/* ERR_INVALID, in a sentence that names account, directory and way out, if tasks of this account can't store checkpoints in
 * `storage` (a checkpoint_storage) as the master's machine shows it. 0 if they can, or if it can't be known here: the storage is no
 * directory of this machine, the account is not whole or root's (which agents give a uid of their own), or common/system/path_access.h does
 * not know. Waits for disks. */
int task_account_check_storage(struct json_object *storage, const struct store_workspace_agent *who, struct arena *a, struct error *err);

#endif
