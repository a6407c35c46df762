#include "api/accounts/token_rules.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/config/schema.h"

#define HOUR_US (INT64_C(3600) * 1000000)
#define DAY_US (24 * HOUR_US)

enum {
    ENDLESS_DAYS = 106751, /* the longest duration that 64 bits hold in ns */
    USUAL_DAYS = 30,
};

static int64_t lifespan_max_us(const struct token_days *days)
{
    return (days->max == -1 ? ENDLESS_DAYS : days->max) * DAY_US;
}

static int64_t usual_lifespan_us(const struct token_days *days)
{
    int64_t us = (days->has_default ? days->by_default : USUAL_DAYS) * DAY_US, max_us = lifespan_max_us(days);
    if (days->has_default && days->by_default == -1)
        us = ENDLESS_DAYS * DAY_US;
    return us < max_us ? us : max_us;
}

static int read_lifespan(const char *given, int64_t *ret_us, struct error *err)
{
    int64_t ns;
    if (strcmp(given, "-1") == 0) {
        *ret_us = ENDLESS_DAYS * DAY_US;
        return 0;
    }
    if (strlen(given) > 64 || duration_parse(given, &ns) < 0)
        return error_set(err, ERR_INVALID,
                         "lifespan is \"%.64s\": give a duration such as 720h, or -1 for a token without an end",
                         given);
    *ret_us = ns / 1000;
    return 0;
}

int token_lifespan(const char *given, const struct token_days *days, int64_t *ret_us, struct error *err)
{
    int64_t us = usual_lifespan_us(days);
    if (given && *given && read_lifespan(given, &us, err) < 0)
        return -1;
    if (us <= 0)
        return error_set(err, ERR_INVALID,
                         "lifespan is \"%.64s\": it must be more than 0, or -1 for a token without an end",
                         given && *given ? given : "0h");
    if (us > lifespan_max_us(days))
        return error_set(err, ERR_INVALID,
                         "lifespan is \"%.64s\": tokens live for %" PRId64
                         "h at most here (security.token.max_lifespan_days is %" PRId64 ")",
                         given, lifespan_max_us(days) / HOUR_US, days->max);
    *ret_us = us;
    return 0;
}

int token_description_check(const char *given, struct error *err)
{
    size_t n = given ? strlen(given) : 0;
    if (n > TOKEN_DESCRIPTION_MAX)
        return error_set(err, ERR_INVALID, "the description has %zu bytes, at most %d are allowed", n,
                         TOKEN_DESCRIPTION_MAX);
    const char *bad = n ? text_find_control(given) : NULL;
    return bad ? error_set(err, ERR_INVALID,
                           "the description has the control character 0x%02x at byte %zu: write it in one line of text",
                           (unsigned char)*bad, (size_t)(bad - given) + 1)
               : 0;
}
