#include "cli/connection/api.h"
#include "cli/terminal/output.h"

int cmd_version(struct cli *cli, const struct args_version *args, struct error *err)
{
    cleanup_json struct json_object *v = json_object_new_object();
    struct json_object *client = json_object_new_object();
    json_object_object_add(client, "version", json_object_new_string(DET_VERSION));
    json_object_object_add(v, "client", client);
    json_object_object_add(v, "master", api_info(cli));
    json_object_object_add(v, "master_address", json_object_new_string(cli->master));
    if (args->json)
        output_json(cli, v);
    else
        output_yaml(cli, v, true);
    return 0;
}
