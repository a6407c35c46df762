#include "cli/cmd/trial/environment.h"
#include "cli/cmd/trial/trial_show.h"
#include "cli/terminal/output.h"

/* The metrics as JSON with the API's fields: averages and batches. */
static const char *metrics_text(struct arena *a, const struct wire_common_metrics *m)
{
    struct strbuf text = STRBUF_INIT;
    if (!m)
        return "null";
    codec_encode(&wire_msg_common_metrics, m, &text);
    const char *ret = output_dumps_raw(a, strbuf_str(&text));
    strbuf_release(&text);
    return ret;
}

static void checkpoint_cells(struct table *t, const struct wire_trial_checkpoint_workload *c)
{
    bool there = c && (c->state == WIRE_CHECKPOINT_STATE_COMPLETED || c->state == WIRE_CHECKPOINT_STATE_DELETED ||
                       c->state == WIRE_CHECKPOINT_STATE_PARTIALLY_DELETED);
    table_text(t, c ? state_text(&wire_enum_checkpoint_state, (int32_t)c->state) : NULL);
    table_text(t, there ? c->uuid : NULL);
    table_text(t, c ? output_dumps_raw(&t->arena, c->metadata) : NULL);
}

static void workload_row(struct table *t, const struct wire_workload_container *w, bool metrics)
{
    const struct wire_trial_metrics_workload *m = w->training ? w->training : w->validation;
    if (!m && !w->checkpoint)
        return;
    table_int(t, m ? m->total_batches : w->checkpoint->total_batches);
    table_time(t, m ? m->has_end_time : w->checkpoint->has_end_time, m ? m->end_time : w->checkpoint->end_time);
    checkpoint_cells(t, w->checkpoint);
    table_text(t, w->validation ? metrics_text(&t->arena, w->validation->metrics) : NULL);
    if (metrics)
        table_text(t, w->training ? metrics_text(&t->arena, w->training->metrics) : NULL);
}

static int add_environments(struct cli *cli, int32_t trial_id, struct json_object *to, struct error *err)
{
    struct wire_get_trial_environments_request in = {.trial_id = trial_id};
    cleanup_json struct json_object *v = NULL;
    struct json_object *list;
    if (api_call_document(cli, ROUTE_ID_GET_TRIAL_ENVIRONMENTS, &in, &v, err) < 0)
        return -1;
    if (json_object_object_get_ex(v, "environments", &list))
        json_object_object_add(to, "environments", json_object_get(list));
    return 0;
}

static int print_document(struct cli *cli, const struct args_trial_describe *args,
                          const struct wire_get_trial_request *in, struct wire_get_trial_workloads_request *workloads,
                          struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *list;
    const char *pages = pages_of(args->pages, args->has_limit);
    if (api_call_document(cli, ROUTE_ID_GET_TRIAL, in, &v, err) < 0 ||
        documents_fetch(cli, ROUTE_ID_GET_TRIAL_WORKLOADS, workloads, &workloads->offset, "workloads", pages, &list,
                        err) < 0)
        return -1;
    json_object_object_add(v, "workloads", list);
    if (args->environment && add_environments(cli, in->trial_id, v, err) < 0)
        return -1;
    output_json(cli, v);
    return 0;
}

static void print_trial(struct cli *cli, const struct wire_trial *trial, bool csv)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"Experiment ID", "State", "H-Params", "Summary Metrics", "Started", "Ended",
                                            NULL});
    table_int(&t, trial->experiment_id);
    table_text(&t, state_text(&wire_enum_trial_state, (int32_t)trial->state));
    table_text(&t, output_dumps_raw(&t.arena, trial->hparams));
    table_text(&t, output_dumps_raw(&t.arena, trial->summary_metrics));
    table_time(&t, trial->has_start_time, trial->start_time);
    table_time(&t, trial->has_end_time, trial->end_time);
    table_print(&t, csv, cli->out);
}

static bool is_for_people(const struct cli *cli, const struct args_trial_describe *args)
{
    return cli->out_width > 0 && !args->csv;
}

static int print_workloads(struct cli *cli, const struct args_trial_describe *args,
                           struct wire_get_trial_workloads_request *in, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct trial_steps steps = {0};
    bool terminal = is_for_people(cli, args);
    table_columns(&t, (const char *const[]){"# of Batches", "Report Time", "Checkpoint", "Checkpoint UUID",
                                            "Checkpoint Metadata", "Validation Metrics", NULL});
    if (args->metrics)
        table_column(&t, "Workload Metrics");
    for (;;) {
        struct wire_get_trial_workloads_response out;
        if (api_call(cli, ROUTE_ID_GET_TRIAL_WORKLOADS, in, &out, err) < 0)
            return -1;
        for (size_t i = 0; i < out.workloads_n; i++) {
            if (terminal)
                trial_steps_add(&steps, &t.arena, &out.workloads[i]);
            else
                workload_row(&t, &out.workloads[i], args->metrics);
        }
        if (is_last_page(out.pagination, pages_of(args->pages, args->has_limit)) || out.workloads_n == 0)
            break;
        in->offset = out.pagination->end_index;
    }
    if (terminal) {
        trial_steps_show(cli, &steps);
        return 0;
    }
    fputs("\nWorkloads:\n", cli->out);
    table_print(&t, args->csv, cli->out);
    return 0;
}

/* Prints the environment to standard output if it was asked for, otherwise one line to standard error, because
 * scripts read the tables. */
static int tell_environment(struct cli *cli, const struct args_trial_describe *args, struct error *err)
{
    struct wire_get_trial_environments_response e;
    if (args->csv && !args->environment)
        return 0;
    if (environments_fetch(cli, (int32_t)args->trial_id, &e, err) < 0)
        return -1;
    const char *summary = environments_summary(&cli->arena, &e);
    if (args->environment)
        environments_print(cli, &e, args->csv);
    else if (summary && is_for_people(cli, args))
        cli_say(cli, CLI_PLAIN, "\nThe last run was of %s.\n'det trial describe %d --environment' shows more.", summary,
                (int)args->trial_id);
    else if (summary)
        cli_say(cli, CLI_PLAIN, "\nThe last run was of %s; --environment shows more.", summary);
    return 0;
}

int cmd_trial_describe(struct cli *cli, const struct args_trial_describe *args, struct error *err)
{
    enum { PAGE = 1000 };
    struct wire_get_trial_request in = {.trial_id = (int32_t)args->trial_id};
    struct wire_get_trial_response out;
    struct wire_get_trial_workloads_request workloads = {.trial_id = (int32_t)args->trial_id,
                                                         .limit = args->has_limit ? (int32_t)args->limit : PAGE,
                                                         .offset = (int32_t)args->offset,
                                                         .include_batch_metrics = args->metrics};
    if (args->json)
        return print_document(cli, args, &in, &workloads, err);
    if (api_call(cli, ROUTE_ID_GET_TRIAL, &in, &out, err) < 0)
        return -1;
    if (!is_for_people(cli, args))
        print_trial(cli, out.trial, args->csv);
    else if (trial_show(cli, out.trial, err) < 0)
        return -1;
    if (print_workloads(cli, args, &workloads, err) < 0)
        return -1;
    if (args->metrics_summary) {
        cleanup_json struct json_object *v = NULL;
        const char *text = out.trial->summary_metrics ? out.trial->summary_metrics : "null";
        if (json_parse(text, strlen(text), &v, err) < 0)
            return -1;
        output_json(cli, v);
    }
    return tell_environment(cli, args, err);
}
