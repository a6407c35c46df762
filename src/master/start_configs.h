/* Keeps the configurations of experiments whose trials were started last. An experiment's trials often start by the
 * hundred, and reading and checking its configuration takes longer than everything else about a start. For the writer's
 * thread only. */
#ifndef DET_MASTER_START_CONFIGS_H
#define DET_MASTER_START_CONFIGS_H

#include "core/config/expconf.h"

struct start_configs;
struct start_configs *start_configs_new(void);
void start_configs_free(struct start_configs *all); /* all may be NULL */
/* Reads the configuration in `text`. *ret is valid until the next call. */
int start_configs_read(struct start_configs *all, int32_t experiment_id, const char *text,
                       const struct exp_config **ret, struct error *err);

#endif
