/* det task create, fork, kill, pause, unpause and config: tasks that are neither of an experiment nor one of the four
 * kinds of launched.h. */
#include <inttypes.h>
#include <string.h>

#include "cli/cmd/task/launch.h"
#include "cli/cmd/task/task_end.h"
#include "cli/files/config_file.h"
#include "cli/files/context.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"

/* ---- create and fork --------------------------------------------------------------------------------------------- */

struct creation {
    const struct strbuf *config;
    const struct context *context;
    const char *forked_from, *parent_id; /* NULL: none */
    bool has_project_id, inherit_context, no_pause, follow;
    int64_t project_id;
};

static void add_text(struct strbuf *body, const char *name, const char *value)
{
    if (!value)
        return;
    strbuf_addf(body, ",\"%s\":", name);
    strbuf_add_json(body, value, strlen(value));
}

/* Writes the request's JSON by hand, because the files are read from disk directly into it. */
static int build_body(const struct creation *c, struct strbuf *body, struct error *err)
{
    strbuf_adds(body, "{\"contextDirectory\":");
    if (context_write(c->context, body, err) < 0)
        return -1;
    add_text(body, "config", strbuf_str(c->config));
    add_text(body, "forkedFrom", c->forked_from);
    add_text(body, "parentId", c->parent_id);
    if (c->has_project_id)
        strbuf_addf(body, ",\"projectId\":%" PRId64, c->project_id);
    strbuf_adds(body, c->inherit_context ? ",\"inheritContext\":true" : "");
    strbuf_adds(body, c->no_pause ? ",\"noPause\":true}" : "}");
    return 0;
}

/* Says on stderr how the task has ended. Status 1 unless it has completed, or is paused. */
static int tell_end(struct cli *cli, const char *id, struct error *err)
{
    const struct wire_task *task;
    if (task_fetch_ended(cli, id, &task, err) < 0)
        return -1;
    enum wire_task_generic_task_state state = task->task_state;
    const char *name = codec_enum_name(&wire_enum_task_generic_task_state, (int32_t)state);
    const struct wire_task_allocation *last = task_last_allocation(task);
    bool well = state == WIRE_TASK_GENERIC_TASK_STATE_COMPLETED || state == WIRE_TASK_GENERIC_TASK_STATE_PAUSED;
    const char *why = !well && last && last->exit_reason ? last->exit_reason : "";
    cli_say(cli, well ? CLI_GREEN : CLI_RED, "Task %s: %s%s%s", id,
            name && task->has_task_state ? name + strlen("GENERIC_TASK_STATE_") : "UNKNOWN", *why ? ": " : "", why);
    cli->exit_code = well ? 0 : 1;
    return 0;
}

static int create_task(struct cli *cli, const struct creation *c, struct error *err)
{
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    cleanup_json struct json_object *answer = NULL;
    if (build_body(c, &body, err) < 0 ||
        api_call_body_document(cli, ROUTE_ID_CREATE_GENERIC_TASK, body.s, body.n, &answer, err) < 0)
        return -1;
    const char *id = arena_strdup(&cli->arena, launched_text(answer, "taskId"));
    fprintf(cli->out, "Created task %s\n", id);
    fflush(cli->out);
    launch_warn(cli, "task", answer);
    if (!c->follow)
        return 0;
    if (task_follow(cli, id, arena_printf(&cli->arena, "det task kill %s", id), err) < 0)
        return -1;
    return tell_end(cli, id, err);
}

int cmd_task_create(struct cli *cli, const struct args_task_create *args, struct error *err)
{
    cleanup_strbuf struct strbuf config = STRBUF_INIT;
    cleanup_json struct json_object *tree = NULL;
    cleanup_context struct context context = CONTEXT_INIT;
    if (args->inherit_context && !args->parent)
        return error_set(err, ERR_USAGE, "--inherit_context uses the files of the parent; name it by --parent");
    if (args->inherit_context && (args->context || args->include_n))
        return error_set(err, ERR_USAGE,
                         "--inherit_context uses the files of the parent; leave out --context and --include");
    if (config_file_read_with(cli, args->config_file, args->config, args->config_n, &config, &tree, err) < 0 ||
        context_prepare(cli, &context, args->context, args->include, args->include_n, /* terse= */ false, err) < 0)
        return -1;
    struct creation c = {.config = &config,
                         .context = &context,
                         .forked_from = args->fork,
                         .parent_id = args->parent,
                         .has_project_id = args->has_project_id,
                         .project_id = args->project_id,
                         .inherit_context = args->inherit_context,
                         .no_pause = args->no_pause,
                         .follow = args->follow};
    if (create_task(cli, &c, err) == 0)
        return 0;
    return config_file_blame(args->config_file, args->config_n > 0, err);
}

int cmd_task_fork(struct cli *cli, const struct args_task_fork *args, struct error *err)
{
    struct strbuf nothing = STRBUF_INIT;
    struct context none = CONTEXT_INIT;
    struct creation c = {.config = &nothing,
                         .context = &none,
                         .forked_from = args->parent_task_id,
                         .has_project_id = args->has_project_id,
                         .project_id = args->project_id,
                         .follow = args->follow};
    return create_task(cli, &c, err);
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

int cmd_task_kill(struct cli *cli, const struct args_task_kill *args, struct error *err)
{
    struct wire_kill_generic_task_request in = {.task_id = args->task_id, .kill_from_root = args->root};
    if (api_call(cli, ROUTE_ID_KILL_GENERIC_TASK, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Sucessfully killed task: %s\n", args->task_id); /* scripts look for this spelling */
    return 0;
}

int cmd_task_pause(struct cli *cli, const struct args_task_pause *args, struct error *err)
{
    struct wire_pause_generic_task_request in = {.task_id = args->task_id};
    if (api_call(cli, ROUTE_ID_PAUSE_GENERIC_TASK, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Paused task: %s\n", args->task_id);
    return 0;
}

int cmd_task_unpause(struct cli *cli, const struct args_task_unpause *args, struct error *err)
{
    struct wire_unpause_generic_task_request in = {.task_id = args->task_id};
    if (api_call(cli, ROUTE_ID_UNPAUSE_GENERIC_TASK, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Unpaused task: %s\n", args->task_id);
    return 0;
}

/* ---- the configuration ------------------------------------------------------------------------------------------- */

int cmd_task_config(struct cli *cli, const struct args_task_config *args, struct error *err)
{
    struct wire_get_generic_task_config_request in = {.task_id = args->task_id};
    struct wire_get_generic_task_config_response out;
    cleanup_json struct json_object *config = NULL;
    if (api_call(cli, ROUTE_ID_GET_GENERIC_TASK_CONFIG, &in, &out, err) < 0)
        return -1;
    if (!out.config || json_parse(out.config, strlen(out.config), &config, err) < 0)
        return error_set(err, ERR_INTERNAL, "the master's reply has no configuration of task %s", args->task_id);
    if (args->json)
        output_json(cli, config);
    else
        output_yaml(cli, config, /* empty_line= */ true);
    return 0;
}
