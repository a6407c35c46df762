/* How the master ends. Whatever was acknowledged is in the store already, so a stop loses no data. This file only sees
 * to it that requests get their answers.
 *
 *   1. no new connections; agents are told to come back later; requests that are with a thread get their answers
 *   2. everybody else's connection is dropped: long polls, followed logs, idle ones
 *   3. what those had under way (nobody listens any more) runs to its end, because threads and completions point at it
 *
 * Each wait ends when nothing is under way, or when its patience is over. A stop that hangs is worse than one that
 * gives up: on a slow machine a worker may hash for long, which loses nothing. With the disk full, or the database's
 * server away, the writer would try for ever; what it holds was asked for and never acknowledged, so whoever asked has
 * to ask again, as after any connection that broke. Both end with status 0. A store that could be written and was not
 * done in time is a fault of ours: status 75. */
#include <unistd.h>

#include "common/system/log.h"
#include "master/logs/log_policies.h"
#include "master/master.h"
#include "master/removal/collector.h"
#include "master/webhooks/webhook_sender.h"

#define ANSWERS_US 2000000ll
#define LEFTOVERS_US 2000000ll
#define EX_TEMPFAIL 75

static bool is_quiet(const struct master *m)
{
    return pool_is_idle(m->readers) && pool_is_idle(m->lookups) && pool_is_idle(m->passwords) &&
           (!m->directory || pool_is_idle(m->directory)) && pool_is_idle(m->workers) && pool_is_idle(m->transfers) &&
           log_policies_is_idle(m->log_policies) && collector_is_idle(m->collector) &&
           webhook_sender_is_idle(m->webhooks) && writer_is_idle(m->writer) && api_is_idle(m->api);
}

static void on_turn_end(void *ctx)
{
    const struct master *m = ctx;
    if (m->draining && is_quiet(m))
        loop_stop(m->loop);
}

static void out_of_patience(void *ctx)
{
    const struct master *m = ctx;
    loop_stop(m->loop);
}

/* Does nothing. It is posted so that the loop makes a turn, at the end of which on_turn_end() is called. */
static void begin_turn(void *ctx)
{
}

static bool run_until_quiet(struct master *m, int64_t patience_us)
{
    struct loop_timer *timer = loop_timer_new(m->loop, out_of_patience, m);
    loop_timer_arm(timer, patience_us);
    loop_post(m->loop, begin_turn, m);
    m->draining = true;
    int rc = loop_run(m->loop, NULL);
    m->draining = false;
    loop_timer_free(timer);
    return rc == 0 && is_quiet(m);
}

void master_stop(struct master *m)
{
    loop_on_turn_end(m->loop, on_turn_end, m);
    if (m->http)
        http_server_stop_accepting(m->http);
    agent_hub_stop(m->agents);
    run_until_quiet(m, ANSWERS_US);
    http_server_free(m->http);
    m->http = NULL;
    if (run_until_quiet(m, LEFTOVERS_US))
        return;
    bool in_time = writer_is_idle(m->writer) || writer_is_troubled(m->writer);
    log_warning("master.stop_forced", "reads=%d work=%d writes=%d reason=%s",
                pool_depth(m->readers) + pool_depth(m->lookups), pool_depth(m->workers), writer_stats(m->writer).depth,
                writer_is_troubled(m->writer) ? "the_store_is_not_there" : "not_done_in_time");
    _exit(in_time ? 0 : EX_TEMPFAIL);
}
