#include "cli/connection/api.h"
#include "cli/terminal/output.h"

static void print_config(struct cli *cli, struct json_object *config, bool json)
{
    if (json)
        output_json(cli, config);
    else
        output_yaml(cli, config, false);
}

int cmd_experiment_config(struct cli *cli, const struct args_experiment_config *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *experiment;
    struct wire_get_experiment_request in = {.experiment_id = (int32_t)args->experiment_id};
    if (api_call_document(cli, ROUTE_ID_GET_EXPERIMENT, &in, &v, err) < 0)
        return -1;
    if (json_object_object_get_ex(v, "experiment", &experiment))
        print_config(cli, json_object_object_get(experiment, "config"), args->json);
    return 0;
}
