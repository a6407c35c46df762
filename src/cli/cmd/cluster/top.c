/* Shows the cluster on one screen: agents, slots in use, what runs and what waits. */
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/cluster/agent.h"
#include "cli/cmd/show.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/terminal.h"
#include "common/base/clock.h"

enum { BAR = 10 };

/* A job with what is known of it; other users' jobs may have no name. */
struct job_view {
    const char *id, *type, *name, *user, *reason;
    int32_t allocated_slots, requested_slots;
    double progress;
    bool runs, is_experiment;
};

struct cluster_view {
    struct wire_get_agents_response agents;
    size_t lost_n, slot_n, used_n;
    struct job_view *job;
    size_t job_n, job_cap, running_n;
};

/* ---- fetching ---------------------------------------------------------------------------------------------------- */

static size_t used_slots(const struct wire_agent *agent)
{
    size_t n = 0;
    for (size_t i = 0; i < agent->slots_n; i++)
        n += agent->slots[i].value.container != NULL;
    return n;
}

static struct job_view job_view(const struct wire_job_rbac_job *j)
{
    const struct wire_job *f = j->full;
    const struct wire_job_limited_job *l = j->limited;
    const struct wire_job_summary *summary = f ? f->summary : l->summary;
    int32_t type = (int32_t)(f ? f->type : l->type);
    const char *type_name = codec_enum_name(&wire_enum_job_type, type);
    bool prefixed = type_name && strncmp(type_name, "TYPE_", 5) == 0;
    return (struct job_view){.id = f && f->type == WIRE_JOB_TYPE_EXPERIMENT ? f->entity_id : NULL,
                             .type = prefixed ? type_name + 5 : "UNKNOWN",
                             .name = f ? f->name : "***",
                             .user = f ? f->username : "***",
                             .reason = summary ? summary->reason : NULL,
                             .allocated_slots = f ? f->allocated_slots : l->allocated_slots,
                             .requested_slots = f ? f->requested_slots : l->requested_slots,
                             .progress = (double)(f ? f->progress : l->progress),
                             .runs = summary && summary->state != WIRE_JOB_STATE_QUEUED &&
                                     summary->state != WIRE_JOB_STATE_UNSPECIFIED,
                             .is_experiment = type == WIRE_JOB_TYPE_EXPERIMENT};
}

static void add_job(struct arena *a, struct cluster_view *v, const struct wire_job_rbac_job *j)
{
    if (!j->full && !j->limited)
        return;
    if (v->job_n == v->job_cap) {
        size_t cap = v->job_cap ? v->job_cap * 2 : 64;
        struct job_view *longer = arena_array(a, struct job_view, cap);
        if (v->job_n)
            memcpy(longer, v->job, v->job_n * sizeof(*longer));
        v->job = longer;
        v->job_cap = cap;
    }
    v->job[v->job_n] = job_view(j);
    v->running_n += v->job[v->job_n++].runs;
}

/* Each pool has a queue of its own. */
static int fetch_jobs(struct cli *cli, const char *pool, struct cluster_view *v, struct error *err)
{
    enum { PAGE = 500 };
    struct wire_get_jobs_v2_request in = {.resource_pool = pool, .limit = PAGE, .order_by = WIRE_ORDER_BY_ASC};
    for (;;) {
        struct wire_get_jobs_v2_response out;
        if (api_call(cli, ROUTE_ID_GET_JOBS_V2, &in, &out, err) < 0)
            return -1;
        for (size_t i = 0; i < out.jobs_n; i++)
            add_job(&cli->arena, v, &out.jobs[i]);
        if (is_last_page(out.pagination, "all") || out.jobs_n == 0)
            return 0;
        in.offset = out.pagination->end_index;
    }
}

static int fetch_cluster(struct cli *cli, struct cluster_view *v, struct error *err)
{
    struct wire_get_resource_pools_response pools;
    if (agents_fetch(cli, &v->agents, err) < 0 || api_call(cli, ROUTE_ID_GET_RESOURCE_POOLS, NULL, &pools, err) < 0)
        return -1;
    for (size_t i = 0; i < v->agents.agents_n; i++) {
        const struct wire_agent *agent = &v->agents.agents[i];
        v->lost_n += agent->has_lost_time;
        v->slot_n += agent->slots_n;
        v->used_n += used_slots(agent);
    }
    for (size_t i = 0; i < pools.resource_pools_n; i++)
        if (fetch_jobs(cli, pools.resource_pools[i].name, v, err) < 0)
            return -1;
    return 0;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* The number comes first, because a narrow terminal cuts cells off at their end. */
static const char *bar(struct arena *a, size_t part, size_t all)
{
    return arena_printf(a, "%zu/%zu %s", part, all, format_bar(a, all ? (double)part / (double)all : 0, BAR));
}

static const char *agent_state(struct arena *a, const struct wire_agent *agent)
{
    if (agent->has_lost_time)
        return arena_printf(a, "lost %s", format_ago(a, agent->lost_time, clock_now_us()));
    if (agent->draining)
        return "draining";
    if (!agent->enabled)
        return agent->disabled_reason ? arena_printf(a, "disabled: %s", agent->disabled_reason) : "disabled";
    return "up";
}

/* How many of `n` rows are shown: on a terminal at most `most`, and a line below the table tells of the others. */
static size_t shown_rows(const struct cli *cli, size_t n, size_t most)
{
    return cli->out_height && n > most ? most : n;
}

static void print_more(struct cli *cli, size_t n, size_t shown, const char *command)
{
    if (shown < n)
        fprintf(cli->out, " and %zu more: %s\n", n - shown, command);
}

static void print_agents(struct cli *cli, const struct cluster_view *v, size_t most)
{
    cleanup_table struct table t = TABLE_INIT;
    size_t n = v->agents.agents_n, shown = shown_rows(cli, n, most);
    if (n == 0) {
        fputs("No agent is connected.\n", cli->out);
        return;
    }
    table_columns(&t, (const char *const[]){"Agent", "Resource Pool", "Slots in use", "Tasks", "State", NULL});
    for (size_t i = 0; i < shown; i++) {
        const struct wire_agent *agent = &v->agents.agents[i];
        table_text(&t, agent_local_id(agent->id));
        table_text(&t, text_join(&t.arena, agent->resource_pools, agent->resource_pools_n, ", "));
        table_text(&t, bar(&t.arena, used_slots(agent), agent->slots_n));
        table_int(&t, (int64_t)agent->containers_n);
        table_text(&t, agent_state(&t.arena, agent));
    }
    table_show(cli, &t, false);
    print_more(cli, n, shown, "det agent list");
}

static void print_running(struct cli *cli, const struct cluster_view *v, size_t most)
{
    cleanup_table struct table t = TABLE_INIT;
    size_t left = shown_rows(cli, v->running_n, most);
    if (v->running_n == 0) {
        fputs("\nNothing runs.\n", cli->out);
        return;
    }
    fputs("\nRunning:\n", cli->out);
    table_columns(&t, (const char *const[]){"Experiment", "Name", "User", "Slots", "Progress", NULL});
    for (size_t i = 0; i < v->job_n && left > 0; i++) {
        const struct job_view *j = &v->job[i];
        if (!j->runs)
            continue;
        left--;
        table_text(&t, j->is_experiment ? j->id : j->type);
        table_text(&t, j->name);
        table_text(&t, j->user);
        table_text(&t, arena_printf(&t.arena, "%d/%d", j->allocated_slots, j->requested_slots));
        table_text(&t, j->is_experiment ? arena_printf(&t.arena, "%.0f%% %s", j->progress * 100,
                                                       format_bar(&t.arena, j->progress, BAR))
                                        : NULL);
    }
    table_show(cli, &t, false);
    print_more(cli, v->running_n, shown_rows(cli, v->running_n, most), "det experiment list -a --state RUNNING");
}

static void print_waiting(struct cli *cli, const struct cluster_view *v, size_t most)
{
    cleanup_table struct table t = TABLE_INIT;
    size_t waiting_n = v->job_n - v->running_n, left = shown_rows(cli, waiting_n, most);
    if (waiting_n == 0)
        return;
    fputs("\nWaiting:\n", cli->out);
    table_columns(&t, (const char *const[]){"Experiment", "Name", "User", "Slots", "Reason", NULL});
    for (size_t i = 0; i < v->job_n && left > 0; i++) {
        const struct job_view *j = &v->job[i];
        if (j->runs)
            continue;
        left--;
        table_text(&t, j->is_experiment ? j->id : j->type);
        table_text(&t, j->name);
        table_text(&t, j->user);
        table_int(&t, j->requested_slots);
        table_text(&t, j->reason);
    }
    table_show(cli, &t, false);
    print_more(cli, waiting_n, shown_rows(cli, waiting_n, most), "det job list");
}

static void print_summary(struct cli *cli, const struct cluster_view *v)
{
    struct arena *a = &cli->arena;
    enum { WIDE = 80 };
    bool narrow = cli->out_width && cli->out_width < WIDE;
    const char *slots = narrow ? arena_printf(a, "%zu/%zu", v->used_n, v->slot_n) : bar(a, v->used_n, v->slot_n);
    const char *lost = v->lost_n ? arena_printf(a, " (%zu lost)", v->lost_n) : "";
    fprintf(cli->out, "Agents: %zu%s  Slots: %s  Running: %zu  Waiting: %zu%s\n\n", v->agents.agents_n, lost, slots,
            v->running_n, v->job_n - v->running_n, cli->out_width ? "  q: leave" : "");
}

/* How many rows each table may have, so that all three fit the terminal. */
struct shares {
    size_t agents, running, waiting;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct shares shares_of(const struct cluster_view *v, size_t height)
{
    /* SUMMARY: the first line and an empty one; TABLE: an empty line, a heading, two lines of titles, and one that
     * tells of further rows */
    enum { SUMMARY = 2, TABLE = 5, LEAST = 2, AGENTS = 6 };
    struct shares s = {.agents = max_size(height / AGENTS, LEAST)};
    size_t waiting_n = v->job_n - v->running_n;
    size_t used = SUMMARY + min_size(s.agents, v->agents.agents_n) + TABLE * (waiting_n ? 3 : 2);
    size_t left = height > used ? height - used : 0;
    s.running = max_size(waiting_n < left / 2 ? left - waiting_n : left / 2, LEAST);
    s.waiting = max_size(left > min_size(s.running, v->running_n) ? left - min_size(s.running, v->running_n) : 0,
                         LEAST);
    return s;
}

static int draw(struct cli *cli, void *ctx, bool *ret_over, struct error *err)
{
    struct cluster_view v = {0};
    (void)ctx;
    if (fetch_cluster(cli, &v, err) < 0)
        return -1;
    struct shares most = shares_of(&v, cli->out_height);
    *ret_over = false;
    print_summary(cli, &v);
    print_agents(cli, &v, most.agents);
    print_running(cli, &v, most.running);
    print_waiting(cli, &v, most.waiting);
    return 0;
}

int cmd_top(struct cli *cli, const struct args_top *args, struct error *err)
{
    enum { DAY_S = 86400 };
    bool left;
    int64_t pause_s = args->interval > DAY_S ? DAY_S : args->interval;
    return screen_run(cli, draw, NULL, (int)pause_s * 1000, &left, err);
}
