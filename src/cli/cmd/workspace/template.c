/* Templates: list, describe, create, change, remove. */
#include <string.h>

#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"
#include "cli/files/config_file.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "common/base/cleanup.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *workspace_name(const struct wire_get_workspaces_response *all, int32_t id)
{
    for (size_t i = 0; i < all->workspaces_n; i++)
        if (all->workspaces[i].id == id)
            return all->workspaces[i].name;
    return "missing workspace";
}

static const char *yaml_of(struct arena *a, const char *json)
{
    cleanup_json struct json_object *v = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (json_parse(json, strlen(json), &v, NULL) < 0)
        return json;
    yaml_print(v, &text);
    return arena_strdup(a, strbuf_str(&text));
}

int cmd_template_list(struct cli *cli, const struct args_template_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_templates_request in = {.limit = -1, .sort_by = WIRE_GET_TEMPLATES_REQUEST_SORT_BY_NAME};
    struct wire_get_templates_response out;
    struct wire_get_workspaces_response workspaces;
    if (args->json)
        return document_show(cli, ROUTE_ID_GET_TEMPLATES, &in, "templates", err);
    if (api_call(cli, ROUTE_ID_GET_TEMPLATES, &in, &out, err) < 0 ||
        api_call(cli, ROUTE_ID_GET_WORKSPACES, NULL, &workspaces, err) < 0)
        return -1;
    table_columns(&t, (const char *const[]){"Name", "Workspace", args->details ? "Config" : NULL, NULL});
    for (size_t i = 0; i < out.templates_n; i++) {
        const struct wire_template *w = &out.templates[i];
        table_text(&t, w->name);
        table_text(&t, workspace_name(&workspaces, w->workspace_id));
        if (args->details)
            table_text(&t, yaml_of(&cli->arena, w->config));
    }
    if (args->details && !cli->format)
        table_print_grid(&t, cli->out);
    else
        table_show(cli, &t, false);
    return 0;
}

int cmd_template_describe(struct cli *cli, const struct args_template_describe *args, struct error *err)
{
    struct wire_get_template_request in = {.template_name = args->template_name};
    struct wire_get_template_response out;
    if (cli->format)
        return document_show(cli, ROUTE_ID_GET_TEMPLATE, &in, "template", err);
    if (api_call(cli, ROUTE_ID_GET_TEMPLATE, &in, &out, err) < 0)
        return -1;
    fprintf(cli->out, "%s\n", yaml_of(&cli->arena, out.template->config));
    return 0;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct template_file {
    const char *path, *text;
    const char *json; /* the text that is sent */
};

static int read_template(struct cli *cli, const char *path, struct template_file *ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, json = STRBUF_INIT;
    cleanup_json struct json_object *config = NULL;
    if (config_file_read(cli, path, &text, &config, err) < 0)
        return -1;
    config_file_warn_of_words(cli, &text);
    json_print(config, &json);
    *ret = (struct template_file){path, arena_strdup(&cli->arena, strbuf_str(&text)),
                                  arena_strdup(&cli->arena, strbuf_str(&json))};
    return 0;
}

static int create_template(struct cli *cli, const char *name, const struct template_file *file, int32_t workspace_id,
                           struct error *err)
{
    struct wire_template t = {.name = name, .config = file->json, .workspace_id = workspace_id};
    int rc = api_call(cli, ROUTE_ID_POST_TEMPLATE, &(struct wire_post_template_request){.template = &t}, NULL, err);
    return rc < 0 ? config_file_locate(file->path, "<template>", file->text, err) : 0;
}

static int change_template(struct cli *cli, const char *name, const struct template_file *file, struct error *err)
{
    struct wire_patch_template_config_request in = {.template_name = name, .config = file->json};
    int rc = api_call(cli, ROUTE_ID_PATCH_TEMPLATE_CONFIG, &in, NULL, err);
    return rc < 0 ? config_file_locate(file->path, "<template>", file->text, err) : 0;
}

int cmd_template_create(struct cli *cli, const struct args_template_create *args, struct error *err)
{
    struct template_file file;
    int32_t workspace = 0;
    if (read_template(cli, args->template_file, &file, err) < 0 ||
        (args->workspace_name && workspace_by_name(cli, args->workspace_name, &workspace, err) < 0) ||
        create_template(cli, args->template_name, &file, workspace, err) < 0)
        return -1;
    cli_print(cli, CLI_GREEN, "Created template %s", args->template_name);
    return 0;
}

int cmd_template_set_value_config(struct cli *cli, const struct args_template_set_value_config *args, struct error *err)
{
    struct template_file file;
    if (read_template(cli, args->template_file, &file, err) < 0 ||
        change_template(cli, args->template_name, &file, err) < 0)
        return -1;
    cli_print(cli, CLI_GREEN, "Updated template %s", args->template_name);
    return 0;
}

/* Creates the template, or changes it if it exists. */
int cmd_template_set(struct cli *cli, const struct args_template_set *args, struct error *err)
{
    struct template_file file;
    cleanup_error struct error failed = ERROR_INIT;
    if (read_template(cli, args->template_file, &file, err) < 0)
        return -1;
    if (change_template(cli, args->template_name, &file, &failed) < 0) {
        if (error_pass_unless(&failed, ERR_NOT_FOUND, err))
            return -1;
        if (create_template(cli, args->template_name, &file, 0, err) < 0)
            return -1;
    }
    cli_print(cli, CLI_GREEN, "Set template %s", args->template_name);
    return 0;
}

int cmd_template_remove(struct cli *cli, const struct args_template_remove *args, struct error *err)
{
    struct wire_delete_template_request in = {.template_name = args->template_name};
    if (api_call(cli, ROUTE_ID_DELETE_TEMPLATE, &in, NULL, err) < 0)
        return -1;
    cli_print(cli, CLI_GREEN, "Removed template %s", args->template_name);
    return 0;
}
