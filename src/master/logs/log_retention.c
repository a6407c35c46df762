#include "master/logs/log_retention.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/config/schedule.h"
#include "common/system/log.h"
#include "master/master.h"
#include "store/logs/task_logs.h"

enum {
    BLOCKS_PER_JOB = 256,
    FOR_EVER = -1,
};
#define LONGEST_SLEEP_US 3600000000 /* limited because the clock may be set while the timer runs */

struct log_retention {
    struct master *m;
    struct loop_timer *timer;
    struct schedule schedule;
    int64_t next_us;
    /* The state of the sweep that runs now. */
    bool busy, more;
    int64_t now_us, removed, removed_now;
    int32_t days; /* as the configuration says */
    log_sweep_done_fn *done;
    void *ctx;
};

/* ---- a sweep ----------------------------------------------------------------------------------------------------- */

static int sweep_part(struct store *db, void *job, struct error *err)
{
    struct log_retention *r = job;
    return store_task_log_sweep(db, r->now_us, r->days, BLOCKS_PER_JOB, &r->removed_now, &r->more, err);
}

static void part_swept(void *job, const struct error *err);

static void next_part(struct log_retention *r)
{
    struct writer_job job = {sweep_part, part_swept, r};
    writer_submit(r->m->writer, &job, 1);
}

static void part_swept(void *job, const struct error *err)
{
    struct log_retention *r = job;
    r->removed += err ? 0 : r->removed_now;
    if (!err && r->more && !r->m->draining) {
        next_part(r);
        return;
    }
    if (err)
        log_warning("log.sweep_failed", "removed=%lld reason=%s action=next_time", (long long)r->removed,
                    log_quote(error_msg(err)));
    else
        log_info("log.swept", "removed=%lld", (long long)r->removed);
    r->busy = false;
    if (r->done)
        r->done(r->ctx, r->removed, err);
}

int log_retention_sweep(struct log_retention *r, log_sweep_done_fn *done, void *ctx, struct error *err)
{
    if (r->busy)
        return error_set(err, ERR_ABORTED, "old task logs are being deleted already; ask again when that is done");
    r->busy = true;
    r->done = done;
    r->ctx = ctx;
    r->removed = 0;
    r->now_us = clock_now_us();
    next_part(r);
    return 0;
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

static void sleep_until_next(struct log_retention *r, int64_t now_us)
{
    if (r->next_us == INT64_MAX)
        return;
    int64_t wait = r->next_us > now_us ? r->next_us - now_us : 0;
    loop_timer_arm(r->timer, wait < LONGEST_SLEEP_US ? wait : LONGEST_SLEEP_US);
}

static void on_time(void *ctx)
{
    struct log_retention *r = ctx;
    int64_t now = clock_now_us();
    if (now >= r->next_us) {
        log_retention_sweep(r, NULL, NULL, NULL); /* if a sweep runs already, no other one is needed */
        r->next_us = schedule_next_us(&r->schedule, now);
    }
    sleep_until_next(r, now);
}

struct log_retention *log_retention_new(struct master *m)
{
    struct log_retention *r = must_calloc(1, sizeof(*r));
    const char *schedule = config_str(m->config, "retention_policy.schedule");
    struct json_object *days = config_get(m->config, "retention_policy.log_retention_days");
    *r = (struct log_retention){.m = m, .days = days ? json_object_get_int(days) : FOR_EVER};
    r->timer = loop_timer_new(m->loop, on_time, r);
    if (schedule && *schedule &&
        schedule_parse(schedule, &r->schedule, NULL) == 0) { /* the schedule was checked with the configuration */
        int64_t now = clock_now_us();
        r->next_us = schedule_next_us(&r->schedule, now);
        sleep_until_next(r, now);
    }
    return r;
}

void log_retention_free(struct log_retention *r)
{
    if (!r)
        return;
    loop_timer_free(r->timer);
    free(r);
}
