/* Rules for access tokens: how long they live, and what their descriptions may hold. Pure functions. */
#ifndef DET_API_ACCOUNTS_TOKEN_RULES_H
#define DET_API_ACCOUNTS_TOKEN_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

enum {
    TOKEN_DESCRIPTION_MAX = 1000, /* bytes */
    TOKENS_IN_FORCE_MAX = 1000,   /* of one user */
};

/* security.token of the master's configuration, in days; -1: no limit. */
struct token_days {
    bool has_default;
    int64_t by_default, max;
};

/* How long a token lives that is asked for with the lifespan `given`: a duration such as "720h", "-1" for a token
 * without an end, or NULL for the configured lifespan. A token without an end lives for 106,751 days, as in release
 * 0.38.1. ERR_INVALID: it is no duration, not positive, or longer than the configuration allows. */
int token_lifespan(const char *given, const struct token_days *days, int64_t *ret_us, struct error *err);
/* `given` may be NULL. A description has no control characters. */
int token_description_check(const char *given, struct error *err);

#endif
