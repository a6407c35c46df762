/* YAML of an experiment's configuration, as anybody may post it. Whatever is accepted must survive all further steps,
 * print as JSON that reads back, and be found in order by the reader of stored configurations. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/expconf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void prepare_document(const char *yaml, size_t n)
{
    struct expconf_pool pool = {.name = "default", .default_priority = 42};
    struct expconf_context ctx = {
        .pool = &pool,
        .pool_n = 1,
        .default_compute_pool = "default",
        .default_aux_pool = "default",
        .template_config = json_tokener_parse(
            "{\"labels\":[\"t\"],\"hyperparameters\":{\"a\":1},\"checkpoint_storage\":"
            "{\"type\":\"directory\",\"container_path\":\"/c\"}}"),
    };
    struct exp_config *c = NULL, *again = NULL;
    int rc = expconf_prepare(yaml, n, &ctx, &c, NULL);
    json_object_put(ctx.template_config);
    if (rc < 0)
        return;
    if (exp_config_from_json(c->json, strlen(c->json), &again, NULL) < 0)
        abort();
    exp_config_free(c);
    exp_config_free(again);
}

static void print_and_read_back(const char *yaml, size_t n)
{
    struct json_object *tree = NULL, *again = NULL;
    if (yaml_parse(yaml, n, &tree, NULL, NULL) < 0)
        return;
    struct strbuf out = STRBUF_INIT;
    yaml_print(tree, &out);
    if (yaml_parse(strbuf_str(&out), out.n, &again, NULL, NULL) < 0)
        abort();
    strbuf_release(&out);
    json_object_put(tree);
    json_object_put(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    print_and_read_back((const char *)data, n);
    prepare_document((const char *)data, n);
    return 0;
}
