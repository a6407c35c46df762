#include "api/pipeline/wait.h"

#include <stdio.h>

#include "api/pipeline/internal.h"
#include "api/pipeline/topics.h"
#include "common/base/clock.h"
#include "net/loop/loop.h"

struct wait {
    struct topic_member member; /* first: a member is its wait */
    struct req *r;
    req_loop_fn *step;
    struct loop_timer *timer;
};

void wait_topic(char ret[WAIT_TOPIC_MAX], const char *kind, const char *id)
{
    snprintf(ret, WAIT_TOPIC_MAX, "%s/%s", kind, id);
}

static void wait_end(struct wait *w)
{
    topic_leave(w->r->api->topics, &w->member);
    if (w->timer)
        loop_timer_free(w->timer);
    w->timer = NULL;
}

static void wait_woken(struct topic_member *m)
{
    struct wait *w = (struct wait *)m;
    wait_end(w);
    req_resume_loop(w->r, w->step);
}

static void wait_timed_out(void *ctx)
{
    struct wait *w = ctx;
    wait_end(w);
    w->r->timed_out = true;
    req_resume_loop(w->r, w->step);
}

static void wait_gone(struct req *r)
{
    wait_end(r->wait);
}

int req_wait_topic(struct req *r, const char *topic, int64_t timeout_us, req_loop_fn *step)
{
    int64_t now = clock_monotonic_us();
    if (timeout_us && !r->deadline_us)
        r->deadline_us = now + timeout_us;
    struct wait *w = arena_new(&r->arena, struct wait);
    *w = (struct wait){.member.wake = wait_woken, .r = r, .step = step};
    r->wait = w;
    if (r->deadline_us) {
        w->timer = loop_timer_new(r->api->loop, wait_timed_out, w);
        loop_timer_arm(w->timer, r->deadline_us > now ? r->deadline_us - now : 0);
    }
    topic_join(r->api->topics, topic, &w->member);
    return req_wait(r, wait_gone);
}

void api_wake(struct api *a, const char *topic)
{
    loop_assert();
    topics_wake(a->topics, topic);
}
