/* What the commands about workspaces and projects share. */
#ifndef DET_CLI_CMD_WORKSPACE_H
#define DET_CLI_CMD_WORKSPACE_H

#include "cli/api.h"

/* The workspace of that name, by its whole name. */
int workspace_by_name(struct cli *cli, const char *name, int32_t *ret_id, struct error *err);

#endif
