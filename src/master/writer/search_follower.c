#include "master/writer/search_follower.h"

#include <stdlib.h>

#include "common/system/log.h"
#include "common/base/must.h"
#include "master/writer/writer.h"
#include "net/loop/pool.h"
#include "store/search/search.h"

#define PERIOD_US 1000000ll

struct search_follower {
    struct pool *searcher;
    struct writer *writer;
    struct loop_timer *timer;
    bool stopped, failing;
    struct search_state state; /* one look at a time: the searcher's thread fills it */
    struct error err;
};

static void refresh_search(void *db, void *job)
{
    struct search_follower *f = job;
    store_search_refresh(db, &f->state, &f->err);
}

static int trim_changes(struct store *db, void *job, struct error *err) { return store_search_trim(db, err); }

static void changes_trimmed(void *job, const struct error *err)
{
    if (err)
        log_warning("search.trim_failed", "reason=%s action=next_round", log_quote(error_msg(err)));
}

static void wait_for_next(struct search_follower *f)
{
    if (!f->stopped)
        loop_timer_arm(f->timer, PERIOD_US);
}

/* A failure is logged once: searches that fail for the same reason tell their users. */
static void search_refreshed(void *job)
{
    struct search_follower *f = job;
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
    struct search_follower *f = ctx;
    if (pool_submit(f->searcher, refresh_search, search_refreshed, f, NULL) < 0)
        wait_for_next(f);
}

struct search_follower *search_follower_new(struct loop *l, struct pool *searcher, struct writer *w)
{
    struct search_follower *f = must_calloc(1, sizeof(*f));
    *f = (struct search_follower){.searcher = searcher, .writer = w};
    f->timer = loop_timer_new(l, on_time, f);
    wait_for_next(f);
    return f;
}

void search_follower_stop(struct search_follower *f)
{
    if (!f || f->stopped)
        return;
    f->stopped = true;
    loop_timer_free(f->timer);
    f->timer = NULL;
}

void search_follower_free(struct search_follower *f)
{
    search_follower_stop(f);
    free(f);
}

size_t search_follower_bytes(const struct search_follower *f) { return f->state.bytes; }
