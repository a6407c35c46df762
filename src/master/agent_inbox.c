#include "master/agent_inbox.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "core/core.h"

enum { HEAVY_BYTES = 8 * 1024 /* to decode it takes longer than to hand it over */ };

struct entry {
    STAILQ_ENTRY(entry) next;
    struct agent_inbox *in;
    struct agent_letter letter;
    void *data; /* a copy, for a worker */
    size_t n;
    bool ready;
};

struct agent_inbox {
    struct pool *workers;
    char agent_id[CORE_AGENT_ID_MAX];
    agent_hear_fn *hear;
    void *ctx;
    STAILQ_HEAD(, entry) waiting;
    int with_workers;
    bool closed, hearing;
};

struct agent_inbox *agent_inbox_new(struct pool *workers, const char *agent_id, agent_hear_fn *hear, void *ctx)
{
    struct agent_inbox *in = calloc(1, sizeof(*in));
    if (!in)
        abort();
    *in = (struct agent_inbox){.workers = workers, .hear = hear, .ctx = ctx};
    memcpy(in->agent_id, agent_id, strnlen(agent_id, CORE_AGENT_ID_MAX - 1));
    STAILQ_INIT(&in->waiting);
    return in;
}

static void entry_free(struct entry *e)
{
    store_log_batch_release(&e->letter.lines);
    arena_release(&e->letter.arena);
    error_release(&e->letter.err);
    free(e->data);
    free(e);
}

static void free_if_done(struct agent_inbox *in)
{
    if (in->closed && !in->hearing && in->with_workers == 0)
        free(in);
}

/* ---- on either side ---- */

static struct store_log_line line_of(const struct wire_link_task_logs *logs, const struct wire_link_log_line *w,
                                     const char *agent_id)
{
    return (struct store_log_line){
        .time_us = w->timestamp, .allocation_id = logs->allocation_id, .agent_id = agent_id,
        .container_id = logs->container_id ? logs->container_id : "", .has_rank = w->has_rank_id, .rank = w->rank_id,
        .level = (int32_t)w->level, .source = w->source, .stdtype = w->stdtype, .text = w->log ? w->log : "",
        .text_n = w->log ? strlen(w->log) : 0};
}

static void read_lines(struct agent_letter *l, const char *agent_id)
{
    const struct wire_link_task_logs *logs = l->message->logs;
    const char *id = arena_strdup(&l->arena, agent_id);
    struct store_log_line *line = arena_array(&l->arena, struct store_log_line, logs->lines_n);
    for (size_t i = 0; i < logs->lines_n; i++)
        line[i] = line_of(logs, &logs->lines[i], id);
    l->lines = (struct store_log_batch){.line = line, .line_n = logs->lines_n};
}

static void open_letter(struct entry *e, const void *data, size_t n)
{
    struct agent_letter *l = &e->letter;
    l->message = arena_new(&l->arena, struct wire_link_agent_message);
    if (codec_decode(&wire_msg_link_agent_message, data, n, &l->arena, l->message, &l->err) == 0 && l->message->logs)
        read_lines(l, e->in->agent_id);
}

static void work(void *worker, void *job)
{
    struct entry *e = job;
    open_letter(e, e->data, e->n);
    if (e->letter.lines.line_n > 0)
        store_log_batch_make(&e->letter.lines, e->letter.lines.line, e->letter.lines.line_n);
}

/* ---- on the loop ---- */

static void hear_ready(struct agent_inbox *in)
{
    struct entry *e;
    if (in->hearing)
        return;
    in->hearing = true;
    while (!in->closed && (e = STAILQ_FIRST(&in->waiting)) && e->ready) {
        STAILQ_REMOVE_HEAD(&in->waiting, next);
        in->hear(in->ctx, &e->letter);
        entry_free(e);
    }
    in->hearing = false;
    free_if_done(in);
}

static void done(void *job)
{
    struct entry *e = job;
    struct agent_inbox *in = e->in;
    in->with_workers--;
    e->ready = true;
    if (in->closed)
        entry_free(e);
    hear_ready(in);
}

static bool give_to_worker(struct entry *e, const void *data, size_t n)
{
    if (n < HEAVY_BYTES || !(e->data = malloc(n)))
        return false;
    memcpy(e->data, data, n);
    e->n = n;
    if (pool_submit(e->in->workers, work, done, e, NULL) < 0)
        return false; /* they have too much to do */
    e->in->with_workers++;
    return true;
}

void agent_inbox_put(struct agent_inbox *in, const void *data, size_t n)
{
    struct entry *e = calloc(1, sizeof(*e));
    if (!e)
        abort();
    e->in = in;
    STAILQ_INSERT_TAIL(&in->waiting, e, next);
    if (give_to_worker(e, data, n))
        return;
    open_letter(e, data, n);
    e->ready = true;
    hear_ready(in);
}

void agent_inbox_close(struct agent_inbox *in)
{
    struct entry *e;
    in->closed = true;
    while ((e = STAILQ_FIRST(&in->waiting))) {
        STAILQ_REMOVE_HEAD(&in->waiting, next);
        if (e->ready)
            entry_free(e); /* the others are freed when their worker is done with them */
    }
    free_if_done(in);
}
