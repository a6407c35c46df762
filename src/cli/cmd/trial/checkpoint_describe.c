#include "cli/cmd/checkpoint.h"

#include <string.h>

#include "cli/cmd/show.h"
#include "cli/terminal/output.h"

int checkpoint_fetch(struct cli *cli, const char *uuid, const struct wire_checkpoint **ret, struct error *err)
{
    struct wire_get_checkpoint_request in = {.checkpoint_uuid = uuid};
    struct wire_get_checkpoint_response out;
    if (api_call(cli, ROUTE_ID_GET_CHECKPOINT, &in, &out, err) < 0)
        return -1;
    if (!out.checkpoint)
        return error_set(err, ERR_NOT_FOUND, "Failed to %s: checkpoint '%s' not found", cli->command->help, uuid);
    *ret = out.checkpoint;
    return 0;
}

static const char *metrics_text(struct arena *a, const struct wire_common_metrics *m)
{
    struct strbuf text = STRBUF_INIT;
    if (!m)
        return "{}";
    codec_encode(&wire_msg_common_metrics, m, &text);
    const char *ret = output_dumps_raw(a, strbuf_str(&text));
    strbuf_release(&text);
    return ret;
}

static const char *steps_completed(struct arena *a, const char *metadata)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *steps;
    if (!metadata || json_parse(metadata, strlen(metadata), &v, NULL) < 0 ||
        !json_object_is_type(v, json_type_object) || !json_object_object_get_ex(v, "steps_completed", &steps))
        return NULL;
    return output_dumps(a, steps);
}

void checkpoint_print(struct cli *cli, const struct wire_checkpoint *c)
{
    cleanup_table struct table t = TABLE_INIT;
    const struct wire_checkpoint_training_metadata *training = c->training && c->training->has_trial_id ? c->training
                                                                                                        : NULL;
    table_columns(&t, (const char *const[]){"Experiment ID", "Trial ID", "Steps Completed", "Report Time",
                                            "Checkpoint UUID", "Validation Metrics", "Metadata", NULL});
    table_text(&t, training ? arena_printf(&t.arena, "%d", training->experiment_id) : NULL);
    table_text(&t, training ? arena_printf(&t.arena, "%d", training->trial_id) : NULL);
    table_text(&t, steps_completed(&t.arena, c->metadata));
    table_time(&t, c->has_report_time, c->report_time);
    table_text(&t, c->uuid);
    const struct wire_common_metrics *metrics = training ? training->validation_metrics : NULL;
    table_brief(&t, training ? metrics_text(&t.arena, metrics) : NULL,
                metrics ? brief_object(&t.arena, metrics->avg_metrics) : NULL);
    table_object(&t, c->metadata ? c->metadata : "{}");
    table_show_record(cli, &t, false);
}

int cmd_checkpoint_describe(struct cli *cli, const struct args_checkpoint_describe *args, struct error *err)
{
    const struct wire_checkpoint *c;
    if (args->json) {
        struct wire_get_checkpoint_request in = {.checkpoint_uuid = args->uuid};
        return document_show(cli, ROUTE_ID_GET_CHECKPOINT, &in, "checkpoint", err);
    }
    if (checkpoint_fetch(cli, args->uuid, &c, err) < 0)
        return -1;
    checkpoint_print(cli, c);
    return 0;
}
