/* --days and --forever of `set log-retention`, and numbers that may be none. */
#ifndef DET_CLI_CMD_LOG_RETENTION_H
#define DET_CLI_CMD_LOG_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

/* A whole number, or "none" or "null"; -1 for anything else. */
int none_or_int(const char *text, bool *ret_has, int64_t *ret);
/* -1 stands for ever. */
int log_retention_days(const char *days, bool forever, int32_t *ret, struct error *err);

#endif
