#include "cli/cmd/experiment.h"
#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"

/* Lists the user's experiments that are not archived, or all. */
static int list_experiments(struct cli *cli, int32_t project_id, bool all, struct wire_get_experiments_request *in,
                            const struct experiment_list_form *form, struct error *err)
{
    const char *me;
    if (api_username(cli, &me, err) < 0)
        return -1;
    in->project_id = project_id;
    in->has_archived = !all;
    in->users = &me;
    in->users_n = all ? 0 : 1;
    return experiment_list(cli, in, form, err);
}

int cmd_project_describe(struct cli *cli, const struct args_project_describe *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    const struct wire_project *p;
    struct wire_get_experiments_request in = {.limit = 200, .sort_by = WIRE_GET_EXPERIMENTS_REQUEST_SORT_BY_ID};
    if (project_by_name(cli, args->workspace_name, args->project_name, &p, err) < 0)
        return -1;
    if (cli->format)
        return document_show(cli, ROUTE_ID_GET_PROJECT, &(struct wire_get_project_request){.id = p->id}, "project",
                             err);
    project_columns(&t);
    project_row(&t, p);
    table_show_record(cli, &t, false);
    fputs("\nAssociated Experiments\n", cli->out);
    return list_experiments(cli, p->id, args->all, &in,
                            &(struct experiment_list_form){.archived = args->all, .pages = "all"}, err);
}

int cmd_project_list_experiments(struct cli *cli, const struct args_project_list_experiments *args, struct error *err)
{
    const struct wire_project *p;
    struct wire_get_experiments_request in = {.limit = (int32_t)args->limit, .offset = (int32_t)args->offset};
    struct experiment_list_form form = {.archived = args->all,
                                        .json = args->json,
                                        .pages = args->has_offset ? "1" : "all"};
    in.order_by = strcmp(args->order_by, "desc") == 0 ? WIRE_ORDER_BY_DESC : WIRE_ORDER_BY_ASC;
    in.sort_by = strcmp(args->sort_by, "name") == 0 ? WIRE_GET_EXPERIMENTS_REQUEST_SORT_BY_NAME
                                                    : WIRE_GET_EXPERIMENTS_REQUEST_SORT_BY_ID;
    if (project_by_name(cli, args->workspace_name, args->project_name, &p, err) < 0)
        return -1;
    return list_experiments(cli, p->id, args->all, &in, &form, err);
}
