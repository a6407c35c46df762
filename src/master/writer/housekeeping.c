#include "master/writer/housekeeping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/identity.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "master/writer/writer.h"
#include "net/loop/loop.h"
#include "store/changes/changes.h"
#include "store/engine/meta.h"
#include "store/experiments/unmanaged.h"
#include "store/functions.h"

/* After this time without a message, an unmanaged trial counts as lost. */
#define UNMANAGED_SILENCE_US 300000000ll
#define DAY_US 86400000000ll
enum { AUDIT_RECORDS_AT_ONCE = 10000 };

struct housekeeping {
    struct writer *writer;
    struct identities *identities;
    struct loop_timer *timer;
    int64_t period_us;
    int64_t audit_days; /* -1: records of the audit log are kept for ever */
};

struct round {
    int64_t now_us, expired, audit_days;
    int64_t head_seq; /* the last record of the audit log; 0: its hash has been written to the master's log already */
    char head_hash[CHANGE_HASH_TEXT_MAX];
    size_t lost; /* the number of unmanaged trials */
};

static int look_after_audit_log(struct store *db, struct round *r, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_change_head head;
    const char *logged;
    int64_t removed;
    if (r->audit_days >= 0 &&
        store_changes_trim(db, r->now_us - r->audit_days * DAY_US, AUDIT_RECORDS_AT_ONCE, &removed, err) < 0)
        return -1;
    if (store_change_head(db, &a, &head, err) < 0 || store_kv_get(db, "audit.head_logged", &a, &logged, err) < 0)
        return -1;
    r->head_seq = logged && strcmp(logged, head.hash) == 0 ? 0 : head.seq;
    snprintf(r->head_hash, sizeof(r->head_hash), "%s", head.hash);
    return r->head_seq ? store_kv_set(db, "audit.head_logged", head.hash, err) : 0;
}

static int clean_store(struct store *db, void *job, struct error *err)
{
    struct round *r = job;
    if (store_heartbeat_set(db, r->now_us, err) < 0 ||
        store_unmanaged_expire(db, r->now_us - UNMANAGED_SILENCE_US, &r->lost, err) < 0)
        return -1;
    if (look_after_audit_log(db, r, err) < 0)
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
    /* A log that is kept on another machine shows later that the end of the audit log was not removed together with its
     * head: det master audit verify --head. */
    if (!err && r->head_seq)
        log_info("audit.head", "record=%lld:%s", (long long)r->head_seq, r->head_hash);
    if (!err && r->lost)
        log_info("trial.lost", "count=%zu reason=silent_for_5_minutes", r->lost);
    free(r);
}

static void on_time(void *ctx)
{
    struct housekeeping *h = ctx;
    loop_timer_arm(h->timer, h->period_us);
    struct round *r = must_calloc(1, sizeof(*r));
    r->audit_days = h->audit_days;
    r->now_us = clock_now_us();
    identities_drop_expired(h->identities, r->now_us);
    struct writer_job job = {clean_store, store_cleaned, r};
    writer_submit(h->writer, &job, 1);
}

int housekeeping_new(struct loop *l, struct writer *w, struct identities *ids, int64_t period_us, int64_t audit_days,
                     struct housekeeping **ret, struct error *err)
{
    struct housekeeping *h = must_calloc(1, sizeof(*h));
    *h = (struct housekeeping){.writer = w, .identities = ids, .period_us = period_us, .audit_days = audit_days};
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
