#include <inttypes.h>

#include "cli/cmd/checkpoint.h"

/* The best checkpoints come first: by the searcher's metric, or by the metric that was named. */
int cmd_experiment_download(struct cli *cli, const struct args_experiment_download *args, struct error *err)
{
    enum wire_checkpoint_state state = WIRE_CHECKPOINT_STATE_COMPLETED;
    struct wire_get_experiment_checkpoints_request in = {.id = (int32_t)args->experiment_id,
                                                         .limit = (int32_t)args->top_n,
                                                         .states = &state,
                                                         .states_n = 1,
                                                         .sort_by_attr = WIRE_CHECKPOINT_SORT_BY_SEARCHER_METRIC};
    struct wire_get_experiment_checkpoints_response out;
    if (!args->sort_by != !args->has_smaller_is_better)
        return error_set(err, ERR_INVALID, "--sort-by and --smaller-is-better must be set together");
    if (args->top_n < 1)
        return error_set(err, ERR_INVALID, "--top-n must be at least 1, found %" PRId64, args->top_n);
    in.has_sort_by_attr = !args->sort_by;
    in.sort_by_metric = args->sort_by;
    if (args->sort_by)
        in.order_by = args->smaller_is_better ? WIRE_ORDER_BY_ASC : WIRE_ORDER_BY_DESC;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_CHECKPOINTS, &in, &out, err) < 0)
        return -1;
    if (out.checkpoints_n == 0)
        return error_set(err, ERR_NOT_FOUND, "No checkpoints found for experiment %" PRId64, args->experiment_id);
    for (size_t i = 0; i < out.checkpoints_n; i++) {
        const struct wire_checkpoint *c = &out.checkpoints[i];
        struct checkpoint_download how = {.output_dir = arena_printf(&cli->arena, "%s/%s", args->output_dir, c->uuid),
                                          .mode = "auto",
                                          .quiet = args->quiet};
        if (checkpoint_download(cli, c, &how, err) < 0)
            return -1;
    }
    return 0;
}
