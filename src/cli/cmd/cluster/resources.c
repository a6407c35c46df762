/* Who has used how much: tables in CSV, which the master writes. */
#include "cli/connection/address.h"
#include "cli/connection/api.h"
#include "cli/terminal/formats.h"
#include "cli/terminal/output.h"
#include "common/base/clock.h"

#include <string.h>

/* The time range of a request, as the user wrote it. */
struct span {
    const char *path;
    const char *from_name, *from, *to_name, *to;
    const char *period; /* NULL: none */
    const char *by;     /* what the sums are by; NULL: as the master has it */
};

static const char *path_of(struct cli *cli, const struct span *s)
{
    struct arena *a = &cli->arena;
    return arena_printf(a, "/resources/allocation/%s?%s=%s&%s=%s%s%s%s%s", s->path, s->from_name,
                        address_escape(s->from, a), s->to_name, address_escape(s->to, a), s->period ? "&period=" : "",
                        s->period ? s->period : "", s->by ? "&by=" : "", s->by ? address_escape(s->by, a) : "");
}

/* Prints the master's table as it is, or as --json and --yaml ask for it. */
static int show_table(struct cli *cli, const struct span *s, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_table struct table t = TABLE_INIT;
    if (api_path_text(cli, &(struct api_path){.method = "GET", .path = path_of(cli, s)}, &text, err) < 0)
        return -1;
    if (!cli->format || cli->format == CLI_FORMAT_CSV) {
        fwrite(strbuf_str(&text), 1, text.n, cli->out);
        return 0;
    }
    if (table_of_csv(strbuf_str(&text), text.n, &t, err) < 0)
        return error_wrap(err, "Failed to %s", cli->command->help);
    table_show(cli, &t, false);
    return 0;
}

static int show_document(struct cli *cli, enum route_id route, const void *in, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    if (api_call_document(cli, route, in, &v, err) < 0)
        return -1;
    output_json(cli, v);
    return 0;
}

static int read_time(const char *name, const char *text, int64_t *ret, struct error *err)
{
    if (clock_parse(text, strlen(text), ret) < 0)
        return error_set(err, ERR_USAGE, "argument %s: \"%s\" is no time of the form 2026-10-26T23:17:12Z", name, text);
    return 0;
}

static struct span between_times(const char *path, const char *after, const char *before)
{
    return (struct span){path, "timestamp_after", after, "timestamp_before", before, NULL, NULL};
}

static struct span in_periods(const char *path, const char *start, const char *end, bool monthly, const char *by)
{
    return (struct span){
        path,
        "start_date",
        start,
        "end_date",
        end,
        monthly ? "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY" : "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY",
        by};
}

int cmd_resources_raw(struct cli *cli, const struct args_resources_raw *args, struct error *err)
{
    struct wire_resource_allocation_raw_request in = {.has_timestamp_after = true, .has_timestamp_before = true};
    struct span s = between_times("raw", args->timestamp_after, args->timestamp_before);
    if (read_time("timestamp_after", args->timestamp_after, &in.timestamp_after, err) < 0 ||
        read_time("timestamp_before", args->timestamp_before, &in.timestamp_before, err) < 0)
        return -1;
    return args->json ? show_document(cli, ROUTE_ID_RESOURCE_ALLOCATION_RAW, &in, err) : show_table(cli, &s, err);
}

int cmd_resources_allocations(struct cli *cli, const struct args_resources_allocations *args, struct error *err)
{
    struct span s = between_times("allocations-csv", args->timestamp_after, args->timestamp_before);
    int64_t after, before;
    if (read_time("timestamp_after", args->timestamp_after, &after, err) < 0 ||
        read_time("timestamp_before", args->timestamp_before, &before, err) < 0)
        return -1;
    return show_table(cli, &s, err);
}

int cmd_resources_aggregated(struct cli *cli, const struct args_resources_aggregated *args, struct error *err)
{
    enum wire_master_resource_allocation_aggregation_period period =
        args->monthly ? WIRE_MASTER_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY
                      : WIRE_MASTER_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY;
    struct wire_resource_allocation_aggregated_request in = {.start_date = args->start_date,
                                                             .end_date = args->end_date,
                                                             .period = period};
    struct span s = in_periods("aggregated", args->start_date, args->end_date, args->monthly, args->by);
    return args->json && !args->by ? show_document(cli, ROUTE_ID_RESOURCE_ALLOCATION_AGGREGATED, &in, err)
                                   : show_table(cli, &s, err);
}

int cmd_resources_summary(struct cli *cli, const struct args_resources_summary *args, struct error *err)
{
    struct span s = in_periods("summary", args->start_date, args->end_date, args->monthly, args->by);
    return show_table(cli, &s, err);
}
