#include "cli/cmd/show.h"
#include "cli/terminal/output.h"

/* A terminal shows the searcher's metric beside the state. Otherwise it is shown on request, after the columns that
 * scripts know. */
struct trials_form {
    struct searched_metric searched;
    bool metric_early, metric_late;
};

static void add_columns(struct table *t, const struct trials_form *form)
{
    table_columns(t, (const char *const[]){"Trial ID", "State", NULL});
    if (form->metric_early)
        table_column(t, form->searched.name);
    table_columns(t, (const char *const[]){"H-Params", "Started", "Ended", "# of Batches", NULL});
    if (form->metric_late)
        table_column(t, arena_printf(&t->arena, "Searcher Metric (%s)", form->searched.name));
}

static void add_row(struct table *t, const struct wire_trial *trial, const struct trials_form *form)
{
    const struct wire_common_metrics *best = trial->best_validation ? trial->best_validation->metrics : NULL;
    const char *metric = form->metric_early || form->metric_late ? metric_text(&t->arena, best, form->searched.name)
                                                                 : NULL;
    table_int(t, trial->id);
    table_text(t, state_text(&wire_enum_trial_state, (int32_t)trial->state));
    if (form->metric_early)
        table_text(t, metric);
    table_object(t, trial->hparams);
    table_time(t, trial->has_start_time, trial->start_time);
    table_time(t, trial->has_end_time, trial->end_time);
    table_int(t, trial->total_batches_processed);
    if (form->metric_late)
        table_text(t, metric);
}

/* Sorts the best trials first; trials that have reported no metric come last. */
static void best_first(struct wire_get_experiment_trials_request *in, const struct searched_metric *m, int64_t n)
{
    in->sort_by = WIRE_GET_EXPERIMENT_TRIALS_REQUEST_SORT_BY_BEST_VALIDATION_METRIC;
    in->order_by = m->smaller_is_better ? WIRE_ORDER_BY_ASC : WIRE_ORDER_BY_DESC;
    in->limit = (int32_t)n;
}

static int print_table(struct cli *cli, struct wire_get_experiment_trials_request *in, const struct trials_form *form,
                       const char *pages, bool csv, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    add_columns(&t, form);
    for (;;) {
        struct wire_get_experiment_trials_response out;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, in, &out, err) < 0)
            return -1;
        for (size_t i = 0; i < out.trials_n; i++)
            add_row(&t, &out.trials[i], form);
        if (is_last_page(out.pagination, pages) || out.trials_n == 0)
            break;
        in->offset = out.pagination->end_index;
    }
    table_show(cli, &t, csv);
    return 0;
}

int cmd_experiment_list_trials(struct cli *cli, const struct args_experiment_list_trials *args, struct error *err)
{
    enum { PAGE = 200 };
    struct wire_get_experiment_trials_request in = {.experiment_id = (int32_t)args->experiment_id,
                                                    .limit = args->has_limit ? (int32_t)args->limit : PAGE,
                                                    .offset = (int32_t)args->offset};
    const char *pages = pages_of(args->pages, args->has_limit || args->has_best);
    bool terminal = cli->out_width > 0 && !args->csv;
    struct trials_form form = {0};
    if ((args->metric || args->has_best || terminal) &&
        searched_metric_fetch(cli, in.experiment_id, &form.searched, err) < 0)
        return -1;
    if (args->has_best)
        best_first(&in, &form.searched, args->best);
    if (args->json) {
        cleanup_json struct json_object *list = NULL;
        if (documents_fetch(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &in, &in.offset, "trials", pages, &list, err) < 0)
            return -1;
        output_json(cli, list);
        return 0;
    }
    form.metric_early = terminal && form.searched.name && *form.searched.name;
    form.metric_late = !terminal && (args->metric || args->has_best);
    return print_table(cli, &in, &form, pages, args->csv, err);
}
