#include <string.h>

#include "cli/cli.h"
#include "cli/terminal/output.h"
#include "gen/config_tables.h"

int cmd_experiment_config_schema(struct cli *cli, const struct args_experiment_config_schema *args, struct error *err)
{
    cleanup_json struct json_object *schema = NULL;
    (void)args;
    if (!cli->format) {
        fputs(experiment_config_schema, cli->out);
        return 0;
    }
    if (json_parse(experiment_config_schema, strlen(experiment_config_schema), &schema, err) < 0)
        return -1;
    output_json(cli, schema);
    return 0;
}
