#include "cli/cli.h"
#include "gen/config_tables.h"

int cmd_experiment_config_schema(struct cli *cli, struct error *err)
{
    fputs(experiment_config_schema, cli->out);
    return 0;
}
