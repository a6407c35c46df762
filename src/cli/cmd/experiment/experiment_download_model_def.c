#include <inttypes.h>
#include <string.h>

#include "cli/connection/api.h"
#include "common/base/base64.h"
#include "common/system/files.h"

int cmd_experiment_download_model_def(struct cli *cli, const struct args_experiment_download_model_def *args,
                                      struct error *err)
{
    struct wire_get_model_def_request in = {.experiment_id = (int32_t)args->experiment_id};
    struct wire_get_model_def_response out;
    if (api_call(cli, ROUTE_ID_GET_MODEL_DEF, &in, &out, err) < 0)
        return -1;
    const char *text = out.b64_tgz ? out.b64_tgz : "";
    size_t n = strlen(text);
    uint8_t *bytes = arena_alloc(&cli->arena, base64_decoded_max(n));
    if (base64_decode(text, n, bytes, &n) < 0)
        return error_set(err, ERR_INTERNAL, "the master's archive of experiment %" PRId64 " is not base64",
                         args->experiment_id);
    const char *path = arena_printf(&cli->arena, "%s/experiment_%" PRId64 "_model_def.tgz", args->output_dir,
                                    args->experiment_id);
    return file_write(path, bytes, n, 0644, err);
}
