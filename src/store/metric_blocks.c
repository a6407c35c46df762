#include "store/metric_blocks.h"

#include "store/metric_chart.h"
#include "store/metric_summary.h"
#include "store/take.h"

void read_metric_block_row(struct query *q, struct arena *a, void *row)
{
    struct metric_block_row *b = row;
    b->id = take_int(q);
    b->group = take_text(q, a);
    b->n = (size_t)take_int(q);
    b->first.steps = take_int(q);
    b->first.id = take_int(q);
    b->last.steps = take_int(q);
    b->last.id = take_int(q);
    b->least_run = take_i32(q);
    b->greatest_run = take_i32(q);
    b->least_us = take_int(q);
    b->greatest_us = take_int(q);
}

int metric_blocks_from(struct store *st, int32_t trial_id, bool archived, const char *group, struct metric_key from,
                       int limit, struct arena *a, struct metric_block_row **ret, size_t *ret_n, struct error *err)
{
    if (!group)
        return query_all(st, Q_METRIC_BLOCKS_OF_TRIAL_FROM,
                         SQL_ARGS(sql_int(trial_id), sql_bool(archived), sql_int(from.steps), sql_int(from.id),
                                  sql_int(limit)),
                         read_metric_block_row, sizeof(**ret), a, ret, ret_n, err);
    return query_all(st, Q_METRIC_BLOCKS_FROM,
                     SQL_ARGS(sql_int(trial_id), sql_bool(archived), sql_text(group), sql_int(from.steps),
                              sql_int(from.id), sql_int(limit)),
                     read_metric_block_row, sizeof(**ret), a, ret, ret_n, err);
}

int metric_blocks_before(struct store *st, int32_t trial_id, bool archived, const char *group, struct metric_key key,
                         int limit, struct arena *a, struct metric_block_row **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_METRIC_BLOCKS_BEFORE,
                     SQL_ARGS(sql_int(trial_id), sql_bool(archived), sql_text(group), sql_int(key.steps),
                              sql_int(key.id), sql_int(limit)),
                     read_metric_block_row, sizeof(**ret), a, ret, ret_n, err);
}

/* ---- reading ---- */

struct blob { const void *data; size_t n; };
struct blobs { struct blob reports, batches; };

static void read_blobs(struct query *q, struct arena *a, void *row)
{
    struct blobs *b = row;
    b->reports.data = take_blob(q, a, &b->reports.n);
    b->batches.data = take_blob(q, a, &b->batches.n);
}

static int read_reports(struct store *st, int64_t id, struct arena *a, struct blobs *ret, struct error *err)
{
    int rc = query_one(st, Q_METRIC_BLOCK_REPORTS, SQL_ARGS(sql_int(id)), read_blobs, a, ret, err);
    if (rc == 0)
        return error_set(err, ERR_NOT_FOUND, "block %lld of metrics does not exist", (long long)id);
    return rc < 0 ? -1 : 0;
}

int metric_block_open(struct store *st, struct packer *p, int64_t id, struct arena *a, struct metric_block *ret,
                      struct error *err)
{
    cleanup_arena struct arena packed = ARENA_INIT;
    struct blobs blobs;
    if (read_reports(st, id, &packed, &blobs, err) < 0)
        return -1;
    return metric_block_unpack_reports(p, blobs.reports.data, blobs.reports.n, a, ret, err);
}

/* The rows of a column query into an open block. */
static int take_columns(struct query *q, struct packer *p, struct arena *a, struct metric_block *b, struct error *err)
{
    cleanup_arena struct arena names = ARENA_INIT;
    int rc;
    while ((rc = query_next(q, err)) > 0) {
        size_t n;
        long place = metric_block_column(b, take_text(q, &names));
        const void *content = take_borrowed(q, &n);
        if (place >= 0 && metric_column_unpack(p, content, n, b->n, a, &b->column[place], err) < 0)
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
    int rc = take_columns(&q, p, a, b, err);
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
    struct blobs blobs;
    struct query q;
    if (read_reports(st, id, &packed, &blobs, err) < 0 ||
        metric_block_unpack_reports(p, blobs.reports.data, blobs.reports.n, a, ret, err) < 0 ||
        metric_block_unpack_batches(p, blobs.batches.data, blobs.batches.n, a, ret, err) < 0 ||
        query_start(st, Q_METRIC_BLOCK_COLUMNS, SQL_ARGS(sql_int(id)), &q, err) < 0)
        return -1;
    int rc = take_columns(&q, p, a, ret, err);
    query_end(&q);
    return rc < 0 ? -1 : check_complete(ret, err);
}

/* ---- writing ---- */

static struct metric_block_row row_of(const struct metric_block *b)
{
    const struct metric_report *first = &b->report[0], *last = &b->report[b->n - 1];
    struct metric_block_row row = {
        .n = b->n, .first = {first->steps, first->id}, .last = {last->steps, last->id}, .least_run = first->run_id,
        .greatest_run = first->run_id, .least_us = first->report_us, .greatest_us = first->report_us};
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
    *ret = (struct metric_packed){.row = row_of(b), .column_n = b->column_n,
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

static struct sql_value blob_of(const struct strbuf *b) { return sql_blob(strbuf_str(b), b->n); }

int metric_packed_store(struct store *st, int32_t trial_id, bool archived, const char *group,
                        const struct metric_packed *k, struct error *err)
{
    const struct metric_block_row *r = &k->row;
    int64_t id;
    if (query_int(st, Q_METRIC_BLOCKS_INSERT,
                  SQL_ARGS(sql_int(trial_id), sql_text(group), sql_bool(archived), sql_int((int64_t)r->n),
                           sql_int(r->first.steps), sql_int(r->first.id), sql_int(r->last.steps), sql_int(r->last.id),
                           sql_int(r->least_run), sql_int(r->greatest_run), sql_int(r->least_us),
                           sql_int(r->greatest_us), blob_of(&k->reports), blob_of(&k->batches)), &id, err) < 0)
        return -1;
    for (size_t i = 0; i < k->column_n; i++) {
        const struct metric_packed_column *c = &k->column[i];
        if (query_exec(st, Q_METRIC_COLUMNS_INSERT, SQL_ARGS(sql_int(id), sql_text(c->name), sql_text(c->summary),
                                                             blob_of(&c->chart), blob_of(&c->content)), NULL, err) < 0)
            return -1;
    }
    return 0;
}
