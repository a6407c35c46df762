#include "cli/cmd/show.h"
#include "cli/output.h"

int cmd_experiment_list_trials(struct cli *cli, const struct args_experiment_list_trials *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_experiment_trials_request in = {.experiment_id = (int32_t)args->experiment_id,
                                                    .limit = (int32_t)args->limit,
                                                    .offset = (int32_t)args->offset};
    if (args->json) {
        cleanup_json struct json_object *list = NULL;
        if (documents_fetch(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &in, &in.offset, "trials", args->pages, &list, err) <
            0)
            return -1;
        output_json(cli, list);
        return 0;
    }
    table_columns(&t, (const char *const[]){"Trial ID", "State", "H-Params", "Started", "Ended", "# of Batches", NULL});
    for (;;) {
        struct wire_get_experiment_trials_response out;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &in, &out, err) < 0)
            return -1;
        for (size_t i = 0; i < out.trials_n; i++) {
            const struct wire_trial *trial = &out.trials[i];
            table_int(&t, trial->id);
            table_text(&t, state_text(&wire_enum_trial_state, (int32_t)trial->state));
            table_text(&t, output_dumps_raw(&t.arena, trial->hparams));
            table_time(&t, trial->has_start_time, trial->start_time);
            table_time(&t, trial->has_end_time, trial->end_time);
            table_int(&t, trial->total_batches_processed);
        }
        if (is_last_page(out.pagination, args->pages) || out.trials_n == 0)
            break;
        in.offset = out.pagination->end_index;
    }
    table_print(&t, args->csv, cli->out);
    return 0;
}
