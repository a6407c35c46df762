/* Lines that are posted, by tasks and whoever ships their logs. Like those that agents send they are looked through for the
 * log policies of their experiment before they are stored. */
#include <string.h>

#include "api/access.h"
#include "api/internal.h"
#include "api/log_scan.h"
#include "api/raw.h"
#include "api/raw_handlers.h"
#include "gen/handlers.h"
#include "store/task_logs.h"
#include "store/tasks.h"

struct posted {
    const char *task_id;
    struct store_log_line *line;
    size_t n;
    struct store_log_batch batch;
    int64_t first_id;
    struct log_scan scan;
    bool *is_new; /* of the scan's matches */
};

static void posted_end(struct req *r)
{
    struct posted *p = r->state;
    store_log_batch_release(&p->batch);
}

static int posted_told(struct req *r, struct error *err)
{
    const struct posted *p = r->state;
    api_log_stored(r->api, p->task_id, p->first_id, p->line, p->n);
    for (size_t i = 0; i < p->scan.match_n; i++)
        if (p->is_new[i])
            r->api->services.log_matched(r->api->services.ctx, &p->scan.match[i]);
    return 0;
}

static int posted_store(struct req *r, struct error *err)
{
    struct posted *p = r->state;
    struct store_task task;
    if (store_task_get(r->db, p->task_id, &r->arena, &task, err) < 0 || access_may_change(r, ACCESS_TASK(p->task_id), err) < 0 ||
        store_task_log_append_batch(r->db, p->task_id, &p->batch, &p->first_id, err) < 0)
        return -1;
    for (size_t i = 0; i < p->scan.match_n; i++)
        if (store_log_match_add(r->db, &p->scan.match[i], r->now_us, &p->is_new[i], err) < 0)
            return -1;
    return req_then(r, REQ_LOOP, posted_told);
}

static void posted_scanned(struct log_scan *s)
{
    struct req *r = s->ctx;
    struct posted *p = r->state;
    p->is_new = arena_array(&r->arena, bool, s->match_n + 1);
    req_resume(r, REQ_WRITE, posted_store);
}

/* The lines say whose they are, else the one that posts them. */
static int posted_scan(struct req *r, struct error *err)
{
    struct posted *p = r->state;
    const char *allocation_id = p->line[0].allocation_id;
    if ((!allocation_id || !*allocation_id) && r->who.kind == PRINCIPAL_TASK)
        allocation_id = r->who.allocation_id;
    p->scan = (struct log_scan){.task_id = p->task_id, .line = p->line, .line_n = p->n, .arena = &r->arena,
                                .done = posted_scanned, .ctx = r};
    return r->api->services.scan_log(r->api->services.ctx, allocation_id, &p->scan)
        ? req_wait(r, NULL) : req_then(r, REQ_WRITE, posted_store);
}

/* "" and NULL: they do not say. Log policies act upon the allocation that a line names. */
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
            return error_set(err, ERR_INVALID, "logs[%zu].allocationId: '%.100s' is no allocation of task '%.100s', whose ids are "
                             "TASK_ID.N", i, log[i].allocation_id, log[i].task_id);
        if (log[i].has_id)
            return error_set(err, ERR_INVALID, "logs[%zu].id must be left out; the master numbers the lines", i);
    }
    return 0;
}

static struct store_log_line line_of_wire(const struct wire_task_log *w, int64_t now_us)
{
    return (struct store_log_line){
        .time_us = w->has_timestamp ? w->timestamp : now_us, .allocation_id = w->allocation_id, .agent_id = w->agent_id,
        .container_id = w->container_id, .has_rank = w->has_rank_id, .rank = w->rank_id, .level = w->has_level ? (int32_t)w->level : 0,
        .source = w->source, .stdtype = w->stdtype, .text = w->log ? w->log : "", .text_n = w->log ? strlen(w->log) : 0};
}

static int post(struct req *r, const struct wire_task_log *log, size_t n, struct error *err)
{
    if (check_posted(log, n, err) < 0)
        return -1;
    struct posted *p = arena_new(&r->arena, struct posted);
    *p = (struct posted){.task_id = log[0].task_id, .line = arena_array(&r->arena, struct store_log_line, n), .n = n};
    for (size_t i = 0; i < n; i++)
        p->line[i] = line_of_wire(&log[i], r->now_us);
    store_log_batch_make(&p->batch, p->line, n);
    r->state = p;
    r->on_end = posted_end;
    return req_then(r, REQ_LOOP, posted_scan);
}

int api_post_task_logs(struct req *r, const struct wire_post_task_logs_request *in,
                       struct wire_post_task_logs_response *ret, struct error *err)
{
    return post(r, in->logs, in->logs_n, err);
}

/* POST /task-logs: the same list of entries, bare. */
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
    return post(r, in->logs, in->logs_n, err);
}
