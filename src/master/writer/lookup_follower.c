#include "master/writer/lookup_follower.h"

#include <stdlib.h>

#include "common/base/must.h"
#include "common/system/log.h"
#include "master/writer/writer.h"
#include "net/loop/pool.h"
#include "store/lookup/lookup.h"

#define PERIOD_US 1000000ll

struct lookup_follower {
    struct pool *lookups;
    struct writer *writer;
    struct loop_timer *timer;
    bool stopped, failing;
    struct lookup_state state; /* written by one job at a time, on the thread of lookups */
    struct error err;
};

static void refresh_lookup(void *db, void *job)
{
    struct lookup_follower *f = job;
    store_lookup_refresh(db, &f->state, &f->err);
}

static int trim_changes(struct store *db, void *job, struct error *err)
{
    return store_lookup_trim(db, err);
}

static void changes_trimmed(void *job, const struct error *err)
{
    if (err)
        log_warning("search.trim_failed", "reason=%s action=next_round", log_quote(error_msg(err)));
}

static void wait_for_next(struct lookup_follower *f)
{
    if (!f->stopped)
        loop_timer_arm(f->timer, PERIOD_US);
}

/* Handles the end of a refresh. A failure is logged only when it begins. While it lasts, lookups fail for the same
 * reason, and tell their users so. */
static void lookup_refreshed(void *job)
{
    struct lookup_follower *f = job;
    if (f->err.kind && !f->failing)
        log_warning("search.refresh_failed", "reason=%s action=retry", log_quote(error_msg(&f->err)));
    f->failing = f->err.kind != 0;
    error_release(&f->err);
    if (f->state.trim && !f->failing && !f->stopped)
        writer_submit(f->writer, &(struct writer_job){trim_changes, changes_trimmed, f}, 1);
    wait_for_next(f);
}

static void on_time(void *ctx)
{
    struct lookup_follower *f = ctx;
    if (pool_submit(f->lookups, refresh_lookup, lookup_refreshed, f, NULL) < 0)
        wait_for_next(f);
}

struct lookup_follower *lookup_follower_new(struct loop *l, struct pool *lookups, struct writer *w)
{
    struct lookup_follower *f = must_calloc(1, sizeof(*f));
    *f = (struct lookup_follower){.lookups = lookups, .writer = w};
    f->timer = loop_timer_new(l, on_time, f);
    wait_for_next(f);
    return f;
}

void lookup_follower_stop(struct lookup_follower *f)
{
    if (!f || f->stopped)
        return;
    f->stopped = true;
    loop_timer_free(f->timer);
    f->timer = NULL;
}

void lookup_follower_free(struct lookup_follower *f)
{
    lookup_follower_stop(f);
    free(f);
}

size_t lookup_follower_bytes(const struct lookup_follower *f)
{
    return f->state.bytes;
}
