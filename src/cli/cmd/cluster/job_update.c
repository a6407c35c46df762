/* Changes jobs in the queue: one job by options, or several at once by operations such as ID.priority=1. The master
 * accepts unique beginnings of ids, and makes either all changes or none. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connection/api.h"
#include "gen/config_numbers.h"

static int send_changes(struct cli *cli, struct wire_job_queue_control *change, size_t n, struct error *err)
{
    return api_call(cli, ROUTE_ID_UPDATE_JOB_QUEUE,
                    &(struct wire_update_job_queue_request){.updates = change, .updates_n = n}, NULL, err);
}

static int take_priority(int64_t priority, struct wire_job_queue_control *ret, struct error *err)
{
    if (priority < EXP_RESOURCES_PRIORITY_MIN || priority > EXP_RESOURCES_PRIORITY_MAX)
        return error_set(err, ERR_INVALID, "priority must be between %d and %d (lower goes first), found %" PRId64,
                         EXP_RESOURCES_PRIORITY_MIN, EXP_RESOURCES_PRIORITY_MAX, priority);
    ret->has_priority = true;
    ret->priority = (int32_t)priority;
    return 0;
}

static int take_weight(double weight, struct wire_job_queue_control *ret, struct error *err)
{
    if (!(weight > 0))
        return error_set(err, ERR_INVALID, "weight must be a number above 0, found %g", weight);
    ret->has_weight = true;
    ret->weight = (float)weight;
    return 0;
}

int cmd_job_update(struct cli *cli, const struct args_job_update *args, struct error *err)
{
    struct wire_job_queue_control change = {.job_id = args->job_id,
                                            .resource_pool = args->resource_pool,
                                            .ahead_of = args->ahead_of,
                                            .behind_of = args->behind_of};
    if ((args->has_priority && take_priority(args->priority, &change, err) < 0) ||
        (args->has_weight && take_weight(args->weight, &change, err) < 0))
        return -1;
    if (!args->has_priority && !args->has_weight && !args->resource_pool && !args->ahead_of && !args->behind_of)
        return error_set(err, ERR_INVALID,
                         "nothing to change: give --priority, --weight, --ahead-of, --behind-of or "
                         "--resource-pool");
    return send_changes(cli, &change, 1, err);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static int bad_value(const char *operation, const char *what, struct error *err)
{
    return error_set(err, ERR_INVALID, "%s: %s", operation, what);
}

static int take_value(const char *operation, const char *key, const char *value, struct wire_job_queue_control *ret,
                      struct error *err)
{
    char *end;
    errno = 0;
    if (*value == '\0')
        return bad_value(operation, "the value is missing", err);
    if (strcmp(key, "priority") == 0) {
        long long priority = strtoll(value, &end, 10);
        return *end || errno ? bad_value(operation, "the priority is not a whole number", err)
                             : take_priority(priority, ret, err);
    }
    if (strcmp(key, "weight") == 0) {
        double weight = strtod(value, &end);
        return *end ? bad_value(operation, "the weight is not a number", err) : take_weight(weight, ret, err);
    }
    if (strcmp(key, "ahead-of") == 0)
        ret->ahead_of = value;
    else if (strcmp(key, "behind-of") == 0)
        ret->behind_of = value;
    else if (strcmp(key, "resource-pool") == 0)
        ret->resource_pool = value;
    else
        return bad_value(operation, "it can change priority, weight, ahead-of, behind-of or resource-pool", err);
    return 0;
}

/* Parses JOB_ID.KEY=VALUE. */
static int read_operation(struct cli *cli, const char *operation, struct wire_job_queue_control *ret, struct error *err)
{
    const char *dot = strchr(operation, '.'), *equals = dot ? strchr(dot, '=') : NULL;
    if (!equals || dot == operation)
        return bad_value(operation, "operations have the form JOB_ID.KEY=VALUE, such as 2a1b.priority=10", err);
    *ret = (struct wire_job_queue_control){.job_id = arena_strndup(&cli->arena, operation, (size_t)(dot - operation))};
    const char *key = arena_strndup(&cli->arena, dot + 1, (size_t)(equals - dot - 1));
    return take_value(operation, key, equals + 1, ret, err);
}

int cmd_job_update_batch(struct cli *cli, const struct args_job_update_batch *args, struct error *err)
{
    struct wire_job_queue_control *change = arena_array(&cli->arena, struct wire_job_queue_control,
                                                        args->operation_n + 1);
    for (size_t i = 0; i < args->operation_n; i++)
        if (read_operation(cli, args->operation[i], &change[i], err) < 0)
            return -1;
    return send_changes(cli, change, args->operation_n, err);
}
