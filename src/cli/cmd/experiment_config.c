#include "cli/api.h"
#include "cli/output.h"

int cmd_experiment_config(struct cli *cli, const struct args_experiment_config *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *experiment;
    struct wire_get_experiment_request in = {.experiment_id = (int32_t)args->experiment_id};
    if (api_call_document(cli, ROUTE_ID_GET_EXPERIMENT, &in, &v, err) < 0)
        return -1;
    if (json_object_object_get_ex(v, "experiment", &experiment))
        output_yaml(cli, json_object_object_get(experiment, "config"), false);
    return 0;
}
