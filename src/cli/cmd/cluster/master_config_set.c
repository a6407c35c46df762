#include <string.h>

#include "cli/connection/api.h"

int cmd_master_config_set(struct cli *cli, const struct args_master_config_set *args, struct error *err)
{
    const char *path[2];
    struct wire_wkt_field_mask mask = {.paths = path};
    struct wire_master_log_config log = {0};
    struct wire_master_config config = {.log = &log};
    struct wire_patch_master_config_request in = {.config = &config, .field_mask = &mask};
    int32_t level = 0;
    if (args->log_color) {
        log.color = strcmp(args->log_color, "on") == 0;
        path[mask.paths_n++] = "log.color";
    }
    if (args->log_level) {
        const char *name = arena_printf(&cli->arena, "LOG_LEVEL_%s", args->log_level);
        if (codec_enum_number(&wire_enum_log_level, name, &level) < 0)
            return error_set(err, ERR_INTERNAL, "%s is no level of the contract", name);
        log.level = (enum wire_log_level)level;
        path[mask.paths_n++] = "log.level";
    }
    if (mask.paths_n == 0)
        return error_set(err, ERR_USAGE,
                         "Please provide at least one argument to set master config. Currently, the "
                         "supported fields are --log.level and --log.color.");
    if (api_call(cli, ROUTE_ID_PATCH_MASTER_CONFIG, &in, NULL, err) < 0)
        return -1;
    cli_say(cli, CLI_YELLOW, "The change holds until the master starts again: its configuration file stays as it is.");
    fputs("Successfully made changes to the master config.\n", cli->out);
    return 0;
}
