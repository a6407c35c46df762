/* det simulate: what would happen to these jobs on that cluster, by the master's own schedulers and searchers under
 * virtual time. */
#include "cli/simulate/world.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"

static const char *span_text(struct arena *a, double seconds)
{
    int64_t s = (int64_t)(seconds + 0.5);
    if (s < 60)
        return arena_printf(a, "%.1fs", seconds);
    if (s < 3600)
        return arena_printf(a, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    return arena_printf(a, "%lldh%02dm", (long long)(s / 3600), (int)(s % 3600 / 60));
}

static void add_row(struct cli *cli, struct table *t, const char *cluster, const struct sim_result *r)
{
    table_text(t, cluster);
    table_text(t, r->pool[0] != '\0' ? r->pool : "(all)");
    table_int(t, (int64_t)r->jobs);
    table_int(t, (int64_t)r->unstarted);
    table_int(t, r->slots);
    table_percent(t, true, r->utilization);
    table_text(t, span_text(&cli->arena, r->wait_mean_s));
    table_text(t, span_text(&cli->arena, r->wait_p50_s));
    table_text(t, span_text(&cli->arena, r->wait_p99_s));
    table_int(t, (int64_t)r->preemptions);
    table_text(t, r->fairness < 0 ? "-" : arena_printf(&cli->arena, "%.3f", r->fairness));
    table_text(t, span_text(&cli->arena, r->makespan_s));
}

static struct json_object *document_of(const struct sim_result *r)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "pool", r->pool[0] != '\0' ? json_object_new_string(r->pool) : NULL);
    json_object_object_add(o, "jobs", json_object_new_int64((int64_t)r->jobs));
    json_object_object_add(o, "never_started", json_object_new_int64((int64_t)r->unstarted));
    json_object_object_add(o, "slots", json_object_new_int(r->slots));
    json_object_object_add(o, "utilization", json_new_double(r->utilization));
    json_object_object_add(o, "wait_mean_s", json_new_double(r->wait_mean_s));
    json_object_object_add(o, "wait_p50_s", json_new_double(r->wait_p50_s));
    json_object_object_add(o, "wait_p99_s", json_new_double(r->wait_p99_s));
    json_object_object_add(o, "preemptions", json_object_new_int64((int64_t)r->preemptions));
    json_object_object_add(o, "fairness", r->fairness < 0 ? NULL : json_new_double(r->fairness));
    json_object_object_add(o, "makespan_s", json_new_double(r->makespan_s));
    return o;
}

/* If there is one pool only, its results are those of all pools, which are not shown a second time. */
static size_t first_shown(const struct sim_cluster *c)
{
    return c->pool_n == 1 ? 1 : 0;
}

static void print_tables(struct cli *cli, const struct sim_cluster *cluster, struct sim_result *const *result, size_t n)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"Cluster", "Pool", "Jobs", "Never Started", "Slots", "Utilization",
                                            "Wait (mean)", "Wait (p50)", "Wait (p99)", "Preemptions", "Fairness",
                                            "Makespan", NULL});
    for (size_t i = 0; i < n; i++)
        for (size_t k = first_shown(&cluster[i]); k <= cluster[i].pool_n; k++)
            add_row(cli, &t, cluster[i].file, &result[i][k]);
    table_show(cli, &t, false);
}

static void print_json(struct cli *cli, const struct sim_cluster *cluster, struct sim_result *const *result, size_t n)
{
    cleanup_json struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_new_object(), *pools = json_object_new_array();
        for (size_t k = 0; k < cluster[i].pool_n; k++)
            json_object_array_add(pools, document_of(&result[i][k]));
        json_object_object_add(o, "cluster", json_object_new_string(cluster[i].file));
        json_object_object_add(o, "all", document_of(&result[i][cluster[i].pool_n]));
        json_object_object_add(o, "pools", pools);
        json_object_array_add(list, o);
    }
    output_json(cli, list);
}

int cmd_simulate(struct cli *cli, const struct args_simulate *args, struct error *err)
{
    struct sim_trace trace;
    size_t n = args->cluster_n;
    if (n == 0)
        return error_set(err, ERR_INVALID,
                         "no cluster was given; describe one in a file and give it by --cluster FILE");
    struct sim_cluster *cluster = arena_array(&cli->arena, struct sim_cluster, n);
    struct sim_result **result = arena_array(&cli->arena, struct sim_result *, n);
    if (sim_trace_read(args->trace, &cli->arena, &trace, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (sim_cluster_read(args->cluster[i], &cli->arena, &cluster[i], err) < 0)
            return -1;
    for (size_t i = 0; i < n; i++)
        if (sim_world_run(&cluster[i], &trace, &cli->arena, &result[i], err) < 0)
            return error_wrap(err, "%s", args->trace);
    if (args->json)
        print_json(cli, cluster, result, n);
    else
        print_tables(cli, cluster, result, n);
    return 0;
}
