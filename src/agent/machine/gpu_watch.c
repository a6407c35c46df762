#include "agent/machine/gpu_watch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"

#define ACTION "action=\"its slot takes no work until it is enabled with det slot enable\""
#define REASON_MAX 160 /* bytes that the master takes, with the final NUL */

struct gpu_check {
    bool lost;     /* the GPU did not answer at the last check */
    bool reported; /* the log says that it is lost */
    struct gpu_health health;
    char trouble[REASON_MAX]; /* how the GPU failed at this check, a loss among the ways; "" if it did not */
    /* Only the loop's thread touches these: `lost` after the last complete check, the last failure, and its time (0: it
     * had none). */
    bool known_lost;
    char known_trouble[REASON_MAX];
    int64_t trouble_us;
};

struct gpu_watch {
    struct pool *pool;
    struct loop_timer *timer;
    const struct gpu_maker *maker;
    const struct gpu *gpu;
    size_t n;
    int64_t period_us, last_trouble_us;
    struct gpu_check *check; /* one for each GPU. While a check is under way only the worker touches its first part */
    gpu_watch_fn *changed;
    void *ctx;
};

static void check_gpu(const struct gpu_maker *maker, const struct gpu *g, struct gpu_check *c)
{
    cleanup_error struct error err = ERROR_INIT;
    struct gpu_usage u;
    c->lost = maker->usage(g, &u, &err) < 0;
    if (!c->lost)
        log_debug("gpu.usage", "index=%d uuid=%s busy_percent=%u memory_mib=%" PRIu64, g->index, g->uuid,
                  u.busy_percent, u.memory_bytes >> 20);
    c->trouble[0] = 0;
    if (c->lost && !c->reported) {
        snprintf(c->trouble, sizeof(c->trouble), "it does not answer: %s", error_msg(&err));
        log_error("gpu.lost", "index=%d uuid=%s reason=%s " ACTION, g->index, g->uuid, log_quote(error_msg(&err)));
    } else if (!c->lost && maker->health && maker->health(g, &c->health, &err) < 0) {
        snprintf(c->trouble, sizeof(c->trouble), "%s", error_msg(&err));
        log_error("gpu.trouble", "index=%d uuid=%s reason=%s " ACTION, g->index, g->uuid, log_quote(error_msg(&err)));
    }
    if (!c->lost && c->reported)
        log_info("gpu.back", "index=%d uuid=%s", g->index, g->uuid);
    c->reported = c->lost;
}

static void check_work(void *worker, void *ctx)
{
    struct gpu_watch *w = ctx;
    for (size_t i = 0; i < w->n; i++)
        check_gpu(w->maker, &w->gpu[i], &w->check[i]);
}

/* Each failure gets a later time than all before, even if the clock was set back. */
static bool note_trouble(struct gpu_watch *w, struct gpu_check *c)
{
    int64_t now_us = clock_now_us();
    if (!c->trouble[0])
        return false;
    memcpy(c->known_trouble, c->trouble, sizeof(c->known_trouble));
    c->trouble_us = w->last_trouble_us = now_us > w->last_trouble_us ? now_us : w->last_trouble_us + 1;
    return true;
}

static void check_done(void *ctx)
{
    struct gpu_watch *w = ctx;
    bool changed = false;
    for (size_t i = 0; i < w->n; i++) {
        changed |= w->check[i].known_lost != w->check[i].lost;
        w->check[i].known_lost = w->check[i].lost;
        changed |= note_trouble(w, &w->check[i]);
    }
    loop_timer_arm(w->timer, w->period_us);
    if (changed)
        w->changed(w->ctx);
}

static void on_timer(void *ctx)
{
    struct gpu_watch *w = ctx;
    if (pool_submit(w->pool, check_work, check_done, w, NULL) < 0)
        loop_timer_arm(w->timer, w->period_us);
}

struct gpu_watch *gpu_watch_new(struct loop *l, struct pool *p, const struct gpu_maker *maker, const struct gpu *list,
                                size_t n, int64_t period_us, gpu_watch_fn *changed, void *ctx)
{
    struct gpu_watch *w = must_calloc(1, sizeof(*w));
    w->check = must_calloc(n + 1, sizeof(*w->check));
    w->pool = p;
    w->maker = maker;
    w->gpu = list;
    w->n = n;
    w->period_us = period_us;
    w->changed = changed;
    w->ctx = ctx;
    w->timer = loop_timer_new(l, on_timer, w);
    for (size_t i = 0; i < n; i++)
        w->check[i].health.errors = list[i].errors;
    loop_timer_arm(w->timer, 0);
    return w;
}

bool gpu_watch_is_lost(const struct gpu_watch *w, size_t i)
{
    return w->check[i].known_lost;
}

const char *gpu_watch_trouble(const struct gpu_watch *w, size_t i, int64_t *ret_since_us)
{
    *ret_since_us = w->check[i].trouble_us;
    return w->check[i].trouble_us ? w->check[i].known_trouble : NULL;
}

void gpu_watch_free(struct gpu_watch *w)
{
    if (!w)
        return;
    loop_timer_free(w->timer);
    for (size_t i = 0; i < w->n && w->maker->health_end; i++)
        w->maker->health_end(&w->check[i].health);
    free(w->check);
    free(w);
}
