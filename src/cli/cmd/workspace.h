/* What the commands about workspaces and projects share. */
#ifndef DET_CLI_CMD_WORKSPACE_H
#define DET_CLI_CMD_WORKSPACE_H

#include "cli/connection/api.h"
#include "cli/terminal/table.h"

/* By the whole name. */
int workspace_by_name(struct cli *cli, const char *name, int32_t *ret_id, struct error *err);
int project_by_name(struct cli *cli, const char *workspace, const char *name, const struct wire_project **ret,
                    struct error *err);

void workspace_columns(struct table *t);
void workspace_row(struct table *t, const struct wire_workspace *w);
void workspace_table(struct table *t, const struct wire_workspace *w); /* of one alone, with its storage */
void project_columns(struct table *t);
void project_row(struct table *t, const struct wire_project *p);

struct project_list_form {
    const char *sort_by, *order_by;
    int64_t limit, offset;
    bool has_offset, json;
};
int project_list(struct cli *cli, const char *workspace, const struct project_list_form *form, struct error *err);

#endif
