/* Previews a search: prints its configuration with all defaults, and how many trials train for how long. */
#include <string.h>

#include "cli/cmd/show.h"
#include "cli/files/config_file.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "common/base/cleanup.h"

static void drop_nulls(struct json_object *v)
{
    size_t n;
    cleanup_free const char **name = json_sorted_names(v, &n);
    for (size_t i = 0; i < n; i++)
        if (!json_object_object_get(v, name[i]))
            json_object_object_del(v, name[i]);
}

static int print_config(struct cli *cli, const char *json, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    if (json_parse(json, strlen(json), &v, err) < 0)
        return -1;
    drop_nulls(v);
    fprintf(cli->out, "Using search configuration:\n");
    output_yaml(cli, v, true);
    return 0;
}

static void print_plan(struct cli *cli, const struct wire_experiment_search_summary *s)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"Trials", "Training Time", NULL});
    for (size_t i = 0; i < s->trials_n; i++) {
        const struct wire_experiment_search_unit *unit = s->trials[i].unit;
        table_int(&t, s->trials[i].count);
        table_text(&t, unit->max_length ? "train to completion"
                                        : arena_printf(&cli->arena, "train for %d %s", unit->value, unit->name));
    }
    table_show(cli, &t, false);
}

int cmd_preview_search(struct cli *cli, const struct args_preview_search *args, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, json = STRBUF_INIT;
    cleanup_json struct json_object *config = NULL;
    struct wire_preview_hp_search_response out;
    if (config_file_read(cli, args->config_file, &text, &config, err) < 0)
        return -1;
    json_print(config, &json);
    struct wire_preview_hp_search_request in = {.config = json.s};
    int rc = cli->format ? document_show(cli, ROUTE_ID_PREVIEW_HP_SEARCH, &in, "summary", err) : 0;
    if (cli->format)
        return rc < 0 ? config_file_blame(args->config_file, /* rewritten= */ true, err) : 0;
    if (api_call(cli, ROUTE_ID_PREVIEW_HP_SEARCH, &in, &out, err) < 0)
        return config_file_blame(args->config_file, /* rewritten= */ true, err);
    if (print_config(cli, out.summary->config, err) < 0)
        return -1;
    print_plan(cli, out.summary);
    return 0;
}
