/* Models: create, move, delete. */
#include "cli/cmd/model/model.h"

int cmd_model_create(struct cli *cli, const struct args_model_create *args, struct error *err)
{
    struct wire_post_model_request in = {.name = args->name,
                                         .description = args->description,
                                         .workspace_name = args->workspace_name};
    struct wire_post_model_response out;
    if (api_call(cli, ROUTE_ID_POST_MODEL, &in, &out, err) < 0)
        return -1;
    model_show(cli, out.model);
    return 0;
}

int cmd_model_move(struct cli *cli, const struct args_model_move *args, struct error *err)
{
    struct wire_model_patch_model patch = {.workspace_name = args->workspace_name};
    struct wire_patch_model_request in = {.model_name = args->name, .model = &patch};
    return api_call(cli, ROUTE_ID_PATCH_MODEL, &in, NULL, err);
}

int cmd_model_delete(struct cli *cli, const struct args_model_delete *args, struct error *err)
{
    struct wire_delete_model_request in = {.model_name = args->name};
    return api_call(cli, ROUTE_ID_DELETE_MODEL, &in, NULL, err);
}
