/* Streams task logs to people. A stream reads by cursor; while it follows a task, it sleeps on the task's topic. */
#include <stdio.h>
#include <string.h>

#include "api/logs/log_feed.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/pipeline/stream.h"
#include "api/pipeline/wait.h"
#include "common/base/clock.h"
#include "common/json/json.h"
#include "gen/handlers.h"
#include "net/loop/loop.h"
#include "store/cluster/tasks.h"
#include "store/experiments/trials.h"
#include "store/logs/task_logs.h"

/* ---- lines that were stored -------------------------------------------------------------------------------------- */

void api_log_stored(struct api *a, const char *task_id, int64_t first_id, const struct store_log_line *line, size_t n)
{
    loop_assert();
    char topic[WAIT_TOPIC_MAX];
    size_t text_bytes = 0;
    for (size_t i = 0; i < n; i++)
        text_bytes += line[i].text_n;
    a->services.log_stored(a->services.ctx, task_id, text_bytes);
    log_feed_push(a->log_feeds, task_id, first_id, line, n);
    wait_topic(topic, "log", task_id);
    api_wake(a, topic);
}

void api_log_stored_by_core(struct api *a, const char *task_id, size_t text_bytes)
{
    loop_assert();
    char topic[WAIT_TOPIC_MAX];
    a->services.log_stored(a->services.ctx, task_id, text_bytes);
    log_feed_gap(a->log_feeds, task_id);
    wait_topic(topic, "log", task_id);
    api_wake(a, topic);
}

void api_log_ended(struct api *a, const char *task_id)
{
    loop_assert();
    char topic[WAIT_TOPIC_MAX];
    log_feed_end(a->log_feeds, task_id);
    wait_topic(topic, "log", task_id);
    api_wake(a, topic);
}

/* ---- stream ------------------------------------------------------------------------------------------------------ */

struct log_stream {
    struct store_log_filter filter;
    const char **task_id; /* oldest first: a trial may have had several tasks */
    size_t task_n, at;
    int32_t trial_id; /* set for TrialLogs; 0: TaskLogs */
    bool descending, follow;
    int64_t left; /* number of lines still to be sent; -1: no limit */
    struct store_log_reader *reader;
    int64_t cursor;
    bool over; /* the followed task has ended */
    /* The feed of a followed task, which is used once the store has been read to its end. NULL: no task is followed. */
    struct log_feed *feed;
    struct log_mark mark, mark_before; /* mark_before was taken before the fetch */
    const struct log_chunk *chunk;     /* set: this fetch takes its lines from here, not from the store */
};

static void log_stream_end(struct req *r)
{
    struct log_stream *s = r->state;
    if (!s)
        return;
    store_log_reader_free(s->reader);
    log_chunk_drop(s->chunk);
    if (s->feed)
        log_feed_leave(r->api->log_feeds, s->feed);
}

/* A line in the form "[2026-11-21T07:00:00.123456Z] 1a2b3c4d [rank=0] || INFO: text", which people and their scripts
 * read. */
static const char *format_line(const struct store_log_line *l, struct arena *a)
{
    char time[CLOCK_TEXT_MAX], rank[24] = "";
    clock_format_micros(l->time_us, time);
    if (l->has_rank)
        snprintf(rank, sizeof(rank), " [rank=%d]", l->rank);
    const char *level = l->level ? codec_enum_name(&wire_enum_log_level, l->level) : NULL;
    level = level && strncmp(level, "LOG_LEVEL_", 10) == 0 ? level + 10 : NULL;
    return arena_printf(a, "[%s] %-8.8s%s || %s%s%.*s", time, l->container_id ? l->container_id : "", rank,
                        level ? level : "", level ? ": " : "", (int)l->text_n, l->text);
}

static void add_task_line(struct req *r, const struct log_stream *s, const struct store_log_line *l, struct arena *a)
{
    struct wire_task_logs_response out = {.id = arena_printf(a, "%lld", (long long)l->id),
                                          .timestamp = l->time_us,
                                          .has_timestamp = true,
                                          .message = format_line(l, a),
                                          .level = (enum wire_log_level)l->level,
                                          .task_id = s->filter.task_id,
                                          .allocation_id = l->allocation_id,
                                          .agent_id = l->agent_id,
                                          .container_id = l->container_id,
                                          .rank_id = l->rank,
                                          .has_rank_id = l->has_rank,
                                          .log = arena_strndup(a, l->text, l->text_n),
                                          .source = l->source,
                                          .stdtype = l->stdtype};
    stream_add(r, &out);
}

static void add_trial_line(struct req *r, const struct log_stream *s, const struct store_log_line *l, struct arena *a)
{
    struct wire_trial_logs_response out = {.id = arena_printf(a, "%lld", (long long)l->id),
                                           .timestamp = l->time_us,
                                           .has_timestamp = true,
                                           .message = format_line(l, a),
                                           .level = (enum wire_log_level)l->level,
                                           .trial_id = s->trial_id,
                                           .agent_id = l->agent_id,
                                           .container_id = l->container_id,
                                           .rank_id = l->rank,
                                           .has_rank_id = l->has_rank,
                                           .log = arena_strndup(a, l->text, l->text_n),
                                           .source = l->source,
                                           .stdtype = l->stdtype};
    stream_add(r, &out);
}

/* Goes on to the next task of the trial (to the previous one if descending). False: there is none. */
static bool next_task(struct log_stream *s)
{
    store_log_reader_free(s->reader);
    s->reader = NULL;
    s->cursor = 0;
    return ++s->at < s->task_n;
}

static int open_reader(struct log_stream *s, struct error *err)
{
    if (s->reader)
        return 0;
    s->filter.task_id = s->task_id[s->descending ? s->task_n - 1 - s->at : s->at];
    return store_log_reader_new(&s->filter, s->descending, &s->reader, err);
}

/* Whether the task has ended. A follower goes on until it has. Call this before the lines are read: lines that are
 * written between the two reads would be lost otherwise. */
static int task_is_over(struct req *r, struct store *db, const struct log_stream *s, bool *ret, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_task task;
    if (store_task_get(db, s->filter.task_id, &a, &task, err) < 0)
        return -1;
    *ret = task.end_us != 0;
    return 0;
}

enum {
    LINES_PER_READ = 500,
    TURN_US =
        20000, /* a query that searches many lines and finds few lets other requests use its reader after this time */
};

static void add_line(struct req *r, const struct log_stream *s, const struct store_log_line *l, struct arena *a)
{
    if (s->trial_id)
        add_trial_line(r, s, l, a);
    else
        add_task_line(r, s, l, a);
}

/* Sends lines from memory, as many as fit into a batch. */
static int fetch_chunk(struct req *r, struct log_stream *s, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    for (size_t i = 0; i < s->chunk->n && stream_batch_bytes(r) < STREAM_BATCH_BYTES; i++) {
        const struct store_log_line *l = &s->chunk->line[i];
        if (l->id <= s->cursor)
            continue;
        int match = store_log_matches(s->reader, l, err);
        if (match < 0)
            return -1;
        if (match > 0)
            add_line(r, s, l, &a);
        s->cursor = l->id;
    }
    return 0;
}

static int fetch_lines(struct req *r, struct store *db, struct log_stream *s, bool *ret_end, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_log_line *line;
    size_t n, max = s->left >= 0 && s->left < LINES_PER_READ ? (size_t)s->left : LINES_PER_READ;
    if (store_log_read(db, s->reader, &s->cursor, max, &a, &line, &n, ret_end, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        add_line(r, s, &line[i], &a);
    if (s->left >= 0)
        s->left -= (int64_t)n;
    return 0;
}

static int fetch_logs(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    struct log_stream *s = r->state;
    int64_t turn_ends_us = clock_monotonic_us() + TURN_US;
    if (s->chunk) {
        *next = STREAM_MORE; /* before_fetch() finds out whether there is more */
        return fetch_chunk(r, s, err);
    }
    *next = STREAM_END;
    while (s->at < s->task_n && s->left != 0) {
        bool end = false;
        if (open_reader(s, err) < 0)
            return -1;
        bool last = s->follow && s->at + 1 == s->task_n;
        if ((last && !s->over && task_is_over(r, db, s, &s->over, err) < 0) || fetch_lines(r, db, s, &end, err) < 0)
            return -1;
        if (!end) {
            if (stream_batch_bytes(r) < STREAM_BATCH_BYTES && clock_monotonic_us() < turn_ends_us)
                continue;
            *next = STREAM_MORE;
            return 0;
        }
        if (last)
            s->mark = s->mark_before;
        if (last && !s->over) {
            *next = STREAM_WAIT;
            return 0;
        }
        if (!next_task(s))
            break;
    }
    return 0;
}

static struct store_ints levels_of(const enum wire_log_level *level, size_t n, struct arena *a)
{
    int32_t *number = arena_array(a, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        number[i] = (int32_t)level[i];
    return (struct store_ints){number, n};
}

/* Runs on the loop. It checks whether the task has ended before it looks for lines, so that lines that come in
 * between are not missed. */
static enum stream_next before_fetch(struct req *r)
{
    struct log_stream *s = r->state;
    if (!s->feed)
        return STREAM_MORE;
    s->over = s->over || log_feed_is_over(s->feed);
    s->mark_before = log_feed_mark(s->feed);
    enum log_feed_look look = log_feed_look(s->feed, s->mark, s->cursor, &s->chunk);
    if (look == LOG_FEED_NONE)
        return s->over ? STREAM_END : STREAM_WAIT;
    r->api->log_stats.fed += look == LOG_FEED_LINES;
    r->api->log_stats.read += look == LOG_FEED_STORE;
    return STREAM_MORE;
}

static void after_fetch(struct req *r)
{
    struct log_stream *s = r->state;
    log_chunk_drop(s->chunk);
    s->chunk = NULL;
}

static const struct stream_memory followed = {before_fetch, after_fetch};

static int start_logs(struct req *r, struct log_stream *s)
{
    char topic[WAIT_TOPIC_MAX];
    const char *last = s->task_n ? s->task_id[s->task_n - 1] : "";
    r->state = s;
    r->on_end = log_stream_end;
    s->mark = LOG_MARK_NONE;
    if (s->follow && !s->descending && s->task_n)
        s->feed = log_feed_follow(r->api->log_feeds, last);
    wait_topic(topic, "log", last);
    return req_stream_fed(r, topic, fetch_logs, &followed);
}

struct api_log_stats api_log_stats(const struct api *a)
{
    return a->log_stats;
}

static int task_logs_begin(struct req *r, struct core *core, struct error *err)
{
    return start_logs(r, r->state);
}

static int task_logs_check(struct req *r, struct store *db, struct error *err)
{
    const struct wire_task_logs_request *in = r->in;
    struct store_task task;
    if (store_task_get(db, in->task_id, &r->arena, &task, err) < 0)
        return -1;
    return req_then_loop(r, task_logs_begin);
}

int api_task_logs(struct req *r, struct core *core, const struct wire_task_logs_request *in, struct error *err)
{
    if (in->limit < 0)
        return error_set(err, ERR_INVALID, "limit is %d, it must not be negative", in->limit);
    if (in->limit && in->follow)
        return error_set(err, ERR_INVALID, "limit and follow exclude each other");
    struct log_stream *s = arena_new(&r->arena, struct log_stream);
    *s = (struct log_stream){.filter = {.allocation_ids = {in->allocation_ids, in->allocation_ids_n},
                                        .agent_ids = {in->agent_ids, in->agent_ids_n},
                                        .container_ids = {in->container_ids, in->container_ids_n},
                                        .stdtypes = {in->stdtypes, in->stdtypes_n},
                                        .sources = {in->sources, in->sources_n},
                                        .rank_ids = {in->rank_ids, in->rank_ids_n},
                                        .levels = levels_of(in->levels, in->levels_n, &r->arena),
                                        .before_us = in->timestamp_before,
                                        .after_us = in->timestamp_after,
                                        .search = in->search_text,
                                        .regex = in->enable_regex},
                             .task_id = arena_array(&r->arena, const char *, 1),
                             .task_n = 1,
                             .descending = in->order_by == WIRE_ORDER_BY_DESC,
                             .follow = in->follow,
                             .left = in->limit ? in->limit : -1};
    s->task_id[0] = in->task_id;
    r->state = s;
    return req_then_read(r, task_logs_check);
}

static int trial_logs_find(struct req *r, struct store *db, struct error *err)
{
    struct log_stream *s = r->state;
    struct store_trial t;
    if (store_trial_get(db, s->trial_id, /* full= */ false, &r->arena, &t, err) < 0)
        return -1;
    s->task_id = t.task_ids;
    s->task_n = t.task_ids_n;
    return req_then_loop(r, task_logs_begin);
}

int api_trial_logs(struct req *r, struct core *core, const struct wire_trial_logs_request *in, struct error *err)
{
    struct log_stream *s = arena_new(&r->arena, struct log_stream);
    *s = (struct log_stream){.filter = {.agent_ids = {in->agent_ids, in->agent_ids_n},
                                        .container_ids = {in->container_ids, in->container_ids_n},
                                        .stdtypes = {in->stdtypes, in->stdtypes_n},
                                        .sources = {in->sources, in->sources_n},
                                        .rank_ids = {in->rank_ids, in->rank_ids_n},
                                        .levels = levels_of(in->levels, in->levels_n, &r->arena),
                                        .before_us = in->timestamp_before,
                                        .after_us = in->timestamp_after,
                                        .search = in->search_text,
                                        .regex = in->enable_regex},
                             .trial_id = in->trial_id,
                             .descending = in->order_by == WIRE_ORDER_BY_DESC,
                             .follow = in->follow,
                             .left = in->limit > 0   ? in->limit
                                     : in->limit < 0 ? 0
                                                     : -1};
    r->state = s;
    return req_then_read(r, trial_logs_find);
}
