#include <stdlib.h>

#include "cli/cmd/checkpoint.h"
#include "cli/cmd/show.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "gen/experiment_config.h"

static struct json_object *parse_config(const char *json)
{
    struct json_object *v = NULL;
    if (json)
        json_parse(json, strlen(json), &v, NULL);
    return v;
}

static const char *scalar_text(struct arena *a, struct json_object *v)
{
    return !v                                         ? NULL
           : json_object_is_type(v, json_type_string) ? arena_strdup(a, json_object_get_string(v))
                                                      : output_dumps(a, v);
}

/* searcher.metric in the configuration of the first checkpoint's experiment */
static const char *searcher_metric(struct arena *a, const struct wire_checkpoint *c)
{
    cleanup_json struct json_object *config = parse_config(c->training ? c->training->experiment_config : NULL);
    struct json_object *section;
    struct exp_searcher searcher;
    if (!json_object_is_type(config, json_type_object) || !json_object_object_get_ex(config, "searcher", &section))
        return "";
    exp_searcher_read(section, a, &searcher);
    return searcher.metric ? arena_strdup(a, searcher.metric) : "";
}

static const char *metric_value(struct arena *a, const struct wire_checkpoint *c, const char *metric)
{
    const struct wire_common_metrics *m = c->training ? c->training->validation_metrics : NULL;
    cleanup_json struct json_object *averages = parse_config(m ? m->avg_metrics : NULL);
    struct json_object *v;
    if (!json_object_is_type(averages, json_type_object) || !json_object_object_get_ex(averages, metric, &v))
        return "";
    return scalar_text(a, v);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct wire_map_int64 *)a)->key, ((const struct wire_map_int64 *)b)->key);
}

static void resource_cells(struct table *t, const struct wire_checkpoint *c)
{
    struct strbuf names = STRBUF_INIT;
    double total = 0;
    if (c->resources_n)
        qsort(c->resources, c->resources_n, sizeof(*c->resources), compare_keys);
    for (size_t i = 0; i < c->resources_n; i++) {
        strbuf_addf(&names, "%s%s", i ? "\n" : "", c->resources[i].key);
        total += (double)c->resources[i].value;
    }
    table_brief(t, strbuf_str(&names), ""); /* on a terminal, the size is enough */
    table_text(t, format_size(&t->arena, total));
    strbuf_release(&names);
}

static void checkpoint_row(struct table *t, const struct wire_checkpoint *c, const char *metric, bool hparams)
{
    cleanup_json struct json_object *metadata = parse_config(c->metadata);
    struct json_object *steps = NULL;
    if (json_object_is_type(metadata, json_type_object))
        json_object_object_get_ex(metadata, "steps_completed", &steps);
    table_text(t,
               c->training && c->training->has_trial_id ? arena_printf(&t->arena, "%d", c->training->trial_id) : NULL);
    table_text(t, scalar_text(&t->arena, steps));
    table_text(t, state_text(&wire_enum_checkpoint_state, (int32_t)c->state));
    table_text(t, metric_value(&t->arena, c, metric));
    table_text(t, c->uuid);
    resource_cells(t, c);
    if (hparams)
        table_object(t, c->training ? c->training->hparams : NULL);
}

int checkpoint_list(struct cli *cli, int32_t experiment_id, int32_t trial_id, const struct checkpoint_list_form *form,
                    struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    enum wire_checkpoint_sort_by sort = form->has_best ? WIRE_CHECKPOINT_SORT_BY_SEARCHER_METRIC
                                                       : WIRE_CHECKPOINT_SORT_BY_END_TIME;
    int32_t limit = form->has_best ? (int32_t)form->best : 0;
    struct wire_get_experiment_checkpoints_request of_experiment = {.id = experiment_id,
                                                                    .sort_by_attr = sort,
                                                                    .has_sort_by_attr = true,
                                                                    .limit = limit};
    struct wire_get_trial_checkpoints_request of_trial = {.id = trial_id,
                                                          .sort_by_attr = sort,
                                                          .has_sort_by_attr = true,
                                                          .limit = limit};
    struct wire_get_experiment_checkpoints_response experiment;
    struct wire_get_trial_checkpoints_response trial;
    enum route_id id = experiment_id ? ROUTE_ID_GET_EXPERIMENT_CHECKPOINTS : ROUTE_ID_GET_TRIAL_CHECKPOINTS;
    const void *request = experiment_id ? (const void *)&of_experiment : &of_trial;
    if (form->json)
        return document_show(cli, id, request, "checkpoints", err);
    if (api_call(cli, id, request, experiment_id ? (void *)&experiment : &trial, err) < 0)
        return -1;
    const struct wire_checkpoint *c = experiment_id ? experiment.checkpoints : trial.checkpoints;
    size_t n = experiment_id ? experiment.checkpoints_n : trial.checkpoints_n;
    const char *metric = n ? searcher_metric(&t.arena, &c[0]) : "";
    table_columns(&t, (const char *const[]){"Trial ID", "# of Batches", "State", "Validation Metric", "UUID",
                                            "Resources", "Size", NULL});
    bool hparams = form->hparams || (form->has_best && cli->out_width && !form->csv);
    if (hparams)
        table_column(&t, "H-Params");
    for (size_t i = 0; i < n; i++)
        checkpoint_row(&t, &c[i], metric, hparams);
    table_show(cli, &t, form->csv);
    return 0;
}

int cmd_experiment_list_checkpoints(struct cli *cli, const struct args_experiment_list_checkpoints *args,
                                    struct error *err)
{
    struct checkpoint_list_form form = {
        .csv = args->csv, .json = args->json, .hparams = args->hparams, .has_best = args->has_best, .best = args->best};
    return checkpoint_list(cli, (int32_t)args->experiment_id, 0, &form, err);
}

int cmd_checkpoint_list(struct cli *cli, const struct args_checkpoint_list *args, struct error *err)
{
    struct checkpoint_list_form form = {
        .csv = args->csv, .json = args->json, .hparams = args->hparams, .has_best = args->has_best, .best = args->best};
    return checkpoint_list(cli, (int32_t)args->experiment_id, 0, &form, err);
}

int cmd_trial_list_checkpoints(struct cli *cli, const struct args_trial_list_checkpoints *args, struct error *err)
{
    struct checkpoint_list_form form = {
        .csv = args->csv, .json = args->json, .hparams = args->hparams, .has_best = args->has_best, .best = args->best};
    return checkpoint_list(cli, 0, (int32_t)args->trial_id, &form, err);
}
