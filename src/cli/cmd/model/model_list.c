#include <string.h>

#include "cli/cmd/model/model.h"
#include "cli/cmd/show.h"
#include "cli/terminal/output.h"

static enum wire_get_models_request_sort_by sort_of(const char *name)
{
    static const struct {
        const char *name;
        enum wire_get_models_request_sort_by by;
    } known[] = {{"name", WIRE_GET_MODELS_REQUEST_SORT_BY_NAME},
                 {"description", WIRE_GET_MODELS_REQUEST_SORT_BY_DESCRIPTION},
                 {"creation_time", WIRE_GET_MODELS_REQUEST_SORT_BY_CREATION_TIME}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].by;
    return WIRE_GET_MODELS_REQUEST_SORT_BY_LAST_UPDATED_TIME;
}

static void model_row(struct table *t, const struct wire_model *m)
{
    enum { INDENT = 2 };
    const char *metadata = m->metadata ? m->metadata : "{}", *brief = brief_object(&t->arena, metadata);
    table_int(t, m->id);
    table_text(t, m->name);
    table_int(t, m->workspace_id);
    table_time_iso(t, m->has_creation_time, m->creation_time);
    table_time_iso(t, m->has_last_updated_time, m->last_updated_time);
    table_brief(t, output_dumps_by(&t->arena, metadata, INDENT), brief ? brief : "");
}

/* The names between the commas of --workspace-names. */
static void read_workspaces(struct cli *cli, const char *text, struct wire_get_models_request *in)
{
    in->workspace_names = arena_array(&cli->arena, const char *, strlen(text) + 1);
    while (*text) {
        size_t n = strcspn(text, ",");
        if (n)
            in->workspace_names[in->workspace_names_n++] = arena_strndup(&cli->arena, text, n);
        text += n + (text[n] == ',');
    }
}

int cmd_model_list(struct cli *cli, const struct args_model_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *all = json_object_new_array();
    struct wire_get_models_request in = {.sort_by = sort_of(args->sort_by),
                                         .order_by = strcmp(args->order_by, "desc") == 0 ? WIRE_ORDER_BY_DESC
                                                                                         : WIRE_ORDER_BY_ASC};
    if (args->workspace_names)
        read_workspaces(cli, args->workspace_names, &in);
    table_columns(&t, (const char *const[]){"ID", "Name", "Workspace ID", "Creation Time", "Last Updated Time",
                                            "Metadata", NULL});
    for (;;) {
        struct wire_get_models_response out;
        if (api_call(cli, ROUTE_ID_GET_MODELS, &in, &out, err) < 0)
            return -1;
        for (size_t i = 0; i < out.models_n; i++) {
            if (args->json)
                json_object_array_add(all, model_document(&out.models[i]));
            else
                model_row(&t, &out.models[i]);
        }
        if (is_last_page(out.pagination, "all") || out.models_n == 0)
            break;
        in.offset = out.pagination->end_index;
    }
    if (args->json)
        output_json(cli, all);
    else
        table_show(cli, &t, args->csv);
    return 0;
}
