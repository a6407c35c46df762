#include "store/metrics/metric_blocks.h"

#include "store/metrics/metric_chart.h"
#include "store/metrics/metric_summary.h"
#include "store/row_io.h"

int metric_blocks_from(struct store *st, int32_t trial_id, bool archived, const char *group, struct metric_key from,
                       int limit, struct arena *a, struct metric_block_row **ret, size_t *ret_n, struct error *err)
{
    if (!group)
        return list_metric_blocks_of_trial_from(
            st, ARGS_METRIC_BLOCKS_OF_TRIAL_FROM(trial_id, archived, from.steps, from.id, limit), a, ret, ret_n, err);
    return list_metric_blocks_from(st, ARGS_METRIC_BLOCKS_FROM(trial_id, archived, group, from.steps, from.id, limit),
                                   a, ret, ret_n, err);
}

int metric_blocks_before(struct store *st, int32_t trial_id, bool archived, const char *group, struct metric_key key,
                         int limit, struct arena *a, struct metric_block_row **ret, size_t *ret_n, struct error *err)
{
    return list_metric_blocks_before(st, ARGS_METRIC_BLOCKS_BEFORE(trial_id, archived, group, key.steps, key.id, limit),
                                     a, ret, ret_n, err);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int read_reports(struct store *st, int64_t id, struct arena *a, struct metric_block_packed *ret,
                        struct error *err)
{
    int rc = get_metric_block_reports(st, SQL_ARGS(sql_int(id)), a, ret, err);
    if (rc == 0)
        return error_set(err, ERR_NOT_FOUND, "block %lld of metrics does not exist", (long long)id);
    return rc < 0 ? -1 : 0;
}

int metric_block_open(struct store *st, struct packer *p, int64_t id, struct arena *a, struct metric_block *ret,
                      struct error *err)
{
    cleanup_arena struct arena packed = ARENA_INIT;
    struct metric_block_packed packed_block;
    if (read_reports(st, id, &packed, &packed_block, err) < 0)
        return -1;
    return metric_block_unpack_reports(p, packed_block.reports, packed_block.reports_n, a, ret, err);
}

/* Reads the rows of a query for columns, and unpacks their values into an open block. */
static int unpack_columns(struct query *q, struct packer *p, struct arena *a, struct metric_block *b, struct error *err)
{
    cleanup_arena struct arena names = ARENA_INIT;
    int rc;
    while ((rc = query_next(q, err)) > 0) {
        struct metric_column_packed c;
        read_metric_column_packed(q, &names, &c);
        long place = metric_block_column(b, c.name);
        if (place >= 0 && metric_column_unpack(p, c.content, c.content_n, b->n, a, &b->column[place], err) < 0)
            return -1;
    }
    return rc;
}

int metric_block_load_column(struct store *st, struct packer *p, int64_t id, const char *name, struct arena *a,
                             struct metric_block *b, struct error *err)
{
    struct query q;
    if (query_start(st, Q_METRIC_BLOCK_COLUMN, SQL_ARGS(sql_int(id), sql_text(name)), &q, err) < 0)
        return -1;
    int rc = unpack_columns(&q, p, a, b, err);
    query_end(&q);
    return rc;
}

static int check_complete(const struct metric_block *b, struct error *err)
{
    for (size_t c = 0; c < b->column_n; c++)
        if (!b->column[c].value)
            return error_set(err, ERR_IO, "a block of metrics has lost its column \"%s\"", b->column[c].name);
    return 0;
}

int metric_block_load(struct store *st, struct packer *p, int64_t id, struct arena *a, struct metric_block *ret,
                      struct error *err)
{
    cleanup_arena struct arena packed = ARENA_INIT;
    struct metric_block_packed packed_block;
    struct query q;
    if (read_reports(st, id, &packed, &packed_block, err) < 0 ||
        metric_block_unpack_reports(p, packed_block.reports, packed_block.reports_n, a, ret, err) < 0 ||
        metric_block_unpack_batches(p, packed_block.batches, packed_block.batches_n, a, ret, err) < 0 ||
        query_start(st, Q_METRIC_BLOCK_COLUMNS, SQL_ARGS(sql_int(id)), &q, err) < 0)
        return -1;
    int rc = unpack_columns(&q, p, a, ret, err);
    query_end(&q);
    return rc < 0 ? -1 : check_complete(ret, err);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static struct metric_block_row row_of(const struct metric_block *b)
{
    const struct metric_report *first = &b->report[0], *last = &b->report[b->n - 1];
    struct metric_block_row row = {.n = b->n,
                                   .first = {first->steps, first->id},
                                   .last = {last->steps, last->id},
                                   .least_run = first->run_id,
                                   .greatest_run = first->run_id,
                                   .least_us = first->report_us,
                                   .greatest_us = first->report_us};
    for (size_t i = 1; i < b->n; i++) {
        const struct metric_report *r = &b->report[i];
        row.least_run = r->run_id < row.least_run ? r->run_id : row.least_run;
        row.greatest_run = r->run_id > row.greatest_run ? r->run_id : row.greatest_run;
        row.least_us = r->report_us < row.least_us ? r->report_us : row.least_us;
        row.greatest_us = r->report_us > row.greatest_us ? r->report_us : row.greatest_us;
    }
    return row;
}

static const char *summary_of(const struct metric_block *b, const struct metric_column *c, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct metric_summary *s = metric_summary_new();
    for (size_t i = 0; i < b->n; i++)
        if (c->value[i].kind != METRIC_ABSENT)
            metric_summary_add(s, c->name, &c->value[i], b->report[i].steps);
    metric_summary_print(s, &text);
    metric_summary_free(s);
    return arena_strndup(a, text.s, text.n);
}

void metric_packed_make(struct packer *p, const struct metric_block *b, struct arena *a, struct metric_packed *ret)
{
    *ret = (struct metric_packed){.row = row_of(b),
                                  .column_n = b->column_n,
                                  .column = arena_array(a, struct metric_packed_column, b->column_n + 1)};
    metric_block_pack_reports(p, b, &ret->reports);
    metric_block_pack_batches(p, b, &ret->batches);
    for (size_t i = 0; i < b->column_n; i++) {
        struct metric_packed_column *c = &ret->column[i];
        c->name = arena_strdup(a, b->column[i].name);
        c->summary = summary_of(b, &b->column[i], a);
        metric_chart_pack(b, &b->column[i], &c->chart);
        metric_column_pack(p, &b->column[i], b->n, &c->content);
    }
}

void metric_packed_release(struct metric_packed *k)
{
    strbuf_release(&k->reports);
    strbuf_release(&k->batches);
    for (size_t i = 0; i < k->column_n; i++) {
        strbuf_release(&k->column[i].chart);
        strbuf_release(&k->column[i].content);
    }
    *k = (struct metric_packed){0};
}

int metric_packed_store(struct store *st, int32_t trial_id, bool archived, const char *group,
                        const struct metric_packed *k, struct error *err)
{
    const struct sql_args args = ARGS_METRIC_BLOCKS_INSERT(&k->row, trial_id, archived, group, &k->reports,
                                                           &k->batches);
    int64_t id;
    if (query_int(st, Q_METRIC_BLOCKS_INSERT, args, &id, err) < 0)
        return -1;
    for (size_t i = 0; i < k->column_n; i++) {
        const struct metric_packed_column *c = &k->column[i];
        if (query_exec(st, Q_METRIC_COLUMNS_INSERT,
                       ARGS_METRIC_COLUMNS_INSERT(id, c->name, c->summary, &c->chart, &c->content), NULL, err) < 0)
            return -1;
    }
    return 0;
}
