#include <inttypes.h>
#include <stdlib.h>

#include "cli/connection/api.h"

int cmd_task_cleanup_logs(struct cli *cli, struct error *err)
{
    struct wire_cleanup_logs_response out;
    if (api_call(cli, ROUTE_ID_CLEANUP_LOGS, &(struct wire_cleanup_logs_request){0}, &out, err) < 0)
        return -1;
    fprintf(cli->out, "Deleted %" PRId64 " rows of log entries.\n", out.removed_count);
    return 0;
}
