#include "api/pipeline/repeated.h"

#include <stdio.h>

#include "api/pipeline/internal.h"
#include "net/loop/loop.h"

enum { PERIOD_DEFAULT_S = 30, PERIOD_MAX_S = 86400 };

static void on_period(void *ctx)
{
    struct repeated *p = ctx;
    loop_timer_arm(p->timer, p->period_us);
    api_wake(p->api, p->topic);
}

void repeated_end(struct req *r)
{
    const struct repeated *p = r->state;
    if (p)
        loop_timer_free(p->timer);
}

int repeated_stream(struct req *r, int32_t period_s, void *seen, stream_fetch_fn *fetch, struct error *err)
{
    static uint64_t streams; /* makes a topic for each stream, so that each is woken by its own timer only */
    if (period_s < 0 || period_s > PERIOD_MAX_S)
        return error_set(err, ERR_INVALID, "periodSeconds is %d, allowed is 0 (%d) to %d", period_s, PERIOD_DEFAULT_S,
                         PERIOD_MAX_S);
    struct repeated *p = arena_new(&r->arena, struct repeated);
    char number[24];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)++streams);
    *p = (struct repeated){.api = r->api,
                           .seen = seen,
                           .period_us = (int64_t)(period_s ? period_s : PERIOD_DEFAULT_S) * 1000000};
    wait_topic(p->topic, "period", number);
    p->timer = loop_timer_new(r->api->loop, on_period, p);
    loop_timer_arm(p->timer, p->period_us);
    r->state = p;
    r->on_end = repeated_end;
    return req_stream(r, p->topic, fetch);
}

void repeated_send(struct req *r, bool anything, const void *response)
{
    struct repeated *p = r->state;
    if (anything || !p->sent)
        stream_add(r, response);
    p->sent = true;
}
