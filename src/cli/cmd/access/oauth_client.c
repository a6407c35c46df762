/* Directory services that get tokens for SCIM by OAuth. Their routes are not in contract/api.json. */
#include "cli/cmd/show.h"
#include "cli/connection/address.h"
#include "cli/connection/api.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"

static const char clients[] = "/oauth2/clients";

int cmd_oauth_client_list(struct cli *cli, const struct args_oauth_client_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *all = NULL;
    if (api_path_document(cli, &(struct api_path){.method = "GET", .path = clients}, &all, err) < 0)
        return -1;
    if (args->json) {
        output_json(cli, all);
        return 0;
    }
    table_columns(&t, (const char *const[]){"Name", "Client ID", "Domain", NULL});
    for (size_t i = 0; json_object_is_type(all, json_type_array) && i < json_object_array_length(all); i++)
        table_values(&t, json_object_array_get_idx(all, i), (const char *const[]){"name", "id", "domain", NULL}, NULL);
    table_show(cli, &t, args->csv);
    return 0;
}

int cmd_oauth_client_add(struct cli *cli, const struct args_oauth_client_add *args, struct error *err)
{
    cleanup_json struct json_object *in = json_object_new_object(), *out = NULL;
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    json_object_object_add(in, "name", json_object_new_string(args->name));
    json_object_object_add(in, "domain", json_object_new_string(args->domain));
    json_print(in, &body);
    if (api_path_document(cli, &(struct api_path){.method = "POST", .path = clients, .body = strbuf_str(&body)}, &out,
                          err) < 0)
        return -1;
    const char *id = python_text(&cli->arena, json_object_object_get(out, "id")),
               *secret = python_text(&cli->arena, json_object_object_get(out, "secret"));
    fprintf(cli->out, "Client ID:     %s\nClient secret: %s\n", id ? id : "", secret ? secret : "");
    return 0;
}

int cmd_oauth_client_remove(struct cli *cli, const struct args_oauth_client_remove *args, struct error *err)
{
    cleanup_json struct json_object *out = NULL;
    const char *path = arena_printf(&cli->arena, "%s/%s", clients, address_escape(args->client_id, &cli->arena));
    return api_path_document(cli, &(struct api_path){.method = "DELETE", .path = path}, &out, err);
}
