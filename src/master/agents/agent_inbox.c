#include "master/agents/agent_inbox.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/must.h"
#include "core/core.h"
#include "master/agents/agent_message_checks.h"

enum {
    HEAVY_BYTES = 8 * 1024, /* decoding a message of this size takes longer than giving it to a worker */
};

TAILQ_HEAD(inbox_list, agent_inbox);
struct agent_inboxes {
    struct loop *loop;
    struct pool *workers;
    int64_t (*now_us)(void);
    struct inbox_list behind; /* the inboxes that have messages to be handled in the next turn */
    int64_t heard_us;         /* the time spent on messages in this turn of the loop */
    bool posted;
};

struct entry {
    STAILQ_ENTRY(entry) next;
    struct agent_inbox *in;
    struct agent_inbox_message received;
    void *data; /* a copy of the message, for a worker or for a later turn */
    size_t n;
    bool with_worker, opened;
};

struct agent_inbox {
    struct agent_inboxes *all;
    char agent_id[CORE_AGENT_ID_MAX];
    agent_hear_fn *hear;
    void *ctx;
    STAILQ_HEAD(, entry) waiting;
    int with_workers;
    bool closed, hearing, is_behind;
    TAILQ_ENTRY(agent_inbox) in_behind;
};

struct agent_inboxes *agent_inboxes_new(struct loop *l, struct pool *workers, int64_t (*now_us)(void))
{
    struct agent_inboxes *all = must_calloc(1, sizeof(*all));
    *all = (struct agent_inboxes){.loop = l, .workers = workers, .now_us = now_us};
    TAILQ_INIT(&all->behind);
    return all;
}

void agent_inboxes_free(struct agent_inboxes *all)
{
    free(all);
}

struct agent_inbox *agent_inbox_new(struct agent_inboxes *all, const char *agent_id, agent_hear_fn *hear, void *ctx)
{
    struct agent_inbox *in = must_calloc(1, sizeof(*in));
    *in = (struct agent_inbox){.all = all, .hear = hear, .ctx = ctx};
    memcpy(in->agent_id, agent_id, strnlen(agent_id, CORE_AGENT_ID_MAX - 1));
    STAILQ_INIT(&in->waiting);
    return in;
}

static void entry_free(struct entry *e)
{
    store_log_batch_release(&e->received.lines);
    arena_release(&e->received.arena);
    error_release(&e->received.err);
    free(e->data);
    free(e);
}

static void free_if_done(struct agent_inbox *in)
{
    if (in->closed && !in->hearing && in->with_workers == 0)
        free(in);
}

/* ---- on either side ---------------------------------------------------------------------------------------------- */

static struct store_log_line line_of(const struct wire_link_task_logs *logs, const struct wire_link_log_line *w,
                                     const char *agent_id)
{
    return (struct store_log_line){.time_us = w->timestamp,
                                   .allocation_id = logs->allocation_id,
                                   .agent_id = agent_id,
                                   .container_id = logs->container_id ? logs->container_id : "",
                                   .has_rank = w->has_rank_id,
                                   .rank = w->rank_id,
                                   .level = (int32_t)w->level,
                                   .source = w->source,
                                   .stdtype = w->stdtype,
                                   .text = w->log ? w->log : "",
                                   .text_n = w->log ? strlen(w->log) : 0};
}

static void read_lines(struct agent_inbox_message *l, const char *agent_id)
{
    const struct wire_link_task_logs *logs = l->message->logs;
    const char *id = arena_strdup(&l->arena, agent_id);
    struct store_log_line *line = arena_array(&l->arena, struct store_log_line, logs->lines_n);
    for (size_t i = 0; i < logs->lines_n; i++)
        line[i] = line_of(logs, &logs->lines[i], id);
    l->lines = (struct store_log_batch){.line = line, .line_n = logs->lines_n};
}

static void decode_message(struct entry *e, const void *data, size_t n)
{
    struct agent_inbox_message *l = &e->received;
    l->message = arena_new(&l->arena, struct wire_link_agent_message);
    if (codec_decode(&wire_msg_link_agent_message, data, n, &l->arena, l->message, &l->err) == 0 &&
        agent_message_check(l->message, &l->err) == 0 && l->message->logs)
        read_lines(l, e->in->agent_id);
}

static void decode_on_worker(void *worker, void *job)
{
    struct entry *e = job;
    decode_message(e, e->data, e->n);
    if (e->received.lines.line_n > 0)
        store_log_batch_make(&e->received.lines, e->received.lines.line, e->received.lines.line_n);
}

/* ---- on the loop ------------------------------------------------------------------------------------------------- */

static bool is_time(const struct agent_inboxes *all)
{
    return all->heard_us < AGENT_HEARING_US;
}

static void hear_one(struct agent_inbox *in, struct entry *e)
{
    int64_t start_us = in->all->now_us();
    STAILQ_REMOVE_HEAD(&in->waiting, next);
    if (!e->opened)
        decode_message(e, e->data, e->n);
    in->hear(in->ctx, &e->received);
    entry_free(e);
    in->all->heard_us += in->all->now_us() - start_us;
}

static void hear_behind(void *ctx);

static void fall_behind(struct agent_inbox *in)
{
    struct agent_inboxes *all = in->all;
    if (!in->is_behind)
        TAILQ_INSERT_TAIL(&all->behind, in, in_behind);
    in->is_behind = true;
    if (!all->posted)
        loop_post(all->loop, hear_behind, all);
    all->posted = true;
}

static void hear_ready(struct agent_inbox *in)
{
    struct entry *e;
    if (in->hearing)
        return;
    in->hearing = true;
    while (!in->closed && (e = STAILQ_FIRST(&in->waiting)) && !e->with_worker) {
        if (!is_time(in->all)) {
            fall_behind(in);
            break;
        }
        hear_one(in, e);
    }
    in->hearing = false;
    free_if_done(in);
}

/* Handles, in the next turn of the loop, messages of the inboxes that were left over in the last turn. */
static void hear_behind(void *ctx)
{
    struct agent_inboxes *all = ctx;
    struct agent_inbox *in;
    all->posted = false;
    all->heard_us = 0;
    while (is_time(all) && (in = TAILQ_FIRST(&all->behind))) {
        TAILQ_REMOVE(&all->behind, in, in_behind);
        in->is_behind = false;
        hear_ready(in);
    }
    if (!all->posted && !TAILQ_EMPTY(&all->behind)) {
        all->posted = true;
        loop_post(all->loop, hear_behind, all);
    }
}

static void message_decoded(void *job)
{
    struct entry *e = job;
    struct agent_inbox *in = e->in;
    in->with_workers--;
    e->with_worker = false;
    e->opened = true;
    if (in->closed)
        entry_free(e);
    hear_ready(in);
}

static bool give_to_worker(struct entry *e)
{
    struct agent_inbox *in = e->in;
    if (e->n < HEAVY_BYTES || pool_submit(in->all->workers, decode_on_worker, message_decoded, e, NULL) < 0)
        return false; /* the workers' queue is full, so the message is decoded on the loop */
    in->with_workers++;
    e->with_worker = true;
    return true;
}

static void keep_copy(struct entry *e, const void *data, size_t n)
{
    e->data = must_malloc(n + 1);
    memcpy(e->data, data, n);
    e->n = n;
}

void agent_inbox_put(struct agent_inbox *in, const void *data, size_t n)
{
    struct entry *e = must_calloc(1, sizeof(*e));
    e->in = in;
    bool at_once = n < HEAVY_BYTES && STAILQ_EMPTY(&in->waiting) && is_time(in->all);
    STAILQ_INSERT_TAIL(&in->waiting, e, next);
    if (at_once) {
        decode_message(e, data, n);
        e->opened = true;
    } else {
        keep_copy(e, data, n);
        give_to_worker(e);
    }
    hear_ready(in);
}

void agent_inbox_close(struct agent_inbox *in)
{
    struct entry *e;
    in->closed = true;
    if (in->is_behind)
        TAILQ_REMOVE(&in->all->behind, in, in_behind);
    in->is_behind = false;
    while ((e = STAILQ_FIRST(&in->waiting))) {
        STAILQ_REMOVE_HEAD(&in->waiting, next);
        if (!e->with_worker)
            entry_free(e); /* the other entries are freed when their worker has finished with them */
    }
    free_if_done(in);
}
