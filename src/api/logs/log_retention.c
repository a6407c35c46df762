/* Sets for how long the logs of a trial's tasks are kept, and deletes logs that have been kept long enough. The
 * route for experiments is in experiments/experiment_actions.c. */
#include "api/experiments/experiment_actions.h"
#include "api/pipeline/internal.h"
#include "common/config/config.h"
#include "gen/handlers.h"
#include "store/experiments/trials.h"

enum { FOR_EVER = -1 };
#define DAY_US INT64_C(86400000000)

int api_put_trial_retain_logs(struct req *r, struct store *db, const struct wire_put_trial_retain_logs_request *in,
                              struct wire_put_trial_retain_logs_response *ret, struct error *err)
{
    if (check_retention_days(in->num_days, err) < 0)
        return -1;
    return store_trial_set_log_retention(db, in->trial_id, true, in->num_days, err);
}

/* The whole days that logs are still kept, the day that has begun included; -1: for ever. While the trial runs, the
 * days count from its end. */
static int32_t remaining_days(const struct store_trial *t, int32_t default_days, int64_t now_us)
{
    int32_t days = t->has_log_retention ? t->log_retention_days : default_days;
    if (days < 0)
        return FOR_EVER;
    /* days is at most some decades, so that this does not overflow */
    int64_t left_us = (t->row.end_us ? t->row.end_us - now_us : 0) + days * DAY_US;
    return left_us > 0 ? (int32_t)((left_us + DAY_US - 1) / DAY_US) : 0;
}

int api_get_trial_remaining_log_retention_days(struct req *r, struct store *db,
                                               const struct wire_get_trial_remaining_log_retention_days_request *in,
                                               struct wire_get_trial_remaining_log_retention_days_response *ret,
                                               struct error *err)
{
    struct store_trial t;
    if (store_trial_get(db, in->id, /* full= */ false, &r->arena, &t, err) < 0)
        return -1;
    struct json_object *days = config_get(api_info(r->api)->config, "retention_policy.log_retention_days");
    ret->remaining_days = remaining_days(&t, days ? json_object_get_int(days) : FOR_EVER, r->now_us);
    ret->has_remaining_days = true;
    return 0;
}

static void expired_logs_deleted(void *arg, int64_t removed, const struct error *err)
{
    struct req *r = arg;
    struct error failed = ERROR_INIT;
    struct wire_cleanup_logs_response *ret = r->ret;
    ret->removed_count = removed;
    if (err)
        error_set(&failed, err->kind, "%s", error_msg(err));
    req_finish(r, &failed);
}

int api_cleanup_logs(struct req *r, struct core *core, const struct wire_cleanup_logs_request *in,
                     struct wire_cleanup_logs_response *ret, struct error *err)
{
    const struct api_services *s = &r->api->services;
    if (s->delete_expired_logs(s->ctx, expired_logs_deleted, r, err) < 0)
        return -1;
    return req_wait(r, /* on_gone= */ NULL);
}
