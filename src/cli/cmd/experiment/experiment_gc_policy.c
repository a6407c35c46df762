/* Changes which checkpoints of an experiment are kept. Shows first which ones would be removed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connection/api.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

static const char *text_of(struct arena *a, struct json_object *row, const char *name)
{
    struct json_object *v = json_object_object_get(row, name);
    return !v                                         ? NULL
           : json_object_is_type(v, json_type_string) ? arena_strdup(a, json_object_get_string(v))
                                                      : output_dumps(a, v);
}

static int64_t number_of(struct json_object *row, const char *name)
{
    return json_object_get_int64(json_object_object_get(row, name));
}

static const char *metric_of(struct arena *a, struct json_object *row, const char *metric)
{
    struct json_object *all = json_object_object_get(row, "ValidationMetrics"), *averages;
    if (json_object_is_type(all, json_type_object) && json_object_object_get_ex(all, "avg_metrics", &averages))
        all = averages;
    return json_object_is_type(all, json_type_object) ? text_of(a, all, metric) : NULL;
}

static const char *names_of(struct arena *a, struct json_object *resources)
{
    struct strbuf names = STRBUF_INIT;
    size_t n = 0;
    const char **name = json_object_is_type(resources, json_type_object) ? json_sorted_names(resources, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&names, "%s%s", i ? "\n" : "", name[i]);
    const char *text = arena_strdup(a, strbuf_str(&names));
    strbuf_release(&names);
    free(name);
    return text;
}

static int by_trial_and_time(const void *a, const void *b)
{
    struct json_object *x = *(struct json_object *const *)a, *y = *(struct json_object *const *)b;
    int64_t m = number_of(x, "TrialID"), n = number_of(y, "TrialID");
    if (m != n)
        return m < n ? -1 : 1;
    const char *s = json_object_get_string(json_object_object_get(x, "ReportTime"));
    const char *t = json_object_get_string(json_object_object_get(y, "ReportTime"));
    return strcmp(s ? s : "", t ? t : "");
}

static void print_table(struct cli *cli, struct json_object *list, const char *metric)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"Trial ID", "# of Batches", "State",
                                            arena_printf(&cli->arena, "Validation Metric (%s)", metric), "UUID",
                                            "Resources", NULL});
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *row = json_object_array_get_idx(list, i);
        table_int(&t, number_of(row, "TrialID"));
        table_int(&t, number_of(row, "StepsCompleted"));
        table_text(&t, text_of(&cli->arena, row, "State"));
        table_text(&t, metric_of(&cli->arena, row, metric));
        table_text(&t, text_of(&cli->arena, row, "UUID"));
        table_text(&t, names_of(&cli->arena, json_object_object_get(row, "Resources")));
    }
    table_show(cli, &t, false);
}

/* Shows which checkpoints the policy would remove. */
static int preview_policy(struct cli *cli, const struct args_experiment_set_gc_policy *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    const char *path = arena_printf(&cli->arena,
                                    "/experiments/%" PRId64 "/preview_gc?save_experiment_best=%" PRId64
                                    "&save_trial_best=%" PRId64 "&save_trial_latest=%" PRId64,
                                    args->experiment_id, args->save_experiment_best, args->save_trial_best,
                                    args->save_trial_latest);
    if (api_path_document(cli, &(struct api_path){.method = "GET", .path = path}, &v, err) < 0)
        return -1;
    struct json_object *list = json_object_object_get(v, "checkpoints");
    const char *metric = text_of(&cli->arena, v, "metric_name");
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0, validated = 0;
    if (n)
        json_object_array_sort(list, by_trial_and_time);
    for (size_t i = 0; i < n; i++)
        validated += metric && metric_of(&cli->arena, json_object_array_get_idx(list, i), metric);
    if (n)
        print_table(cli, list, metric ? metric : "");
    fprintf(cli->out,
            "This policy will delete %zu checkpoints with validations and %zu checkpoints without validations.\n",
            validated, n - validated);
    return 0;
}

int cmd_experiment_set_gc_policy(struct cli *cli, const struct args_experiment_set_gc_policy *args, struct error *err)
{
    struct wire_experiment_patch_experiment_patch_checkpoint_storage policy = {
        .save_experiment_best = (int32_t)args->save_experiment_best,
        .save_trial_best = (int32_t)args->save_trial_best,
        .save_trial_latest = (int32_t)args->save_trial_latest};
    struct wire_experiment_patch_experiment change = {.id = (int32_t)args->experiment_id,
                                                      .checkpoint_storage = &policy};
    if (!args->yes) {
        if (preview_policy(cli, args, err) < 0)
            return -1;
        if (!terminal_ask_yes(cli, "Changing the policy deletes checkpoints for ever.\nChange it?")) {
            fputs("Aborting operations.\n", cli->out);
            return 0;
        }
    }
    if (api_call(cli, ROUTE_ID_PATCH_EXPERIMENT, &(struct wire_patch_experiment_request){.experiment = &change}, NULL,
                 err) < 0)
        return -1;
    fprintf(cli->out,
            "Set GC policy of experiment %" PRId64 " to\n{'save_experiment_best': %d, 'save_trial_best': %d, "
            "'save_trial_latest': %d}\n",
            args->experiment_id, policy.save_experiment_best, policy.save_trial_best, policy.save_trial_latest);
    return 0;
}
