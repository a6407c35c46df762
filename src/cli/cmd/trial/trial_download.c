#include <inttypes.h>

#include "cli/cmd/checkpoint.h"

static bool can_download(const struct wire_checkpoint *c)
{
    return c->state == WIRE_CHECKPOINT_STATE_COMPLETED || c->state == WIRE_CHECKPOINT_STATE_PARTIALLY_DELETED;
}

/* Chooses the first checkpoint of a list that is sorted as asked for: the latest, or the best by the searcher's
 * metric or a named one. */
static int choose_checkpoint(struct cli *cli, const struct args_trial_download *args,
                             const struct wire_checkpoint **ret, struct error *err)
{
    struct wire_get_trial_checkpoints_request in = {.id = (int32_t)args->trial_id, .order_by = WIRE_ORDER_BY_DESC};
    struct wire_get_trial_checkpoints_response out;
    in.sort_by_attr = args->latest ? WIRE_CHECKPOINT_SORT_BY_BATCH_NUMBER : WIRE_CHECKPOINT_SORT_BY_SEARCHER_METRIC;
    in.has_sort_by_attr = !args->sort_by;
    in.sort_by_metric = args->sort_by;
    if (args->best) /* the master knows whether smaller is better: ascending order puts the best first */
        in.order_by = args->sort_by && !args->smaller_is_better ? WIRE_ORDER_BY_DESC : WIRE_ORDER_BY_ASC;
    if (api_call(cli, ROUTE_ID_GET_TRIAL_CHECKPOINTS, &in, &out, err) < 0)
        return -1;
    if (out.checkpoints_n == 0)
        return error_set(err, ERR_NOT_FOUND, "No checkpoints found for trial %" PRId64, args->trial_id);
    for (size_t i = 0; i < out.checkpoints_n; i++) {
        if (can_download(&out.checkpoints[i])) {
            *ret = &out.checkpoints[i];
            return 0;
        }
    }
    return error_set(err, ERR_PRECONDITION, "Download failed: no checkpoint of trial %" PRId64 " is complete",
                     args->trial_id);
}

int cmd_trial_download(struct cli *cli, const struct args_trial_download *args, struct error *err)
{
    const struct wire_checkpoint *c;
    struct checkpoint_download how = {.output_dir = args->output_dir, .mode = "auto", .quiet = args->quiet};
    if (args->sort_by && !args->best)
        return error_set(err, ERR_INVALID, "--sort-by and --smaller-is-better flags can only be used with --best");
    if (!args->sort_by != !args->has_smaller_is_better)
        return error_set(err, ERR_INVALID, "--sort-by and --smaller-is-better must be set together");
    if ((args->uuid ? checkpoint_fetch(cli, args->uuid, &c, err) : choose_checkpoint(cli, args, &c, err)) < 0)
        return -1;
    return checkpoint_download(cli, c, &how, err);
}
