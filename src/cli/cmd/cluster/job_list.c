#include "cli/cmd/show.h"
#include "cli/terminal/output.h"

typedef struct wire_job_rbac_job job_entry;

/* Whether the pool's queue is ordered by priority or by weight. Without a name, it is the default pool for slots. */
static int find_is_priority(struct cli *cli, const char *pool, bool *ret, struct error *err)
{
    struct wire_get_resource_pools_response out;
    if (api_call(cli, ROUTE_ID_GET_RESOURCE_POOLS, NULL, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.resource_pools_n; i++) {
        const struct wire_resourcepool_resource_pool *p = &out.resource_pools[i];
        if (pool ? strcmp(p->name, pool) == 0 : p->default_compute_pool) {
            *ret = p->scheduler_type == WIRE_RESOURCEPOOL_SCHEDULER_TYPE_PRIORITY;
            return 0;
        }
    }
    return error_set(err, ERR_NOT_FOUND, "Pool %s not found", pool ? pool : "(default)");
}

/* The job queue is shown as releases older than 0.38.1 did (docs/compatibility.md): ids are cut to the shortest
 * beginning that distinguishes the listed jobs, but to at least 8 characters; names have no suffix; the last columns
 * are Status and User. */
static size_t prefix_length(const struct wire_get_jobs_v2_response *jobs)
{
    size_t n = 8;
    for (size_t i = 0; i < jobs->jobs_n; i++) {
        for (size_t k = 0; k < i; k++) {
            const char *a = jobs->jobs[i].full ? jobs->jobs[i].full->job_id : "",
                       *b = jobs->jobs[k].full ? jobs->jobs[k].full->job_id : "";
            while (*a && *b && strlen(a) > n && strncmp(a, b, n) == 0)
                n++;
        }
    }
    return n;
}

/* The name on a terminal: with the experiment's number, because nearly all jobs are experiments and their names may
 * be equal. The number comes first, because long names are cut off at their end. */
static const char *brief_name(struct arena *a, const struct wire_job *f)
{
    return f && f->type == WIRE_JOB_TYPE_EXPERIMENT ? arena_printf(a, "%s: %s", f->entity_id, f->name) : NULL;
}

static const char *brief_type(const char *type, bool experiment)
{
    return experiment ? "" : type && strncmp(type, "TYPE_", 5) == 0 ? type + 5 : NULL;
}

/* The columns that --details adds after the usual ones. */
static void detail_cells(struct table *t, const job_entry *e)
{
    const struct wire_job *f = e->full;
    const struct wire_job_summary *summary = f ? f->summary : e->limited->summary;
    table_text(t, f && f->type == WIRE_JOB_TYPE_EXPERIMENT ? f->entity_id : NULL);
    table_time_iso(t, summary && summary->has_estimated_start, summary ? summary->estimated_start : 0);
    table_text(t, summary ? summary->reason : NULL);
}

static void job_row(struct table *t, const job_entry *e, bool is_priority, size_t id_n)
{
    const struct wire_job *f = e->full;
    const struct wire_job_limited_job *l = e->limited;
    const struct wire_job_summary *summary = f ? f->summary : l->summary;
    const char *id = f ? f->job_id : l->job_id;
    if (summary && summary->jobs_ahead > -1)
        table_int(t, summary->jobs_ahead);
    else
        table_text(t, "N/A");
    table_text(t, arena_strndup(&t->arena, id, strnlen(id, id_n)));
    const char *type = codec_enum_name(&wire_enum_job_type, (int32_t)(f ? f->type : l->type));
    table_brief(t, type, brief_type(type, (f ? f->type : l->type) == WIRE_JOB_TYPE_EXPERIMENT));
    table_brief(t, f ? f->name : "***", brief_name(&t->arena, f));
    if (is_priority)
        table_int(t, f ? f->priority : l->priority);
    else
        table_text(t, arena_printf(&t->arena, "%g", f ? f->weight : l->weight));
    if (f)
        table_time_iso(t, f->has_submission_time, f->submission_time);
    else
        table_text(t, "***");
    table_text(t, arena_printf(&t->arena, "%d/%d", f ? f->allocated_slots : l->allocated_slots,
                               f ? f->requested_slots : l->requested_slots));
    const char *state = summary ? codec_enum_name(&wire_enum_job_state, (int32_t)summary->state) : "N/A";
    table_brief(t, state, summary ? state_text(&wire_enum_job_state, (int32_t)summary->state) : NULL);
    table_text(t, f ? f->username : "***");
}

/* Adds lines below the table: why each job waits, and when it may start. The table's own columns stay as scripts
 * read them. */
static void note_reason(struct cli *cli, const job_entry *e, size_t id_n, struct strbuf *notes)
{
    const struct wire_job_summary *summary = e->full ? e->full->summary : e->limited->summary;
    const char *id = e->full ? e->full->job_id : e->limited->job_id;
    if (!summary || !summary->reason)
        return;
    strbuf_addf(notes, "%s%.*s %s", notes->n > 0 ? "\n" : "", (int)id_n, id, summary->reason);
    if (summary->has_estimated_start)
        strbuf_addf(notes, "; may start at %s", format_time(&cli->arena, true, summary->estimated_start));
}

static struct json_object *unwrap_job(struct json_object *entry)
{
    struct json_object *job = json_object_object_get(entry, "full");
    return job ? job : json_object_object_get(entry, "limited");
}

static int print_documents(struct cli *cli, const struct args_job_list *args, struct wire_get_jobs_v2_request *in,
                           struct error *err)
{
    cleanup_json struct json_object *list = NULL, *all = json_object_new_object();
    struct json_object *jobs = json_object_new_array();
    json_object_object_add(all, "jobs", jobs);
    if (documents_fetch(cli, ROUTE_ID_GET_JOBS_V2, in, &in->offset, "jobs", pages_of(args->pages, args->has_limit),
                        &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(list); i++)
        json_object_array_add(jobs, json_object_get(unwrap_job(json_object_array_get_idx(list, i))));
    output_yaml(cli, all, true);
    return 0;
}

int cmd_job_list(struct cli *cli, const struct args_job_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_strbuf struct strbuf notes = STRBUF_INIT;
    enum { PAGE = 100, WIDE = 110 };
    bool is_priority = false, terminal = cli->out_width > 0 && !args->csv;
    struct wire_get_jobs_v2_request in = {.resource_pool = args->resource_pool,
                                          .offset = (int32_t)args->offset,
                                          .limit = args->has_limit ? (int32_t)args->limit : PAGE,
                                          .order_by = args->reverse ? WIRE_ORDER_BY_DESC : WIRE_ORDER_BY_ASC};
    if (find_is_priority(cli, args->resource_pool, &is_priority, err) < 0)
        return -1;
    if (args->json)
        return print_documents(cli, args, &in, err);
    table_columns(&t,
                  (const char *const[]){"#", "ID", "Type", "Job Name", is_priority ? "Priority" : "Weight", "Submitted",
                                        terminal ? "Slots" : "Slots (acquired/needed)", "Status", "User", NULL});
    /* on a narrow terminal the details are shown below the table, not as columns */
    bool details = args->details && (!terminal || cli->out_width >= WIDE);
    if (details)
        table_columns(&t, (const char *const[]){"Experiment", "Estimated Start", "Reason", NULL});
    for (;;) {
        struct wire_get_jobs_v2_response out;
        if (api_call(cli, ROUTE_ID_GET_JOBS_V2, &in, &out, err) < 0)
            return -1;
        size_t id_n = prefix_length(&out);
        for (size_t i = 0; i < out.jobs_n; i++)
            if (out.jobs[i].full || out.jobs[i].limited) {
                job_row(&t, &out.jobs[i], is_priority, id_n);
                if (details)
                    detail_cells(&t, &out.jobs[i]);
                note_reason(cli, &out.jobs[i], id_n, &notes);
            }
        if (is_last_page(out.pagination, pages_of(args->pages, args->has_limit)) || out.jobs_n == 0)
            break;
        in.offset = out.pagination->end_index;
    }
    table_show(cli, &t, args->csv);
    if (notes.n > 0 && !args->csv && (terminal || !args->details))
        cli_say(cli, CLI_PLAIN, "\nWaiting:\n%s", strbuf_str(&notes));
    return 0;
}
