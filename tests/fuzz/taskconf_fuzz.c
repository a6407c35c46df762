/* The configuration of a task that is no trial, as anybody may post it: the first byte chooses the kind of task. What
 * is accepted must come back from the store as it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/taskconf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_accepted(const struct taskconf *c)
{
    struct taskconf *stored = NULL;
    if (taskconf_from_json(c->kind, c->json, strlen(c->json), &stored, NULL) < 0 || strcmp(stored->json, c->json) != 0)
        abort();
    taskconf_free(stored);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct expconf_pool pool = {.name = "default", .default_priority = 42};
    struct expconf_context ctx = {
        .pool = &pool,
        .pool_n = 1,
        .default_compute_pool = "default",
        .default_aux_pool = "default",
        .template_config = json_tokener_parse(
            "{\"resources\":{\"slots\":2},\"tensorboard_args\":[\"a\"],\"environment\":"
            "{\"environment_variables\":[\"A=1\"],\"image\":\"i\"}}"),
    };
    struct taskconf_request rq = {.kind = n > 0 ? TASK_KIND_COMMAND + data[0] % (TASK_KIND_NR - TASK_KIND_COMMAND)
                                                : TASK_KIND_COMMAND,
                                  .cluster = &ctx,
                                  .text = n > 0 ? (const char *)data + 1 : "",
                                  .text_n = n > 0 ? n - 1 : 0,
                                  .tensorboard_timeout_s = 300};
    struct taskconf *c = NULL;
    if (taskconf_prepare(&rq, &c, NULL) == 0)
        check_accepted(c);
    taskconf_free(c);
    json_object_put(ctx.template_config);
    return 0;
}
