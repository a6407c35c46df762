#include "cli/cmd/model/model.h"

#include <string.h>

#include "cli/cmd/show.h"
#include "cli/terminal/output.h"
#include "common/base/clock.h"

int model_fetch(struct cli *cli, const char *name, const struct wire_model **ret, struct error *err)
{
    struct wire_get_model_request in = {.model_name = name};
    struct wire_get_model_response out;
    if (api_call(cli, ROUTE_ID_GET_MODEL, &in, &out, err) < 0)
        return -1;
    if (!out.model)
        return error_set(err, ERR_NOT_FOUND, "Failed to %s: model '%s' not found", cli->command->help, name);
    *ret = out.model;
    return 0;
}

/* A time as the released client writes it, without fractions of a second: 2026-11-21T07:12:01+00:00 */
static void add_time(struct json_object *v, const char *key, bool has, int64_t us)
{
    enum { SECONDS = 19 };
    char text[CLOCK_TEXT_MAX];
    struct strbuf iso = STRBUF_INIT;
    if (has) {
        clock_format(us, text); /* 2026-11-21T07:12:01.123456Z */
        strbuf_addf(&iso, "%.*s+00:00", SECONDS, text);
    }
    json_object_object_add(v, key, has ? json_object_new_string(strbuf_str(&iso)) : NULL);
    strbuf_release(&iso);
}

struct json_object *model_document(const struct wire_model *m)
{
    struct json_object *v = json_object_new_object(), *metadata = NULL;
    if (!m->metadata || json_parse(m->metadata, strlen(m->metadata), &metadata, NULL) < 0)
        metadata = json_object_new_object();
    json_object_object_add(v, "name", json_object_new_string(m->name));
    json_object_object_add(v, "id", json_object_new_int(m->id));
    json_object_object_add(v, "description", json_object_new_string(m->description ? m->description : ""));
    add_time(v, "creation_time", m->has_creation_time, m->creation_time);
    add_time(v, "last_updated_time", m->has_last_updated_time, m->last_updated_time);
    json_object_object_add(v, "metadata", metadata);
    json_object_object_add(v, "archived", json_object_new_boolean(m->archived));
    return v;
}

void model_show(struct cli *cli, const struct wire_model *m)
{
    cleanup_table struct table t = TABLE_INIT;
    if (cli->format) {
        cleanup_json struct json_object *v = model_document(m);
        output_json(cli, v);
        return;
    }
    table_columns(&t, (const char *const[]){"ID", "Name", "Description", "Workspace ID", "Creation Time",
                                            "Last Updated Time", "Metadata", NULL});
    table_int(&t, m->id);
    table_text(&t, m->name);
    table_text(&t, m->description);
    table_int(&t, m->workspace_id);
    table_time_iso(&t, m->has_creation_time, m->creation_time);
    table_time_iso(&t, m->has_last_updated_time, m->last_updated_time);
    table_object(&t, m->metadata ? m->metadata : "{}");
    table_show_record(cli, &t, false);
}

static const char *metrics_text(struct arena *a, const struct wire_common_metrics *m)
{
    enum { INDENT = 2 };
    struct strbuf text = STRBUF_INIT;
    if (!m)
        return "{}";
    codec_encode(&wire_msg_common_metrics, m, &text);
    const char *ret = output_dumps_by(a, strbuf_str(&text), INDENT);
    strbuf_release(&text);
    return ret;
}

/* The number of batches after which the checkpoint was saved; NULL: it does not say. */
static const char *batches_of(struct arena *a, const char *metadata)
{
    cleanup_json struct json_object *v = NULL;
    if (!metadata || json_parse(metadata, strlen(metadata), &v, NULL) < 0 || !json_object_is_type(v, json_type_object))
        return NULL;
    return python_text(a, json_object_object_get(v, "steps_completed"));
}

static void version_row(struct table *t, const struct wire_model_version *v)
{
    enum { INDENT = 2 };
    static const struct wire_checkpoint none = {0};
    const struct wire_checkpoint *c = v->checkpoint ? v->checkpoint : &none;
    const struct wire_checkpoint_training_metadata *training = c->training;
    const struct wire_common_metrics *metrics = training ? training->validation_metrics : NULL;
    const char *metadata = c->metadata ? c->metadata : "{}", *brief = brief_object(&t->arena, metadata);
    table_int(t, v->version);
    table_text(t, training && training->has_trial_id ? arena_printf(&t->arena, "%d", training->trial_id) : NULL);
    table_text(t, batches_of(&t->arena, c->metadata));
    table_text(t, c->uuid);
    table_brief(t, training ? metrics_text(&t->arena, metrics) : "",
                metrics ? brief_object(&t->arena, metrics->avg_metrics) : NULL);
    table_brief(t, output_dumps_by(&t->arena, metadata, INDENT), brief ? brief : "");
}

void model_show_with_versions(struct cli *cli, const struct wire_model *m, const struct wire_model_version *version,
                              size_t n)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"Version #", "Trial ID", "Batch #", "Checkpoint UUID", "Validation Metrics",
                                            "Metadata", NULL});
    for (size_t i = 0; i < n; i++)
        version_row(&t, &version[i]);
    if (!cli->format) {
        model_show(cli, m);
        fputs("\n\n", cli->out);
    }
    table_show(cli, &t, false);
}
