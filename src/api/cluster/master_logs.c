/* The master's own log, as far back as memory has it. */
#include "api/pipeline/internal.h"
#include "api/pipeline/repeated.h"
#include "common/system/log_ring.h"
#include "gen/handlers.h"
#include "net/http/http.h"

enum { LINES_PER_FETCH = 500, PERIOD_S = 1 };

struct master_logs {
    int64_t next; /* number of the next line to send */
    int64_t left; /* number of lines still wanted; negative: all */
};

static enum wire_log_level level_to_wire(enum log_level level)
{
    static const enum wire_log_level wire[LOG_LEVEL_NR] = {[LOG_TRACE] = WIRE_LOG_LEVEL_TRACE,
                                                           [LOG_DEBUG] = WIRE_LOG_LEVEL_DEBUG,
                                                           [LOG_INFO] = WIRE_LOG_LEVEL_INFO,
                                                           [LOG_WARNING] = WIRE_LOG_LEVEL_WARNING,
                                                           [LOG_ERROR] = WIRE_LOG_LEVEL_ERROR,
                                                           [LOG_FATAL] = WIRE_LOG_LEVEL_CRITICAL};
    return wire[level];
}

static int fetch_lines(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_master_logs_request *in = r->in;
    struct master_logs *s = ((struct repeated *)r->state)->seen;
    struct log_ring_line *line;
    size_t max = s->left >= 0 && s->left < LINES_PER_FETCH ? (size_t)s->left : LINES_PER_FETCH;
    size_t n = log_ring_read(r->api->services.master_log, s->next, max, &a, &line);
    for (size_t i = 0; i < n; i++)
        stream_add(r, &(struct wire_master_logs_response){
                          .log_entry = &(struct wire_log_entry){.id = (int32_t)line[i].id,
                                                                .message = line[i].text,
                                                                .timestamp = line[i].time_us,
                                                                .has_timestamp = true,
                                                                .level = level_to_wire(line[i].level)}});
    if (n)
        s->next = line[n - 1].id + 1;
    s->left -= s->left > 0 ? (int64_t)n : 0;
    *next = s->left == 0 ? STREAM_END : n == max ? STREAM_MORE : in->follow ? STREAM_WAIT : STREAM_END;
    return 0;
}

/* Sends one line that says why there is no log. */
static int fetch_refusal(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    const char *text = arena_printf(&r->arena,
                                    "Left out: only an admin may read the master's log, and user '%s' is not an admin.",
                                    r->who.username);
    stream_add(r, &(struct wire_master_logs_response){
                      .log_entry = &(struct wire_log_entry){.message = text,
                                                            .timestamp = r->now_us,
                                                            .has_timestamp = true,
                                                            .level = WIRE_LOG_LEVEL_WARNING}});
    *next = STREAM_END;
    return 0;
}

/* Refuses the log to anybody but admins. The support bundle of release 0.38.1 asks for the log without any parameter
 * and makes no bundle if the master refuses: such a request is answered with a line instead. `det master logs`
 * always says whether it wants to follow. */
static int refuse_log(struct req *r, struct error *err)
{
    if (*http_request_query(r->http))
        return req_need_admin(r, "read the master's log", err);
    return repeated_stream(r, PERIOD_S, NULL, fetch_refusal, err);
}

int api_master_logs(struct req *r, struct core *core, const struct wire_master_logs_request *in, struct error *err)
{
    if (!r->who.admin)
        return refuse_log(r, err);
    if (in->limit < 0)
        return error_set(err, ERR_INVALID, "limit is %d, it must not be negative (0: all)", in->limit);
    if (in->limit && in->follow)
        return error_set(err, ERR_INVALID, "limit is %d and follow is set: a log that is followed has no limit",
                         in->limit);
    struct master_logs *s = arena_new(&r->arena, struct master_logs);
    int64_t first, end;
    log_ring_range(r->api->services.master_log, &first, &end);
    *s = (struct master_logs){.next = in->offset < 0 ? end + in->offset : in->offset,
                              .left = in->limit ? in->limit : -1};
    if (s->next < first)
        s->next = first;
    return repeated_stream(r, PERIOD_S, s, fetch_lines, err);
}
