/* Log lines that tasks, or programs that ship their logs, post to the master. They are stored like all lines
 * (log_ingest.h). */
#include <string.h>

#include "api/logs/log_ingest.h"
#include "api/pipeline/access.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "gen/handlers.h"
#include "store/cluster/tasks.h"

static void posted_end(struct req *r)
{
    log_ingest_release(r->state);
}

static int posted_told(struct req *r, struct core *core, struct error *err)
{
    log_ingest_stored(r->api, r->state);
    return 0;
}

static int posted_store(struct req *r, struct store *db, struct error *err)
{
    struct log_ingest *g = r->state;
    struct store_task task;
    if (store_task_get(db, g->task_id, &r->arena, &task, err) < 0 ||
        access_may_change(r, db, ACCESS_TASK(g->task_id), err) < 0 || log_ingest_store(g, db, r->now_us, err) < 0)
        return -1;
    return req_then_loop(r, posted_told);
}

static void posted_scanned(struct log_scan *s)
{
    req_resume_write(s->ctx, posted_store);
}

/* The lines name the task they belong to; if they do not, it is the task that posts them. */
static int posted_scan(struct req *r, struct core *core, struct error *err)
{
    struct log_ingest *g = r->state;
    const char *allocation_id = g->lines.line[0].allocation_id;
    if ((!allocation_id || !*allocation_id) && r->who.kind == PRINCIPAL_TASK)
        allocation_id = r->who.allocation_id;
    log_ingest_scan(g, /* agent_id= */ NULL, posted_scanned, r);
    return r->api->services.scan_log(r->api->services.ctx, allocation_id, &g->scan) ? req_wait(r, NULL)
                                                                                    : req_then_write(r, posted_store);
}

/* Whether the lines belong to the task; "" and NULL: they name no allocation. Log policies act on the allocation
 * that a line names. */
static bool is_of_task(const char *allocation_id, const char *task_id)
{
    size_t n = strlen(task_id);
    return !allocation_id || !*allocation_id || (strncmp(allocation_id, task_id, n) == 0 && allocation_id[n] == '.');
}

static int check_posted(const struct wire_task_log *log, size_t n, struct error *err)
{
    if (n == 0)
        return error_set(err, ERR_INVALID, "logs must have at least one entry");
    for (size_t i = 0; i < n; i++) {
        if (!log[i].task_id || strcmp(log[i].task_id, log[0].task_id ? log[0].task_id : "") != 0)
            return error_set(err, ERR_INVALID,
                             "logs[%zu].taskId: all entries of one request must have the same task id", i);
        if (!is_of_task(log[i].allocation_id, log[i].task_id))
            return error_set(err, ERR_INVALID,
                             "logs[%zu].allocationId: '%.100s' is no allocation of task '%.100s', whose ids are "
                             "TASK_ID.N",
                             i, log[i].allocation_id, log[i].task_id);
        if (log[i].has_id)
            return error_set(err, ERR_INVALID, "logs[%zu].id must be left out; the master numbers the lines", i);
    }
    return 0;
}

static struct store_log_line line_of_wire(const struct wire_task_log *w, int64_t now_us)
{
    return (struct store_log_line){.time_us = w->has_timestamp ? w->timestamp : now_us,
                                   .allocation_id = w->allocation_id,
                                   .agent_id = w->agent_id,
                                   .container_id = w->container_id,
                                   .has_rank = w->has_rank_id,
                                   .rank = w->rank_id,
                                   .level = w->has_level ? (int32_t)w->level : 0,
                                   .source = w->source,
                                   .stdtype = w->stdtype,
                                   .text = w->log ? w->log : "",
                                   .text_n = w->log ? strlen(w->log) : 0};
}

static int post_lines(struct req *r, const struct wire_task_log *log, size_t n, struct error *err)
{
    if (check_posted(log, n, err) < 0)
        return -1;
    struct log_ingest *g = arena_new(&r->arena, struct log_ingest);
    struct store_log_line *line = arena_array(&r->arena, struct store_log_line, n);
    for (size_t i = 0; i < n; i++)
        line[i] = line_of_wire(&log[i], r->now_us);
    *g = (struct log_ingest){.task_id = log[0].task_id,
                             .base_url = api_info(r->api)->webhook_base_url,
                             .arena = &r->arena};
    store_log_batch_make(&g->lines, line, n);
    r->state = g;
    r->on_end = posted_end;
    return req_then_loop(r, posted_scan);
}

int api_post_task_logs(struct req *r, const struct wire_post_task_logs_request *in,
                       struct wire_post_task_logs_response *ret, struct error *err)
{
    return post_lines(r, in->logs, in->logs_n, err);
}

/* POST /task-logs: the same entries, as a bare list. */
int raw_task_logs(struct req *r, struct error *err)
{
    size_t n;
    const char *body = req_body(r, &n);
    struct wire_post_task_logs_request *in = arena_new(&r->arena, struct wire_post_task_logs_request);
    const struct codec_field *logs = codec_field_by_name(&wire_msg_post_task_logs_request, "logs", 4);
    if (codec_decode_field(&wire_msg_post_task_logs_request, logs, body, n, &r->arena, in, err) < 0)
        return -1;
    req_drop_body(r);
    strbuf_adds(&r->reply.body, "\"\"\n");
    return post_lines(r, in->logs, in->logs_n, err);
}
