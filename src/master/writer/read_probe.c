#include "master/writer/read_probe.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "store/engine/meta.h"

#define PERIOD_US 1000000ll /* the time from the end of one probe to the next one */
/* If a probe has waited this long for a busy reader, the store counts as unreadable. */
#define PATIENCE_US 15000000ll

struct read_probe {
    struct loop_timer *timer;
    struct pool *readers;
    int64_t since_us; /* when the present probe began; 0: there is none */
    bool failing, stopped;
    struct error err; /* the result of the probe; while a probe runs, only its thread uses this */
};

static void read_on_thread(void *worker, void *job)
{
    struct read_probe *p = job;
    store_can_be_read(worker, &p->err);
}

static void probe_done(void *job)
{
    struct read_probe *p = job;
    bool failing = p->err.kind != ERR_NONE;
    if (failing && !p->failing)
        log_error("store.unreadable", "reason=%s action=probe_again", log_quote(error_msg(&p->err)));
    else if (!failing && p->failing)
        log_info("store.readable", "reason=back");
    p->failing = failing;
    p->since_us = 0;
    error_release(&p->err);
    if (!p->stopped)
        loop_timer_arm(p->timer, PERIOD_US);
}

static void on_time(void *ctx)
{
    struct read_probe *p = ctx;
    cleanup_error struct error full = ERROR_INIT;
    p->since_us = clock_monotonic_us();
    if (pool_submit(p->readers, read_on_thread, probe_done, p, &full) <
        0) { /* the readers' queue is full, so the readers do work */
        p->since_us = 0;
        loop_timer_arm(p->timer, PERIOD_US);
    }
}

int read_probe_new(struct loop *l, struct pool *readers, struct read_probe **ret, struct error *err)
{
    struct read_probe *p = must_calloc(1, sizeof(*p));
    p->readers = readers;
    p->timer = loop_timer_new(l, on_time, p);
    loop_timer_arm(p->timer, PERIOD_US);
    *ret = p;
    return 0;
}

bool read_probe_is_well(const struct read_probe *p)
{
    return !p->failing && (!p->since_us || clock_monotonic_us() - p->since_us < PATIENCE_US);
}

void read_probe_stop(struct read_probe *p)
{
    if (!p)
        return;
    p->stopped = true;
    loop_timer_disarm(p->timer);
}

void read_probe_free(struct read_probe *p)
{
    if (!p)
        return;
    loop_timer_free(p->timer);
    error_release(&p->err);
    free(p);
}
