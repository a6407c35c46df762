/* A model with its versions: describe, list-versions, register-version. */
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/model/model.h"
#include "cli/cmd/show.h"
#include "cli/connection/address.h"
#include "cli/terminal/output.h"

#define NEWEST "-1" /* instead of the number of a version */

/* One version by its number or an alias, or the newest for NULL and "-1". *ret is NULL if the model has no version. */
static int fetch_version(struct cli *cli, const char *model, const char *named, const struct wire_model_version **ret,
                         struct error *err)
{
    struct wire_get_model_version_request one = {.model_name = model, .model_version_num = named};
    struct wire_get_model_version_response version;
    struct wire_get_model_versions_request newest = {.model_name = model,
                                                     .limit = 1,
                                                     .sort_by = WIRE_GET_MODEL_VERSIONS_REQUEST_SORT_BY_VERSION,
                                                     .order_by = WIRE_ORDER_BY_DESC};
    struct wire_get_model_versions_response versions;
    if (named && strcmp(named, NEWEST) != 0) {
        if (api_call(cli, ROUTE_ID_GET_MODEL_VERSION, &one, &version, err) < 0)
            return -1;
        *ret = version.model_version;
        return 0;
    }
    if (api_call(cli, ROUTE_ID_GET_MODEL_VERSIONS, &newest, &versions, err) < 0)
        return -1;
    *ret = versions.model_versions_n ? &versions.model_versions[0] : NULL;
    return 0;
}

/* Whether the text is a number below 1, which no version has. */
static bool is_no_version(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    return end != text && !*end && number < 1 && strcmp(text, NEWEST) != 0;
}

int cmd_model_describe(struct cli *cli, const struct args_model_describe *args, struct error *err)
{
    const struct wire_model *m;
    const struct wire_model_version *version;
    if (args->version && is_no_version(args->version))
        return error_set(err, ERR_USAGE, "--version is %s; versions are counted from 1", args->version);
    if (model_fetch(cli, args->name, &m, err) < 0 || fetch_version(cli, args->name, args->version, &version, err) < 0)
        return -1;
    if (cli->format || !version)
        model_show(cli, m);
    else
        model_show_with_versions(cli, m, version, 1);
    return 0;
}

/* For --json: prints the master's answer as it is, without null for what is missing. */
static int show_answer(struct cli *cli, const char *method, const char *model, const char *body, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    const char *path = arena_printf(&cli->arena, "/api/v1/models/%s/versions", address_escape(model, &cli->arena));
    if (api_path_document(cli, &(struct api_path){.method = method, .path = path, .body = body}, &v, err) < 0)
        return -1;
    output_json(cli, v);
    return 0;
}

int cmd_model_list_versions(struct cli *cli, const struct args_model_list_versions *args, struct error *err)
{
    const struct wire_model *m;
    struct wire_get_model_versions_request in = {.model_name = args->name};
    struct wire_model_version *all = NULL;
    size_t n = 0;
    if (args->json)
        return show_answer(cli, "GET", args->name, NULL, err);
    if (model_fetch(cli, args->name, &m, err) < 0)
        return -1;
    in.sort_by = WIRE_GET_MODEL_VERSIONS_REQUEST_SORT_BY_VERSION;
    in.order_by = WIRE_ORDER_BY_DESC;
    for (;;) {
        struct wire_get_model_versions_response out;
        if (api_call(cli, ROUTE_ID_GET_MODEL_VERSIONS, &in, &out, err) < 0)
            return -1;
        struct wire_model_version *longer = arena_array(&cli->arena, struct wire_model_version,
                                                        n + out.model_versions_n + 1);
        if (n)
            memcpy(longer, all, n * sizeof(*all));
        if (out.model_versions_n)
            memcpy(longer + n, out.model_versions, out.model_versions_n * sizeof(*all));
        all = longer;
        n += out.model_versions_n;
        if (is_last_page(out.pagination, "all") || out.model_versions_n == 0)
            break;
        in.offset = out.pagination->end_index;
    }
    model_show_with_versions(cli, m, all, n);
    return 0;
}

int cmd_model_register_version(struct cli *cli, const struct args_model_register_version *args, struct error *err)
{
    const struct wire_model *m;
    struct wire_post_model_version_request in = {.model_name = args->name, .checkpoint_uuid = args->uuid};
    struct wire_post_model_version_response out;
    if (args->json) {
        cleanup_strbuf struct strbuf body = STRBUF_INIT;
        strbuf_adds(&body, "{\"checkpointUuid\":");
        strbuf_add_json(&body, args->uuid, strlen(args->uuid));
        strbuf_addc(&body, '}');
        return show_answer(cli, "POST", args->name, strbuf_str(&body), err);
    }
    if (model_fetch(cli, args->name, &m, err) < 0 || api_call(cli, ROUTE_ID_POST_MODEL_VERSION, &in, &out, err) < 0)
        return -1;
    model_show_with_versions(cli, m, out.model_version, 1);
    return 0;
}
