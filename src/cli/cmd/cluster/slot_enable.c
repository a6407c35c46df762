#include <inttypes.h>

#include "cli/connection/api.h"

int cmd_slot_enable(struct cli *cli, const struct args_slot_enable *args, struct error *err)
{
    const char *slot = arena_printf(&cli->arena, "%" PRId64, args->slot_id);
    struct wire_enable_slot_request in = {.agent_id = args->agent_id, .slot_id = slot};
    if (api_call(cli, ROUTE_ID_ENABLE_SLOT, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Enabled slot %s of agent %s\n", slot, args->agent_id);
    return 0;
}

int cmd_slot_disable(struct cli *cli, const struct args_slot_disable *args, struct error *err)
{
    const char *slot = arena_printf(&cli->arena, "%" PRId64, args->slot_id);
    struct wire_disable_slot_request in = {.agent_id = args->agent_id, .slot_id = slot};
    if (api_call(cli, ROUTE_ID_DISABLE_SLOT, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Disabled slot %s of agent %s\n", slot, args->agent_id);
    return 0;
}
