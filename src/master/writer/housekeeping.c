#include "master/writer/housekeeping.h"

#include <stdlib.h>

#include "api/pipeline/identity.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "master/writer/writer.h"
#include "net/loop/loop.h"
#include "store/engine/meta.h"
#include "store/experiments/unmanaged.h"
#include "store/functions.h"

/* After this time without a message, an unmanaged trial counts as lost. */
#define UNMANAGED_SILENCE_US 300000000ll

struct housekeeping {
    struct writer *writer;
    struct identities *identities;
    struct loop_timer *timer;
    int64_t period_us;
};

struct round {
    int64_t now_us, expired;
    size_t lost; /* the number of unmanaged trials */
};

static int clean_store(struct store *db, void *job, struct error *err)
{
    struct round *r = job;
    if (store_heartbeat_set(db, r->now_us, err) < 0 ||
        store_unmanaged_expire(db, r->now_us - UNMANAGED_SILENCE_US, &r->lost, err) < 0)
        return -1;
    return store_sessions_delete_expired(db, r->now_us, &r->expired, err);
}

static void store_cleaned(void *job, const struct error *err)
{
    struct round *r = job;
    if (err)
        log_warning("housekeeping.failed", "reason=%s action=next_round", log_quote(error_msg(err)));
    else if (r->expired)
        log_info("sessions.expired", "count=%lld", (long long)r->expired);
    if (!err && r->lost)
        log_info("trial.lost", "count=%zu reason=silent_for_5_minutes", r->lost);
    free(r);
}

static void on_time(void *ctx)
{
    struct housekeeping *h = ctx;
    loop_timer_arm(h->timer, h->period_us);
    struct round *r = must_calloc(1, sizeof(*r));
    r->now_us = clock_now_us();
    identities_drop_expired(h->identities, r->now_us);
    struct writer_job job = {clean_store, store_cleaned, r};
    writer_submit(h->writer, &job, 1);
}

int housekeeping_new(struct loop *l, struct writer *w, struct identities *ids, int64_t period_us,
                     struct housekeeping **ret, struct error *err)
{
    struct housekeeping *h = must_calloc(1, sizeof(*h));
    *h = (struct housekeeping){.writer = w, .identities = ids, .period_us = period_us};
    h->timer = loop_timer_new(l, on_time, h);
    loop_timer_arm(h->timer, period_us);
    *ret = h;
    return 0;
}

void housekeeping_free(struct housekeeping *h)
{
    if (!h)
        return;
    loop_timer_free(h->timer);
    free(h);
}
