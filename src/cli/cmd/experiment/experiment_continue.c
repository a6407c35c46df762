#include <inttypes.h>

#include "cli/cmd/experiment.h"
#include "cli/files/config_file.h"
#include "cli/files/override.h"
#include "common/base/cleanup.h"

/* What changes: the file, then the single keys. "{}" changes nothing. */
static int read_override(struct cli *cli, const struct args_experiment_continue *args, struct strbuf *ret,
                         struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    if (args->config_file)
        return config_file_read_with(cli, args->config_file, args->config, args->config_n, ret, &config, err);
    config = json_object_new_object();
    for (size_t i = 0; i < args->config_n; i++)
        if (override_apply(config, args->config[i], err) < 0)
            return -1;
    yaml_print(config, ret);
    return 0;
}

int cmd_experiment_continue(struct cli *cli, const struct args_experiment_continue *args, struct error *err)
{
    cleanup_strbuf struct strbuf override = STRBUF_INIT;
    struct wire_continue_experiment_request in = {.id = (int32_t)args->experiment_id};
    struct wire_continue_experiment_response out;
    if (read_override(cli, args, &override, err) < 0)
        return -1;
    in.override_config = strbuf_str(&override);
    if (api_call(cli, ROUTE_ID_CONTINUE_EXPERIMENT, &in, &out, err) < 0)
        return config_file_blame(args->config_file ? args->config_file : "--config",
                                 !args->config_file || args->config_n > 0, err);
    fprintf(cli->out, "Continued experiment %" PRId64 "\n", args->experiment_id);
    fflush(cli->out);
    experiment_warn(cli, out.experiment->id, out.warnings, out.warnings_n);
    experiment_warn_of_config(cli, out.config_warnings, out.config_warnings_n);
    return args->follow_first_trial ? experiment_follow(cli, out.experiment->id, /* ports= */ NULL, err) : 0;
}
