/* GET /metrics: the master in OpenMetrics text (https://openmetrics.io, 1.0). One row a metric. */
#include <inttypes.h>

#include "api/identity.h"
#include "common/clock.h"
#include "master/log_sealer.h"
#include "master/master.h"

static void gauge(struct strbuf *out, const char *name, const char *help, double value)
{
    strbuf_addf(out, "# TYPE det_%s gauge\n# HELP det_%s %s\ndet_%s %.17g\n", name, name, help, name, value);
}

static void counter(struct strbuf *out, const char *name, const char *help, uint64_t value)
{
    strbuf_addf(out, "# TYPE det_%s counter\n# HELP det_%s %s\ndet_%s_total %" PRIu64 "\n", name, name, help, name,
                value);
}

void metrics_page(void *ctx, struct strbuf *out)
{
    struct master *m = ctx;
    struct writer_stats w = writer_stats(m->writer);
    int slots = 0, used = 0;
    for (size_t i = 0; i < core_pool_n(m->core); i++) {
        struct core_pool_view p;
        if (core_pool(m->core, i, &p)) {
            slots += p.slots;
            used += p.slots_used;
        }
    }
    gauge(out, "uptime_seconds", "since the master started", (double)(clock_now_us() - m->started_us) / 1e6);
    gauge(out, "epoch", "number of this start of the master", (double)m->info.epoch);
    gauge(out, "http_connections", "open HTTP connections", http_server_connections(m->http));
    gauge(out, "agents", "connected agents", agent_hub_count(m->agents));
    gauge(out, "slots", "slots of all agents", slots);
    gauge(out, "slots_used", "slots that run something", used);
    gauge(out, "sessions", "sessions in memory", identities_session_count(api_identities(m->api)));
    gauge(out, "reader_queue", "requests at the store's readers", pool_depth(m->readers));
    gauge(out, "worker_queue", "requests at the workers", pool_depth(m->workers));
    gauge(out, "writer_queue", "writes waiting for their commit", w.depth);
    gauge(out, "loop_delay_max_seconds", "longest delay of the loop since the last look",
          (double)loop_take_max_delay_us(m->loop) / 1e6);
    gauge(out, "commit_max_seconds", "longest commit since the last look", (double)w.commit_us_max / 1e6);
    gauge(out, "log_unsealed_bytes", "text of task logs that waits to be sealed into blocks",
          (double)log_sealer_stats(m->log_sealer).waiting_bytes);
    counter(out, "log_seal_rounds", "times that heads of a task's log became blocks",
            log_sealer_stats(m->log_sealer).rounds);
    counter(out, "commits", "transactions of the writer", w.commits);
    counter(out, "commit_jobs", "writes in those transactions", w.jobs);
    counter(out, "commit_retries", "transactions repeated because the disk was full", w.retries);
    counter(out, "commit_microseconds", "time spent in transactions", (uint64_t)w.commit_us_total);
    strbuf_adds(out, "# EOF\n");
}
