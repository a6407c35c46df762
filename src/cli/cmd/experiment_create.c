#include <inttypes.h>
#include <string.h>

#include "cli/cmd/experiment.h"
#include "cli/config_file.h"
#include "cli/context.h"
#include "cli/terminal.h"
#include "common/cleanup.h"

static void say_prepared(struct cli *cli, const struct context *c, const char *end)
{
    fprintf(cli->out, "Preparing files to send to master... %s and %zu files%s",
            format_size(&cli->arena, (double)c->size), c->n, end);
}

static int read_context(struct cli *cli, const struct args_experiment_create *args, struct context *c,
                        struct error *err)
{
    if (!args->model_def && args->include_n == 0)
        return 0;
    if (cli->out_terminal) { /* redrawn below; a pipe gets the line once */
        say_prepared(cli, c, "\r");
        fflush(cli->out);
    }
    int rc = context_read(c, args->model_def, args->include, args->include_n, CONTEXT_SIZE_MAX, err);
    if (rc == 0)
        say_prepared(cli, c, "");
    fputc('\n', cli->out);
    for (size_t i = 0; i < c->skipped_n; i++)
        fprintf(cli->out, "Skipped %s\n", c->skipped[i]);
    return rc;
}

/* Written by hand for the sake of the files, which go straight from the disk into the body. */
static int build_body(const struct args_experiment_create *args, const struct strbuf *config, const struct context *c,
                      struct strbuf *body, struct error *err)
{
    strbuf_adds(body, "{\"modelDefinition\":");
    if (context_write(c, body, err) < 0)
        return -1;
    strbuf_adds(body, ",\"config\":");
    strbuf_add_json(body, strbuf_str(config), config->n);
    strbuf_addf(body, ",\"activate\":%s", args->paused ? "false" : "true");
    if (args->has_project_id)
        strbuf_addf(body, ",\"projectId\":%" PRId64, args->project_id);
    if (args->template_n) {
        strbuf_adds(body, ",\"template\":");
        strbuf_add_json(body, args->template[0], strlen(args->template[0]));
    }
    strbuf_addc(body, '}');
    return 0;
}

int cmd_experiment_create(struct cli *cli, const struct args_experiment_create *args, struct error *err)
{
    cleanup_strbuf struct strbuf config = STRBUF_INIT, body = STRBUF_INIT;
    cleanup_json struct json_object *tree = NULL;
    cleanup_context struct context context = CONTEXT_INIT;
    struct wire_create_experiment_response out;
    if (args->local)
        return error_set(err, ERR_UNIMPLEMENTED, "--local is gone: run the script itself on this machine");
    if (args->test_mode)
        return error_set(err, ERR_UNIMPLEMENTED, "--test-mode is planned, but not part of this version");
    if (args->publish_n)
        return error_set(err, ERR_UNIMPLEMENTED, "--publish is planned, but not part of this version");
    if (args->template_n > 1)
        return error_set(err, ERR_USAGE, "--template may be given once: a configuration is created upon one template");
    if (config_file_read_with(cli, args->config_file, args->config, args->config_n, &config, &tree, err) < 0 ||
        read_context(cli, args, &context, err) < 0 || build_body(args, &config, &context, &body, err) < 0)
        return -1;
    if (api_call_body(cli, ROUTE_ID_CREATE_EXPERIMENT, body.s, body.n, &out, err) < 0)
        return config_file_blame(args->config_file, args->config_n > 0, err);
    strbuf_release(&body); /* a follower may live for days */
    context_release(&context);
    fprintf(cli->out, "Created experiment %d\n", out.experiment->id);
    fflush(cli->out);
    experiment_warn(cli, out.warnings, out.warnings_n);
    return args->follow_first_trial && !args->paused ? experiment_follow(cli, out.experiment->id, err) : 0;
}
