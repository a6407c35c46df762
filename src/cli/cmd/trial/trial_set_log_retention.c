#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "cli/cmd/log_retention.h"
#include "cli/connection/api.h"

int none_or_int(const char *text, bool *ret_has, int64_t *ret)
{
    char *end;
    *ret_has = strcasecmp(text, "none") != 0 && strcasecmp(text, "null") != 0;
    if (!*ret_has)
        return 0;
    errno = 0;
    *ret = strtoll(text, &end, 10);
    return errno || end == text || *end ? -1 : 0;
}

int log_retention_days(const char *days, bool forever, int32_t *ret, struct error *err)
{
    enum { LEAST = -1, MOST = 32767 };
    bool has = false;
    int64_t n = LEAST;
    if (days && none_or_int(days, &has, &n) < 0)
        return error_set(err, ERR_USAGE, "--days must be a whole number, found '%s'", days);
    if (!has && !forever)
        return error_set(
            err, ERR_INVALID,
            "Please provide an argument to set log retention: --days N keeps logs for N days after the end "
            "of the task, --forever keeps them.");
    if (n < LEAST || n > MOST)
        return error_set(err, ERR_INVALID,
                         "Please provide a valid value for --days. The allowed range is between %d and %d days.", LEAST,
                         MOST);
    *ret = (int32_t)n;
    return 0;
}

int cmd_trial_set_log_retention(struct cli *cli, const struct args_trial_set_log_retention *args, struct error *err)
{
    struct wire_put_trial_retain_logs_request in = {.trial_id = (int32_t)args->trial_id};
    if (log_retention_days(args->days, args->forever, &in.num_days, err) < 0)
        return -1;
    return api_call(cli, ROUTE_ID_PUT_TRIAL_RETAIN_LOGS, &in, NULL, err);
}
