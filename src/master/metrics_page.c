/* GET /metrics: the master in OpenMetrics text (https://openmetrics.io, 1.0), row by row of metrics_table.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/pipeline/identity.h"
#include "api/proxy/proxy.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/histogram.h"
#include "common/system/files.h"
#include "master/logs/log_sealer.h"
#include "master/master.h"
#include "master/metrics_table.h"
#include "master/pools/provisioner.h"
#include "master/webhooks/webhook_sender.h"
#include "master/writer/lookup_follower.h"
#include "master/writer/metric_sealer.h"

/* The page that is being written, and values that several rows use. */
struct page {
    struct strbuf *out;
    const char *name, *suffix; /* of the row that is being written; the samples of counters end with _total */
    struct master *m;
    struct writer_stats writer;
    int slots, slots_used;
};

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* Adds a text in which backslash, quote and newline are escaped, as the format requires. */
static void add_escaped(struct strbuf *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n')
            strbuf_addc(out, '\\');
        strbuf_addc(out, *value == '\n' ? 'n' : *value);
    }
}

struct label {
    const char *name, *value;
};

static void add_labelled(struct page *p, const struct label *label, size_t n, double value)
{
    strbuf_addf(p->out, "det_%s%s", p->name, p->suffix);
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(p->out, "%s%s=\"", i ? "," : "{", label[i].name);
        add_escaped(p->out, label[i].value);
        strbuf_addc(p->out, '"');
    }
    strbuf_addf(p->out, "%s %.17g\n", n ? "}" : "", value);
}

static void add_sample(struct page *p, double value)
{
    add_labelled(p, NULL, 0, value);
}

static void add_sample_of(struct page *p, const char *label, const char *text, double value)
{
    add_labelled(p, &(struct label){label, text}, 1, value);
}

static void add_histogram(struct page *p, const struct histogram *h)
{
    static const int64_t bound[] = HISTOGRAM_BOUNDS_US;
    uint64_t below = 0;
    for (int i = 0; i < HISTOGRAM_BOUND_N; i++) {
        below += h->bucket[i];
        strbuf_addf(p->out, "det_%s_bucket{le=\"%g\"} %" PRIu64 "\n", p->name, (double)bound[i] / 1e6, below);
    }
    strbuf_addf(p->out, "det_%s_bucket{le=\"+Inf\"} %" PRIu64 "\ndet_%s_sum %.6f\ndet_%s_count %" PRIu64 "\n", p->name,
                h->count, p->name, (double)h->sum_us / 1e6, p->name, h->count);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void metric_build_info(struct page *p)
{
    add_sample_of(p, "version", DET_VERSION, 1);
}

static void metric_uptime_seconds(struct page *p)
{
    add_sample(p, (double)(clock_monotonic_us() - p->m->started_steady_us) / 1e6);
}

static void metric_epoch(struct page *p)
{
    add_sample(p, (double)p->m->info.epoch);
}

static void metric_resident_bytes(struct page *p)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    long pages = 0;
    if (file_read("/proc/self/statm", 256, &text, NULL) == 0 && sscanf(text.s, "%*d %ld", &pages) == 1)
        add_sample(p, (double)pages * (double)sysconf(_SC_PAGESIZE));
}

static void metric_cpu_seconds(struct page *p)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    add_sample(p, (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                      (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
}

static void metric_http_connections(struct page *p)
{
    add_sample(p, http_server_connections(p->m->http));
}

static void metric_sessions(struct page *p)
{
    add_sample(p, (double)identities_session_count(api_identities(p->m->api)));
}

/* ---- the cluster ------------------------------------------------------------------------------------------------- */

static void metric_agents(struct page *p)
{
    add_sample(p, (double)agent_hub_count(p->m->agents));
}

static void metric_agents_by_state(struct page *p)
{
    int enabled = 0, draining = 0, disabled = 0, away = 0, lost = 0;
    struct core_agent_view v;
    for (const struct agent *at = NULL; core_agent_next(p->m->core, &at, &v);)
        ++*(v.lost_us ? &lost : !v.connected_us ? &away : v.draining ? &draining : v.enabled ? &enabled : &disabled);
    add_sample_of(p, "state", "enabled", enabled);
    add_sample_of(p, "state", "draining", draining);
    add_sample_of(p, "state", "disabled", disabled);
    add_sample_of(p, "state", "away", away);
    add_sample_of(p, "state", "lost", lost);
}

static void metric_slots(struct page *p)
{
    add_sample(p, p->slots);
}

static void metric_slots_used(struct page *p)
{
    add_sample(p, p->slots_used);
}

static void metric_pool_slots(struct page *p)
{
    struct core_pool_view v;
    for (size_t i = 0; core_pool(p->m->core, i, &v); i++)
        add_sample_of(p, "pool", v.name, v.slots);
}

static void metric_pool_slots_used(struct page *p)
{
    struct core_pool_view v;
    for (size_t i = 0; core_pool(p->m->core, i, &v); i++)
        add_sample_of(p, "pool", v.name, v.slots_used);
}

static void metric_pool_instances(struct page *p)
{
    struct core_pool_view v;
    for (size_t i = 0; core_pool(p->m->core, i, &v); i++)
        if (v.elastic)
            add_sample_of(p, "pool", v.name, v.instance_n);
}

static void metric_pool_instances_starting(struct page *p)
{
    struct core_pool_view v;
    for (size_t i = 0; core_pool(p->m->core, i, &v); i++)
        if (v.elastic)
            add_sample_of(p, "pool", v.name, v.starting_n);
}

static void metric_pool_instances_max(struct page *p)
{
    struct core_pool_view v;
    for (size_t i = 0; core_pool(p->m->core, i, &v); i++)
        if (v.elastic)
            add_sample_of(p, "pool", v.name, v.scale->max_instances);
}

static void metric_pool_launches(struct page *p)
{
    struct core_pool_view v;
    struct provisioner_counts n;
    for (size_t i = 0; core_pool(p->m->core, i, &v); i++)
        if (provisioner_counts(p->m->provisioner, v.name, &n))
            add_sample_of(p, "pool", v.name, (double)n.launched);
}

static void metric_pool_launch_failures(struct page *p)
{
    struct core_pool_view v;
    struct provisioner_counts n;
    for (size_t i = 0; core_pool(p->m->core, i, &v); i++)
        if (provisioner_counts(p->m->provisioner, v.name, &n))
            add_sample_of(p, "pool", v.name, (double)n.launch_failures);
}

static void metric_pool_terminations(struct page *p)
{
    struct core_pool_view v;
    struct provisioner_counts n;
    for (size_t i = 0; core_pool(p->m->core, i, &v); i++)
        if (provisioner_counts(p->m->provisioner, v.name, &n))
            add_sample_of(p, "pool", v.name, (double)n.terminated);
}

static void metric_jobs(struct page *p)
{
    struct core_pool_view v;
    for (size_t i = 0; core_pool(p->m->core, i, &v); i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct core_job_view *job;
        size_t n = core_queue(p->m->core, v.name, &a, &job), scheduled = 0;
        for (size_t j = 0; j < n; j++)
            scheduled += job[j].scheduled;
        add_labelled(p, (struct label[]){{"pool", v.name}, {"state", "scheduled"}}, 2, (double)scheduled);
        add_labelled(p, (struct label[]){{"pool", v.name}, {"state", "queued"}}, 2, (double)(n - scheduled));
    }
}

static void metric_containers(struct page *p)
{
    size_t n = 0;
    struct core_agent_view v;
    for (const struct agent *at = NULL; core_agent_next(p->m->core, &at, &v);)
        n += v.container_n;
    add_sample(p, (double)n);
}

/* ---- queues and latencies ---------------------------------------------------------------------------------------- */

static void metric_task_streams(struct page *p)
{
    add_sample(p, (double)agent_streams_stats(p->m->agents).open);
}

static void metric_task_streams_opened(struct page *p)
{
    add_sample(p, (double)agent_streams_stats(p->m->agents).opened);
}

static void metric_task_streams_failed(struct page *p)
{
    add_sample(p, (double)agent_streams_stats(p->m->agents).failed);
}

static void metric_task_stream_bytes(struct page *p)
{
    struct byte_streams_stats stats = agent_streams_stats(p->m->agents);
    add_sample_of(p, "direction", "to_task", (double)stats.bytes_out);
    add_sample_of(p, "direction", "from_task", (double)stats.bytes_in);
}

static void metric_proxy_connections(struct page *p)
{
    add_sample(p, (double)api_proxy_stats(p->m->api).open);
}

static void metric_proxy_requests(struct page *p)
{
    add_sample(p, (double)api_proxy_stats(p->m->api).requests);
}

static void metric_proxy_tcp(struct page *p)
{
    add_sample(p, (double)api_proxy_stats(p->m->api).tcp);
}

static void metric_proxy_bytes(struct page *p)
{
    struct proxy_stats stats = api_proxy_stats(p->m->api);
    add_sample_of(p, "direction", "to_task", (double)stats.to_task);
    add_sample_of(p, "direction", "from_task", (double)stats.from_task);
}

static void metric_proxy_refused(struct page *p)
{
    struct proxy_stats stats = api_proxy_stats(p->m->api);
    for (int why = 0; why < PROXY_REFUSAL_NR; why++)
        add_sample_of(p, "reason", proxy_refusal_name(why), (double)stats.refused[why]);
}

static void metric_proxy_broken(struct page *p)
{
    add_sample(p, (double)api_proxy_stats(p->m->api).broken);
}

static void metric_reader_queue(struct page *p)
{
    add_sample(p, pool_depth(p->m->readers));
}

static void metric_searcher_queue(struct page *p)
{
    add_sample(p, pool_depth(p->m->lookups));
}

static void metric_search_bytes(struct page *p)
{
    add_sample(p, (double)lookup_follower_bytes(p->m->lookup_follower));
}

static void metric_worker_queue(struct page *p)
{
    add_sample(p, pool_depth(p->m->workers));
}

static void metric_password_queue(struct page *p)
{
    add_sample(p, api_passwords_waiting(p->m->api) + pool_depth(p->m->passwords));
}

static void metric_writer_queue(struct page *p)
{
    add_sample(p, p->writer.depth);
}

static void metric_loop_delay_seconds(struct page *p)
{
    add_histogram(p, loop_delays(p->m->loop));
}

static void metric_loop_delay_max_seconds(struct page *p)
{
    add_sample(p, (double)loop_take_max_delay_us(p->m->loop) / 1e6);
}

static void metric_loop_turn_seconds(struct page *p)
{
    add_histogram(p, loop_turns(p->m->loop));
}

static void metric_loop_turn_max_seconds(struct page *p)
{
    add_sample(p, (double)loop_take_max_turn_us(p->m->loop) / 1e6);
}

static void metric_commit_seconds(struct page *p)
{
    add_histogram(p, &p->writer.commit_us);
}

static void metric_commit_max_seconds(struct page *p)
{
    add_sample(p, (double)p->writer.commit_us_max / 1e6);
}

static void metric_commits(struct page *p)
{
    add_sample(p, (double)p->writer.commits);
}

static void metric_commit_jobs(struct page *p)
{
    add_sample(p, (double)p->writer.jobs);
}

static void metric_commit_retries(struct page *p)
{
    add_sample(p, (double)p->writer.retries);
}

static void metric_commit_microseconds(struct page *p)
{
    add_sample(p, (double)p->writer.commit_us.sum_us);
}

static void metric_log_unsealed_bytes(struct page *p)
{
    add_sample(p, (double)sealer_stats(p->m->log_sealer).waiting_bytes);
}

static void metric_log_batches_fed(struct page *p)
{
    add_sample(p, (double)api_log_stats(p->m->api).fed);
}

static void metric_log_batches_read(struct page *p)
{
    add_sample(p, (double)api_log_stats(p->m->api).read);
}

static void metric_log_seal_rounds(struct page *p)
{
    add_sample(p, (double)sealer_stats(p->m->log_sealer).rounds);
}

static void metric_webhook_messages(struct page *p)
{
    struct webhook_stats s = webhook_stats(p->m->webhooks);
    const struct {
        const char *result;
        uint64_t n;
    } row[] = {{"delivered", s.delivered}, {"failed", s.failed}, {"given_up", s.given_up}};
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        add_labelled(p, &(struct label){"result", row[i].result}, 1, (double)row[i].n);
}

static void metric_metric_seal_rounds(struct page *p)
{
    add_sample(p, (double)sealer_stats(p->m->metric_sealer).rounds);
}

static void metric_metric_sealed_reports(struct page *p)
{
    add_sample(p, (double)sealer_stats(p->m->metric_sealer).rows);
}

/* Only the embedded store's files are measured. The size of a PostgreSQL database would need a query, which would block
 * the loop. */
static void metric_store_bytes(struct page *p)
{
    cleanup_strbuf struct strbuf log = STRBUF_INIT;
    struct stat st;
    strbuf_addf(&log, "%s-wal", p->m->db_place);
    if (*p->m->db_place == '/' && stat(p->m->db_place, &st) == 0)
        add_sample_of(p, "file", "database", (double)st.st_size);
    if (*p->m->db_place == '/' && stat(log.s, &st) == 0)
        add_sample_of(p, "file", "log", (double)st.st_size);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static const struct row {
    const char *name, *kind, *help;
    void (*samples)(struct page *p);
} rows[] = {
#define ROW(name, kind, labels, help) {#name, #kind, help, metric_##name},
    METRICS(ROW)};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n > k && s[n - k - 1] == '_' && strcmp(s + n - k, end) == 0;
}

static void add_row(struct page *p, const struct row *r)
{
    static const char *const unit[] = {"seconds", "bytes", "microseconds"};
    strbuf_addf(p->out, "# TYPE det_%s %s\n", r->name, r->kind);
    for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++)
        if (ends_with(r->name, unit[i]))
            strbuf_addf(p->out, "# UNIT det_%s %s\n", r->name, unit[i]);
    strbuf_addf(p->out, "# HELP det_%s %s.\n", r->name, r->help);
    p->name = r->name;
    p->suffix = strcmp(r->kind, "counter") == 0 ? "_total" : "";
    r->samples(p);
}

void metrics_page(void *ctx, struct strbuf *out)
{
    struct master *m = ctx;
    struct page p = {.out = out, .m = m, .writer = writer_stats(m->writer)};
    struct core_pool_view v;
    for (size_t i = 0; core_pool(m->core, i, &v); i++) {
        p.slots += v.slots;
        p.slots_used += v.slots_used;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        add_row(&p, &rows[i]);
    strbuf_adds(out, "# EOF\n");
}
