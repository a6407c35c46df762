/* Writes task logs and the values of their fields, and deletes logs whose retention is over. task_logs_read.c reads
 * logs. */
#include "store/logs/task_logs.h"

#include "common/base/compare.h"
#include "common/json/json.h"
#include "store/logs/log_block.h"
#include "store/logs/log_masks.h"
#include "store/logs/log_seal.h"
#include "store/row_io.h"

/* ---- the state of a task's log: last line, distinct values of the fields ----------------------------------------- */

static int get_state(struct store *st, const char *task_id, struct arena *a, struct log_state *ret, struct error *err)
{
    *ret = (struct log_state){.fields = "{}"};
    return get_task_log_state_get(st, SQL_ARGS(sql_text(task_id)), a, ret, err) < 0 ? -1 : 0;
}

static int get_place(struct store *st, const char *task_id, const char *container_id, struct arena *a,
                     struct log_place *ret, struct error *err)
{
    const struct sql_args args = SQL_ARGS(sql_text(task_id), sql_text(container_id));
    return get_task_log_place(st, args, a, ret, err) < 0 ? -1 : 0;
}

int store_task_log_last_id(struct store *st, const char *task_id, int64_t *ret, struct error *err)
{
    return query_int(st, Q_TASK_LOG_STATE_GET, SQL_ARGS(sql_text(task_id)), ret, err);
}

/* Adds the value to those of the field if the field does not have it yet. The function takes over `v`. */
static bool add_value(struct json_object *fields, const char *name, struct json_object *v)
{
    struct json_object *values;
    if (!json_object_object_get_ex(fields, name, &values)) {
        values = json_object_new_array();
        json_object_object_add(fields, name, values);
    }
    for (size_t i = 0; i < json_object_array_length(values); i++) {
        if (json_object_equal(json_object_array_get_idx(values, i), v)) {
            json_object_put(v);
            return false;
        }
    }
    json_object_array_add(values, v);
    return true;
}

static bool add_text(struct json_object *fields, const char *name, const char *s, const char *before)
{
    if (!s || s == before || (before && strcmp(s, before) == 0))
        return false; /* most lines have the value of the line before */
    return add_value(fields, name, json_object_new_string(s));
}

static int rank_of(const struct store_log_line *l)
{
    return l->has_rank ? l->rank : -1;
}

static bool add_fields(struct json_object *fields, const struct store_log_line *line, size_t n)
{
    static const struct store_log_line none = {0};
    bool changed = false;
    for (size_t i = 0; i < n; i++) {
        const struct store_log_line *l = &line[i], *before = i ? &line[i - 1] : &none;
        changed |= add_text(fields, "allocation_id", l->allocation_id, before->allocation_id);
        changed |= add_text(fields, "agent_id", l->agent_id, before->agent_id);
        changed |= add_text(fields, "container_id", l->container_id, before->container_id);
        changed |= add_text(fields, "source", l->source, before->source);
        changed |= add_text(fields, "stdtype", l->stdtype, before->stdtype);
        if (i == 0 || rank_of(l) != rank_of(before))
            changed |= add_value(fields, "rank", json_object_new_int(rank_of(l)));
    }
    return changed;
}

static int set_state(struct store *st, const char *task_id, const struct log_state *s,
                     const struct store_log_line *line, size_t n, struct error *err)
{
    cleanup_json struct json_object *fields = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (json_parse(s->fields, strlen(s->fields), &fields, err) < 0)
        return error_wrap(err, "log fields of task %s", task_id);
    if (add_fields(fields, line, n))
        json_print(fields, &text);
    else
        strbuf_adds(&text, s->fields);
    return query_send(st, Q_TASK_LOG_STATE_SET,
                      SQL_ARGS(sql_text(task_id), sql_int(s->last_id + (int64_t)n), sql_text(text.s)), err);
}

/* ---- appending --------------------------------------------------------------------------------------------------- */

void log_batch_make(struct store_log_batch *b, const struct store_log_line *line, size_t line_n, int level)
{
    *b = (struct store_log_batch){.line = line, .line_n = line_n, .first_us = INT64_MAX, .last_us = INT64_MIN};
    for (size_t i = 0; i < line_n; i++) {
        b->levels |= log_level_bit(line[i].level);
        b->ranks |= log_rank_bit(rank_of(&line[i]));
        b->first_us = line[i].time_us < b->first_us ? line[i].time_us : b->first_us;
        b->last_us = line[i].time_us > b->last_us ? line[i].time_us : b->last_us;
        b->text_n += line[i].text_n;
    }
    log_block_encode(line, line_n, level, &b->block);
}

void store_log_batch_make(struct store_log_batch *b, const struct store_log_line *line, size_t line_n)
{
    log_batch_make(b, line, line_n, LOG_BLOCK_QUICK);
}

void store_log_batch_release(struct store_log_batch *b)
{
    strbuf_release(&b->block);
}

int insert_log_block(struct store *st, const char *task_id, int64_t first_id, const struct store_log_batch *b,
                     bool sealed, const struct strbuf *words, struct error *err)
{
    const struct log_block_row row = {.task_id = task_id,
                                      .first_id = first_id,
                                      .last_id = first_id + (int64_t)b->line_n - 1,
                                      .sealed = sealed,
                                      .first_us = b->first_us,
                                      .last_us = b->last_us,
                                      .level_mask = b->levels,
                                      .rank_mask = b->ranks,
                                      .text_bytes = (int64_t)b->text_n};
    return query_send(st, Q_TASK_LOG_BLOCKS_INSERT, ARGS_TASK_LOG_BLOCKS_INSERT(&row, words, &b->block), err);
}

static int append_batch(struct store *st, const char *task_id, const struct log_state *state,
                        const struct store_log_batch *b, int64_t *ret_first_id, struct error *err)
{
    if (insert_log_block(st, task_id, state->last_id + 1, b, /* sealed= */ false, /* words= */ NULL, err) < 0 ||
        set_state(st, task_id, state, b->line, b->line_n, err) < 0)
        return -1;
    *ret_first_id = state->last_id + 1;
    return 0;
}

int store_task_log_append_batch(struct store *st, const char *task_id, const struct store_log_batch *b,
                                int64_t *ret_first_id, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct log_state state;
    if (b->line_n == 0)
        return error_set(err, ERR_INVALID, "task %s: a batch of logs needs at least one line", task_id);
    return get_state(st, task_id, &a, &state, err) < 0 ? -1 : append_batch(st, task_id, &state, b, ret_first_id, err);
}

int store_task_log_append(struct store *st, const char *task_id, const struct store_log_line *line, size_t line_n,
                          int64_t *ret_first_id, struct error *err)
{
    struct store_log_batch b;
    store_log_batch_make(&b, line, line_n);
    int rc = store_task_log_append_batch(st, task_id, &b, ret_first_id, err);
    store_log_batch_release(&b);
    return rc;
}

/* Appends the rest of a batch whose first lines are stored already. This is rare: the link was cut before the lines
 * were acknowledged. */
static int append_rest(struct store *st, const char *task_id, const struct log_state *state,
                       const struct store_log_batch *b, size_t skip, int64_t *ret_first_id, struct error *err)
{
    struct store_log_batch rest;
    store_log_batch_make(&rest, b->line + skip, b->line_n - skip);
    int rc = append_batch(st, task_id, state, &rest, ret_first_id, err);
    store_log_batch_release(&rest);
    return rc;
}

int store_task_log_append_numbered(struct store *st, const char *task_id, const char *container_id, int64_t first_seq,
                                   const struct store_log_batch *b, int64_t *ret_first_id, size_t *ret_skipped,
                                   int64_t *ret_seq, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct log_place at;
    int64_t first_id = 0;
    if (get_place(st, task_id, container_id, &a, &at, err) < 0)
        return -1;
    if (first_seq < 1 || first_seq > at.mark + 1)
        return error_set(err, ERR_OUT_OF_RANGE,
                         "container %s sent log lines from %lld on, but %lld are stored: lines between"
                         " are missing",
                         container_id, (long long)first_seq, (long long)at.mark);
    size_t stored = (size_t)(at.mark + 1 - first_seq), skip = stored < b->line_n ? stored : b->line_n;
    if (skip < b->line_n) {
        int rc = skip ? append_rest(st, task_id, &at.state, b, skip, &first_id, err)
                      : append_batch(st, task_id, &at.state, b, &first_id, err);
        at.mark = first_seq + (int64_t)b->line_n - 1;
        if (rc < 0 || query_send(st, Q_CONTAINER_LOG_MARKS_SET,
                                 SQL_ARGS(sql_text(container_id), sql_text(task_id), sql_int(at.mark)), err) < 0)
            return -1;
    }
    *ret_first_id = first_id;
    *ret_skipped = skip;
    *ret_seq = at.mark;
    return 0;
}

int store_container_check_owner(struct store *st, const char *container_id, const char *agent_id,
                                const char *allocation_id, const char *task_id, struct error *err)
{
    int64_t n = 0;
    if (query_int(st, Q_CONTAINERS_OF_AGENT,
                  SQL_ARGS(sql_text(container_id), sql_text(agent_id), sql_text(allocation_id), sql_text(task_id)), &n,
                  err) < 0)
        return -1;
    return n > 0 ? 0
                 : error_set(err, ERR_FORBIDDEN, "container %s of task %s is not on agent %s", container_id, task_id,
                             agent_id);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

/* Collects all texts that the lists of that name of all tasks hold, sorted. */
static size_t all_texts(struct json_object **task, size_t task_n, const char *name, struct arena *a, const char ***ret)
{
    struct json_object *values;
    size_t n = 0, kept = 0;
    for (size_t t = 0; t < task_n; t++)
        if (json_object_object_get_ex(task[t], name, &values))
            n += json_object_array_length(values);
    const char **s = arena_array(a, const char *, n + 1);
    n = 0;
    for (size_t t = 0; t < task_n; t++)
        for (size_t i = 0; json_object_object_get_ex(task[t], name, &values) && i < json_object_array_length(values);
             i++)
            s[n++] = arena_strdup(a, json_object_get_string(json_object_array_get_idx(values, i)));
    qsort(s, n, sizeof(*s), compare_texts);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(s[i], s[kept - 1]) != 0)
            s[kept++] = s[i];
    *ret = s;
    return kept;
}

static size_t all_ints(struct json_object **task, size_t task_n, const char *name, struct arena *a, int32_t **ret)
{
    const char **text;
    size_t n = all_texts(task, task_n, name, a, &text);
    int32_t *v = arena_array(a, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        v[i] = (int32_t)strtol(text[i], NULL, 10);
    qsort(v, n, sizeof(*v), compare_int32);
    *ret = v;
    return n;
}

static int read_fields(struct store *st, struct store_texts task_ids, struct arena *a, struct json_object **ret,
                       struct error *err)
{
    for (size_t t = 0; t < task_ids.n; t++) {
        struct log_state state;
        if (get_state(st, task_ids.text[t], a, &state, err) < 0 ||
            json_parse(state.fields, strlen(state.fields), &ret[t], err) < 0)
            return -1;
    }
    return 0;
}

int store_task_log_fields(struct store *st, struct store_texts task_ids, struct arena *a, struct store_log_fields *ret,
                          struct error *err)
{
    struct json_object **task = arena_array(a, struct json_object *, task_ids.n + 1);
    size_t n = task_ids.n;
    int rc = read_fields(st, task_ids, a, task, err);
    if (rc == 0) {
        ret->allocation_id_n = all_texts(task, n, "allocation_id", a, &ret->allocation_id);
        ret->agent_id_n = all_texts(task, n, "agent_id", a, &ret->agent_id);
        ret->container_id_n = all_texts(task, n, "container_id", a, &ret->container_id);
        ret->stdtype_n = all_texts(task, n, "stdtype", a, &ret->stdtype);
        ret->source_n = all_texts(task, n, "source", a, &ret->source);
        ret->rank_n = all_ints(task, n, "rank", a, &ret->rank);
    }
    for (size_t t = 0; t < n; t++)
        json_object_put(task[t]);
    return rc;
}

/* ---- deletion ---------------------------------------------------------------------------------------------------- */

/* Deletes up to *blocks blocks of a task's log, the oldest first, and subtracts the number of deleted ones from
 * *blocks. When no block is left the containers' marks are deleted as well. New lines are still numbered on from the
 * last one. */
static int delete_log(struct store *st, const char *task_id, int64_t *blocks, int64_t *lines, struct error *err)
{
    int64_t count, deleted;
    struct sql_args some = SQL_ARGS(sql_text(task_id), sql_int(*blocks));
    if (query_int(st, Q_TASK_LOG_COUNT_SOME, some, &count, err) < 0 ||
        query_exec(st, Q_TASK_LOG_BLOCKS_DELETE_SOME, some, &deleted, err) < 0)
        return -1;
    *lines += count;
    *blocks -= deleted;
    if (*blocks == 0) /* the log may have more blocks */
        return 0;
    if (query_exec(st, Q_TASK_LOG_STATE_FORGET_FIELDS, SQL_ARGS(sql_text(task_id)), NULL, err) < 0)
        return -1;
    return query_exec(st, Q_CONTAINER_LOG_MARKS_DELETE, SQL_ARGS(sql_text(task_id)), NULL, err);
}

int store_task_log_sweep(struct store *st, int64_t now_us, int32_t default_days, int64_t max_blocks, int64_t *ret_lines,
                         bool *ret_more, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char **task;
    size_t n;
    int64_t blocks = max_blocks, lines = 0;
    const struct sql_args args = SQL_ARGS(sql_int(now_us), sql_int(default_days), sql_int(max_blocks));
    if (query_texts(st, Q_TASK_LOG_EXPIRED, args, &a, &task, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n && blocks > 0; i++)
        if (delete_log(st, task[i], &blocks, &lines, err) < 0)
            return -1;
    *ret_lines = lines;
    *ret_more = blocks == 0 || n == (size_t)max_blocks;
    return 0;
}
