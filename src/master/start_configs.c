#include "master/start_configs.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

enum { KEPT = 64 }; /* the number of entries; the entry of an experiment is its id modulo this number */

struct start_configs {
    struct kept {
        char *text; /* NULL: the entry is empty */
        struct exp_config *config;
    } kept[KEPT];
};

struct start_configs *start_configs_new(void)
{
    struct start_configs *all = must_calloc(1, sizeof(*all));
    return all;
}

static void forget_config(struct kept *k)
{
    exp_config_free(k->config);
    free(k->text);
    *k = (struct kept){0};
}

void start_configs_free(struct start_configs *all)
{
    for (size_t i = 0; all && i < KEPT; i++)
        forget_config(&all->kept[i]);
    free(all);
}

/* An entry is used only if its text equals the stored text. So a configuration that has changed is read again. */
int start_configs_read(struct start_configs *all, int32_t experiment_id, const char *text,
                       const struct exp_config **ret, struct error *err)
{
    struct kept *k = &all->kept[(uint32_t)experiment_id % KEPT];
    if (!k->text || strcmp(k->text, text) != 0) {
        forget_config(k);
        if (exp_config_from_json(text, strlen(text), &k->config, err) < 0)
            return -1;
        k->text = must_strdup(text);
    }
    *ret = k->config;
    return 0;
}
