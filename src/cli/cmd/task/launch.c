#include "cli/cmd/task/launch.h"

#include <string.h>

#include "cli/cmd/workspace.h"
#include "cli/files/config_file.h"
#include "cli/files/context.h"
#include "cli/files/override.h"
#include "common/base/cleanup.h"

/* ---- the configuration ------------------------------------------------------------------------------------------- */

/* Adds "HOST_PATH:CONTAINER_PATH" to the configuration's bind_mounts. */
static int add_volume(struct json_object *config, const char *text, struct error *err)
{
    const char *colon = strchr(text, ':');
    struct json_object *mounts, *mount;
    if (!colon || colon == text || !colon[1])
        return error_set(err, ERR_USAGE, "--volume %s: expected HOST_PATH:CONTAINER_PATH, such as /data:/mnt/data",
                         text);
    if (!json_object_object_get_ex(config, "bind_mounts", &mounts) || !mounts) {
        mounts = json_object_new_array();
        json_object_object_add(config, "bind_mounts", mounts);
    }
    if (!json_object_is_type(mounts, json_type_array))
        return error_set(err, ERR_INVALID, "--volume %s: bind_mounts of the configuration must be a list", text);
    mount = json_object_new_object();
    json_object_object_add(mount, "host_path", json_object_new_string_len(text, (int)(colon - text)));
    json_object_object_add(mount, "container_path", json_object_new_string(colon + 1));
    json_object_array_add(mounts, mount);
    return 0;
}

/* Whether the configuration says by itself what to run: null, "" and [] do not. */
static bool has_entrypoint(struct json_object *config)
{
    struct json_object *v;
    if (!json_object_object_get_ex(config, "entrypoint", &v) || !v)
        return false;
    return json_object_is_type(v, json_type_array) ? json_object_array_length(v) > 0
                                                   : *json_object_get_string(v) != '\0';
}

static int add_entrypoint(const struct launch *l, struct json_object *config, struct error *err)
{
    if (l->kind->launch != ROUTE_ID_LAUNCH_COMMAND || has_entrypoint(config))
        return 0;
    if (l->entrypoint_n == 0 && !l->template)
        return error_set(err, ERR_USAGE,
                         "name what to run, such as 'det command run hostname', or set entrypoint in a configuration");
    struct json_object *words = json_object_new_array();
    for (size_t i = 0; i < l->entrypoint_n; i++)
        json_object_array_add(words, json_object_new_string(l->entrypoint[i]));
    if (l->entrypoint_n)
        json_object_object_add(config, "entrypoint", words);
    else
        json_object_put(words);
    return 0;
}

/* *ret_text is the file's text, by which the place of a mistake is found. */
static int make_config(struct cli *cli, const struct launch *l, struct strbuf *ret_text, struct json_object **ret,
                       struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    if (!l->config_file)
        config = json_object_new_object();
    else if (config_file_read(cli, l->config_file, ret_text, &config, err) < 0)
        return -1;
    config_file_warn_of_words(cli, ret_text);
    for (size_t i = 0; i < l->config_n; i++)
        if (override_apply(config, l->config[i], err) < 0)
            return -1;
    for (size_t i = 0; i < l->volume_n; i++)
        if (add_volume(config, l->volume[i], err) < 0)
            return -1;
    if (add_entrypoint(l, config, err) < 0)
        return -1;
    *ret = take_ptr(config);
    return 0;
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

static void add_numbers(struct strbuf *body, const char *name, const char *const *number, size_t n)
{
    if (n == 0)
        return;
    strbuf_addf(body, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++) /* were checked when the command line was parsed */
        strbuf_addf(body, "%s%s", i ? "," : "", number[i]);
    strbuf_addc(body, ']');
}

/* Writes the request's JSON by hand, because the files are read from disk directly into it. */
static int build_body(struct cli *cli, const struct launch *l, struct json_object *config, const struct context *c,
                      struct strbuf *body, struct error *err)
{
    int32_t workspace;
    strbuf_adds(body, "{\"config\":");
    json_print(config, body);
    if (c->n) {
        strbuf_adds(body, ",\"files\":");
        if (context_write(c, body, err) < 0)
            return -1;
    }
    if (l->template) {
        strbuf_adds(body, ",\"templateName\":");
        strbuf_add_json(body, l->template, strlen(l->template));
    }
    if (l->workspace_name) {
        if (workspace_by_name(cli, l->workspace_name, &workspace, err) < 0)
            return -1;
        strbuf_addf(body, ",\"workspaceId\":%d", workspace);
    }
    add_numbers(body, "experimentIds", l->experiment_id, l->experiment_id_n);
    add_numbers(body, "trialIds", l->trial_id, l->trial_id_n);
    strbuf_adds(body, l->preview ? ",\"preview\":true}" : "}");
    return 0;
}

static int send_request(struct cli *cli, const struct launch *l, struct json_object **ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, body = STRBUF_INIT;
    cleanup_json struct json_object *config = NULL;
    cleanup_context struct context context = CONTEXT_INIT;
    if (make_config(cli, l, &text, &config, err) < 0 ||
        context_prepare(cli, &context, l->context, l->include, l->include_n, l->detach || l->preview, err) < 0 ||
        build_body(cli, l, config, &context, &body, err) < 0)
        return -1;
    if (api_call_body_document(cli, l->kind->launch, body.s, body.n, ret, err) == 0)
        return 0;
    return l->config_file ? config_file_locate(l->config_file, "<config>", strbuf_str(&text), err) : -1;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

void launch_warn(struct cli *cli, const char *noun, struct json_object *answer)
{
    struct json_object *list;
    size_t n = json_object_object_get_ex(answer, "configWarnings", &list) && json_object_is_type(list, json_type_array)
                   ? json_object_array_length(list)
                   : 0;
    for (size_t i = 0; i < n; i++)
        cli_say(cli, CLI_YELLOW, "Warning: %s.", json_object_get_string(json_object_array_get_idx(list, i)));
    n = json_object_object_get_ex(answer, "warnings", &list) && json_object_is_type(list, json_type_array)
            ? json_object_array_length(list)
            : 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(json_object_get_string(json_object_array_get_idx(list, i)),
                   codec_enum_name(&wire_enum_launch_warning, WIRE_LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED)) == 0)
            cli_say(cli, CLI_YELLOW,
                    "Warning: no agent of its resource pool can hold this %s now; it waits for one that can.", noun);
}

int launch_task(struct cli *cli, const struct launch *l, struct json_object **ret_answer, const char **ret_id,
                struct error *err)
{
    cleanup_json struct json_object *answer = NULL;
    struct json_object *task = NULL;
    if (send_request(cli, l, &answer, err) < 0)
        return -1;
    launch_warn(cli, l->kind->noun, answer);
    if (!json_object_object_get_ex(answer, l->kind->noun, &task) || (!task && !l->preview))
        return error_set(err, ERR_INTERNAL, "the master's reply to %s has no \"%s\"", routes[l->kind->launch].rpc,
                         l->kind->noun);
    *ret_id = arena_strdup(&cli->arena, launched_text(task, "id"));
    if (l->detach && !l->preview)
        fprintf(cli->out, "%s\n", *ret_id);
    else if (!l->preview)
        cli_print(cli, CLI_GREEN, "Launched %s (id: %s, name: %s).", l->kind->noun, *ret_id,
                  launched_text(task, "description"));
    fflush(cli->out);
    *ret_answer = take_ptr(answer);
    return 0;
}
