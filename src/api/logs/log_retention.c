/* How long the logs of a trial's tasks are kept, and the deletion of those whose time is over. Experiments have their
 * own route among their actions. */
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

/* -1 for ever; whole days, the one that has begun counted, from now or, while the trial runs, from its end. */
static int32_t remaining_days(const struct store_trial *t, int32_t default_days, int64_t now_us)
{
    int32_t days = t->has_log_retention ? t->log_retention_days : default_days;
    if (days < 0)
        return FOR_EVER;
    int64_t left_us = (t->row.end_us ? t->row.end_us - now_us : 0) + days * DAY_US; /* at most some decades */
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

static void swept(void *arg, int64_t removed, const struct error *err)
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
    if (s->sweep_logs(s->ctx, swept, r, err) < 0)
        return -1;
    return req_wait(r, /* on_gone= */ NULL);
}
