#include "master/removal/context_sweep.h"

#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "master/master.h"
#include "store/functions.h"

enum {
    LOOKED_AT_PER_JOB = 256,
    FOR_EVER = -1,
};
#define PERIOD_US 3600000000
#define DAY_US 86400000000

struct context_sweep {
    struct master *m;
    struct loop_timer *timer;
    int64_t keep_us;
    /* The state of the sweep that runs now. */
    int64_t ended_us; /* archives of tasks that ended later are kept */
    char *after;      /* the last archive that was looked at; NULL: none yet */
    char *last;       /* of the job that runs now */
    int64_t removed, removed_now;
};

/* Looks at the next archives until one has been deleted. */
static int sweep_part(struct store *db, void *job, struct error *err)
{
    struct context_sweep *s = job;
    cleanup_arena struct arena a = ARENA_INIT;
    const char **hash;
    size_t n;
    s->removed_now = 0;
    free(s->last);
    s->last = NULL;
    if (store_contexts_after(db, s->after ? s->after : "", LOOKED_AT_PER_JOB, &a, &hash, &n, err) < 0)
        return -1;
    size_t i = 0;
    for (; i < n && s->removed_now == 0; i++)
        if (store_context_delete_unused(db, hash[i], s->ended_us, &s->removed_now, err) < 0)
            return -1;
    s->last = i ? must_strdup(hash[i - 1]) : NULL;
    return 0;
}

static void part_swept(void *job, const struct error *err);

static void next_part(struct context_sweep *s)
{
    struct writer_job job = {sweep_part, part_swept, s};
    writer_submit(s->m->writer, &job, 1);
}

static void end_sweep(struct context_sweep *s)
{
    if (s->removed)
        log_info("context.removed", "count=%lld", (long long)s->removed);
    free(s->after);
    s->after = NULL;
    loop_timer_arm(s->timer, PERIOD_US);
}

static void part_swept(void *job, const struct error *err)
{
    struct context_sweep *s = job;
    if (err) {
        log_warning("context.sweep_failed", "removed=%lld reason=%s action=next_time", (long long)s->removed,
                    log_quote(error_msg(err)));
        end_sweep(s);
        return;
    }
    s->removed += s->removed_now;
    if (!s->last || s->m->draining) {
        end_sweep(s);
        return;
    }
    free(s->after);
    s->after = s->last;
    s->last = NULL;
    next_part(s);
}

/* The timer is armed again when the sweep has ended, so there is one sweep at a time. */
static void on_time(void *ctx)
{
    struct context_sweep *s = ctx;
    s->ended_us = clock_now_us() - s->keep_us;
    s->removed = 0;
    next_part(s);
}

struct context_sweep *context_sweep_new(struct master *m)
{
    struct context_sweep *s = must_calloc(1, sizeof(*s));
    int64_t days = config_int(m->config, "retention_policy.context_days");
    *s = (struct context_sweep){.m = m, .keep_us = days * DAY_US};
    s->timer = loop_timer_new(m->loop, on_time, s);
    if (days != FOR_EVER)
        loop_timer_arm(s->timer, 0);
    return s;
}

void context_sweep_free(struct context_sweep *s)
{
    if (!s)
        return;
    loop_timer_free(s->timer);
    free(s->after);
    free(s->last);
    free(s);
}
