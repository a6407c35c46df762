#include <inttypes.h>
#include <string.h>

#include "cli/cmd/experiment.h"
#include "cli/connection/publish.h"
#include "cli/files/config_file.h"
#include "cli/files/context.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"
#include "core/config/expconf.h"

/* Whether the output is for a program: only the id, or only JSON. */
static bool is_terse(const struct args_experiment_create *args)
{
    return args->quiet || args->json;
}

static void print_created(struct cli *cli, const struct args_experiment_create *args, const struct wire_experiment *e)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_json struct json_object *v = NULL;
    if (args->json) {
        codec_encode(&wire_msg_experiment, e, &text);
        if (json_parse(strbuf_str(&text), text.n, &v, NULL) == 0) {
            output_fill_absent(&wire_msg_experiment, v);
            output_json(cli, v);
        }
    } else {
        fprintf(cli->out, args->quiet ? "%d\n" : "Created experiment %d\n", e->id);
    }
    fflush(cli->out);
}

/* What is sent: the files of the context, and a configuration. */
struct submission {
    const struct strbuf *config;
    const char *template; /* NULL: no template */
    bool validate_only, activate;
};

/* Writes the request's JSON by hand, because the files are read from disk directly into it. */
static int build_body(const struct args_experiment_create *args, const struct submission *s, const struct context *c,
                      struct strbuf *body, struct error *err)
{
    strbuf_adds(body, "{\"modelDefinition\":");
    if (context_write(c, body, err) < 0)
        return -1;
    strbuf_adds(body, ",\"config\":");
    strbuf_add_json(body, strbuf_str(s->config), s->config->n);
    strbuf_addf(body, ",\"activate\":%s", s->activate ? "true" : "false");
    if (s->validate_only)
        strbuf_adds(body, ",\"validateOnly\":true");
    if (args->has_project_id)
        strbuf_addf(body, ",\"projectId\":%" PRId64, args->project_id);
    if (s->template) {
        strbuf_adds(body, ",\"template\":");
        strbuf_add_json(body, s->template, strlen(s->template));
    }
    strbuf_addc(body, '}');
    return 0;
}

static int submit_experiment(struct cli *cli, const struct args_experiment_create *args, const struct submission *s,
                             const struct context *context, struct wire_create_experiment_response *out,
                             struct error *err)
{
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    if (build_body(args, s, context, &body, err) < 0)
        return -1;
    if (api_call_body(cli, ROUTE_ID_CREATE_EXPERIMENT, body.s, body.n, out, err) < 0)
        return config_file_blame(args->config_file, args->config_n > 0, err);
    return 0;
}

/* Checks the configuration first. Then creates a very small experiment with it, which shows whether the model can be
 * trained. */
static int create_test(struct cli *cli, const struct args_experiment_create *args, const struct submission *s,
                       struct context *context, struct error *err)
{
    cleanup_strbuf struct strbuf config = STRBUF_INIT;
    struct wire_create_experiment_response out;
    struct submission judged = {.config = s->config, .template = s->template, .validate_only = true};
    struct submission test = {.config = &config, .activate = true};
    fputs("Validating experiment configuration...\n", cli->out);
    fflush(cli->out);
    if (submit_experiment(cli, args, &judged, &(struct context)CONTEXT_INIT, &out, err) < 0)
        return -1;
    experiment_warn_of_config(cli, out.config_warnings, out.config_warnings_n);
    fputs("Experiment configuration validation succeeded! \U0001F389\nCreating test experiment...\n", cli->out);
    if (experiment_test_config(out.config, &config, err) < 0 ||
        submit_experiment(cli, args, &test, context, &out, err) < 0)
        return -1;
    context_release(context);
    fprintf(cli->out, "Created test experiment %d\n", out.experiment->id);
    fflush(cli->out);
    return experiment_watch_test(cli, out.experiment->id, err);
}

static void warn_of_retired_searcher(struct cli *cli, const char *config)
{
    struct exp_config *c = NULL;
    if (exp_config_from_json(config, strlen(config), &c, NULL) < 0)
        return;
    enum exp_searcher_kind kind = c->values.searcher.kind, runs_as = exp_searcher_runs_as(kind);
    if (runs_as != kind)
        cli_say(cli, CLI_YELLOW, "Warning: the searcher \"%s\" has been retired and runs as %s.",
                exp_searcher_kind_name(kind), exp_searcher_kind_name(runs_as));
    exp_config_free(c);
}

/* `ports` were opened before anything is created. */
static int submit_and_follow(struct cli *cli, const struct args_experiment_create *args, const struct submission *s,
                             struct context *context, struct publish *ports, struct error *err)
{
    struct wire_create_experiment_response out;
    if (submit_experiment(cli, args, s, context, &out, err) < 0)
        return -1;
    context_release(context); /* free the context, since following may take days */
    print_created(cli, args, out.experiment);
    experiment_warn(cli, out.experiment->id, out.warnings, out.warnings_n);
    warn_of_retired_searcher(cli, out.config);
    experiment_warn_of_config(cli, out.config_warnings, out.config_warnings_n);
    if (ports)
        publish_warn(ports, cli, out.config);
    return args->follow_first_trial && !args->paused ? experiment_follow(cli, out.experiment->id, ports, err) : 0;
}

static int create_experiment(struct cli *cli, const struct args_experiment_create *args, const struct submission *s,
                             struct context *context, struct error *err)
{
    struct publish *ports = NULL;
    bool follows = args->follow_first_trial && !args->paused;
    if (args->publish_n && !follows)
        cli_say(cli, CLI_YELLOW,
                "Warning: ports are published while the first trial is followed (-f); --publish does nothing.");
    else if (args->publish_n && publish_open(args->publish, args->publish_n, &ports, err) < 0)
        return -1;
    int rc = submit_and_follow(cli, args, s, context, ports, err);
    publish_close(ports);
    return rc;
}

int cmd_experiment_create(struct cli *cli, const struct args_experiment_create *args, struct error *err)
{
    cleanup_strbuf struct strbuf config = STRBUF_INIT;
    cleanup_json struct json_object *tree = NULL;
    cleanup_context struct context context = CONTEXT_INIT;
    if (args->local && args->template_n)
        return error_set(err, ERR_USAGE,
                         "--local does not ask the master, which keeps the templates; leave out --template");
    if (args->template_n > 1)
        return error_set(err, ERR_USAGE, "--template may be given only once");
    if (config_file_read_with(cli, args->config_file, args->config, args->config_n, &config, &tree, err) < 0)
        return -1;
    if (args->local)
        return experiment_run_local(cli, tree, args->model_def, args->test_mode, err);
    if (context_prepare(cli, &context, args->model_def, args->include, args->include_n, is_terse(args), err) < 0)
        return -1;
    struct submission s = {.config = &config,
                           .template = args->template_n ? args->template[0] : NULL,
                           .activate = !args->paused};
    return args->test_mode ? create_test(cli, args, &s, &context, err)
                           : create_experiment(cli, args, &s, &context, err);
}
