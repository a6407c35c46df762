#include "api/logs/log_ingest.h"

#include "api/pipeline/internal.h"

void log_ingest_scan(struct log_ingest *g, const char *agent_id, void (*done)(struct log_scan *s), void *ctx)
{
    g->scan = (struct log_scan){.task_id = g->task_id,
                                .agent_id = agent_id,
                                .line = g->lines.line,
                                .line_n = g->lines.line_n,
                                .arena = g->arena,
                                .done = done,
                                .ctx = ctx};
}

static int store_lines(struct log_ingest *g, struct store *db, struct error *err)
{
    if (g->lines.block.n == 0) /* there were so few lines that no worker has packed them */
        store_log_batch_make(&g->lines, g->lines.line, g->lines.line_n);
    if (!g->container_id)
        return store_task_log_append_batch(db, g->task_id, &g->lines, &g->first_id, err);
    return store_task_log_append_numbered(db, g->task_id, g->container_id, g->first_seq, &g->lines, &g->first_id,
                                          &g->skipped, &g->seq, err);
}

int log_ingest_store(struct log_ingest *g, struct store *db, int64_t now_us, struct error *err)
{
    if (store_lines(g, db, err) < 0)
        return -1;
    if (!g->is_new)
        g->is_new = arena_array(g->arena, bool, g->scan.match_n + 1);
    for (size_t i = 0; i < g->scan.match_n; i++)
        if (store_log_match_add(db, &g->scan.match[i], now_us, &g->is_new[i], err) < 0)
            return -1;
    g->told = false;
    for (size_t i = 0; i < g->scan.hit_n; i++) {
        bool told;
        if (webhook_log_matched(db, g->task_id, &g->scan.hit[i], g->base_url, now_us, &told, err) < 0)
            return -1;
        g->told |= told;
    }
    return 0;
}

void log_ingest_stored(struct api *a, const struct log_ingest *g)
{
    if (g->skipped < g->lines.line_n)
        api_log_stored(a, g->task_id, g->first_id, g->lines.line + g->skipped, g->lines.line_n - g->skipped);
    for (size_t i = 0; i < g->scan.match_n; i++)
        if (g->is_new[i])
            a->services.log_matched(a->services.ctx, &g->scan.match[i]);
    if (g->told)
        a->services.webhooks_due(a->services.ctx);
}

void log_ingest_release(struct log_ingest *g)
{
    store_log_batch_release(&g->lines);
}
