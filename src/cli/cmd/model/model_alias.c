/* Aliases of versions: list, set, remove. */
#include "cli/cmd/model/model.h"
#include "cli/cmd/show.h"

int cmd_model_alias_list(struct cli *cli, const struct args_model_alias_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_model_aliases_request in = {.model_name = args->name};
    struct wire_get_model_aliases_response out;
    if (api_call(cli, ROUTE_ID_GET_MODEL_ALIASES, &in, &out, err) < 0)
        return -1;
    table_columns(&t, (const char *const[]){"Alias", "Version #", "Set By", "Last Updated Time", NULL});
    for (size_t i = 0; i < out.aliases_n; i++) {
        const struct wire_model_alias *x = &out.aliases[i];
        table_text(&t, x->name);
        table_int(&t, x->version);
        table_text(&t, x->username);
        table_time_iso(&t, x->has_last_updated_time, x->last_updated_time);
    }
    table_show(cli, &t, false);
    return 0;
}

int cmd_model_alias_set(struct cli *cli, const struct args_model_alias_set *args, struct error *err)
{
    struct wire_get_model_version_request named = {.model_name = args->name, .model_version_num = args->version};
    struct wire_get_model_version_response version;
    if (api_call(cli, ROUTE_ID_GET_MODEL_VERSION, &named, &version, err) < 0)
        return -1;
    struct wire_put_model_alias_request in = {.model_name = args->name,
                                              .alias = args->alias,
                                              .version = version.model_version->version};
    if (api_call(cli, ROUTE_ID_PUT_MODEL_ALIAS, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Alias %s of model %s stands for version %d.\n", args->alias, args->name, in.version);
    return 0;
}

int cmd_model_alias_remove(struct cli *cli, const struct args_model_alias_remove *args, struct error *err)
{
    struct wire_delete_model_alias_request in = {.model_name = args->name, .alias = args->alias};
    if (api_call(cli, ROUTE_ID_DELETE_MODEL_ALIAS, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Removed alias %s of model %s.\n", args->alias, args->name);
    return 0;
}
