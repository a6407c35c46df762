/* The message that all users of the cluster see: show, set, clear. */
#include <string.h>

#include "cli/cmd/show.h"
#include "cli/connection/api.h"
#include "cli/terminal/output.h"
#include "common/base/clock.h"

int cmd_master_cluster_message_get(struct cli *cli, const struct args_master_cluster_message_get *args,
                                   struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    (void)args;
    if (api_call_document(cli, ROUTE_ID_GET_CLUSTER_MESSAGE, NULL, &v, err) < 0)
        return -1;
    output_yaml(cli, v, true);
    return 0;
}

int cmd_master_cluster_message_set(struct cli *cli, const struct args_master_cluster_message_set *args,
                                   struct error *err)
{
    struct wire_set_cluster_message_request in = {.message = args->message, .duration = args->duration};
    if (option_time("--start", args->start, &in.start_time, &in.has_start_time, err) < 0 ||
        option_time("--end", args->end, &in.end_time, &in.has_end_time, err) < 0)
        return -1;
    if (!in.has_start_time)
        in.start_time = clock_now_us();
    in.has_start_time = true;
    return api_call(cli, ROUTE_ID_SET_CLUSTER_MESSAGE, &in, NULL, err);
}

int cmd_master_cluster_message_clear(struct cli *cli, const struct args_master_cluster_message_clear *args,
                                     struct error *err)
{
    (void)args; /* --clear says the same as the command */
    return api_call(cli, ROUTE_ID_DELETE_CLUSTER_MESSAGE, NULL, NULL, err);
}
