#include "cli/connection/api.h"
#include "cli/terminal/output.h"

static int print_document(struct cli *cli, struct json_object *v, bool json)
{
    if (json)
        output_json(cli, v);
    else
        output_yaml(cli, v, true);
    return 0;
}

int cmd_master_info(struct cli *cli, const struct args_master_info *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    if (api_call_document(cli, ROUTE_ID_GET_MASTER, NULL, &v, err) < 0)
        return -1;
    return print_document(cli, v, args->json);
}

int cmd_master_config_show(struct cli *cli, const struct args_master_config_show *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    if (api_call_document(cli, ROUTE_ID_GET_MASTER_CONFIG, NULL, &v, err) < 0)
        return -1;
    return print_document(cli, json_object_object_get(v, "config"), args->json);
}
