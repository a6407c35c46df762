/* The account on agents that a task runs as, and whether it may store checkpoints where its configuration says. */
#ifndef DET_API_CHECKPOINTS_TASK_ACCOUNT_H
#define DET_API_CHECKPOINTS_TASK_ACCOUNT_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "store/accounts/workspaces.h"
#include "store/functions.h"

struct json_object;

/* The account by docs/spec/task-environment.md#account: each part of it is what the workspace sets, else that of the
 * account that the owner is linked to, else that of `otherwise`, which has all parts. */
struct store_agent_user_group task_account_of(const struct store_agent_user_group *link,
                                              const struct store_workspace_agent *place,
                                              const struct store_agent_user_group *otherwise);

/* ERR_INVALID if tasks of this account can't store checkpoints in `storage` (a checkpoint_storage) as far as the
 * master's machine shows; the error names the account, the directory and what to do. 0 if they can, or if that can't be
 * known here: because the storage is not a directory of this machine, because a part of the account is missing, because
 * it is root's (agents give such tasks a uid of their own), or because common/system/path_access.h does not know. May
 * wait for disks. */
int task_account_check_storage(struct json_object *storage, const struct store_workspace_agent *who, struct arena *a,
                               struct error *err);

#endif
