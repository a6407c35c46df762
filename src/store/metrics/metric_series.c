/* Series for charts. If there are few points, all are unpacked and thinned exactly. If there are very many, only the
 * points that sealing has kept for charts are read (metric_chart.h), and a block is unpacked only if the range
 * includes a part of it. */
#include "common/base/must.h"
#include "store/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "store/metrics/downsample.h"
#include "store/metrics/metric_blocks.h"
#include "store/metrics/metric_chart.h"
#include "store/metrics/metric_rows.h"

enum {
    DIRECT_POINTS = 400000, /* of all names and trials together; unpacking so many takes about 30 ms */
    ROWS_PAGE = 1000,
    POINTS_AT_LEAST = 5, /* of each name; fewer points show nothing useful */
};

/* The points of one name. */
struct line {
    const char *name;
    struct chart_point *point;
    size_t n, cap;
};

struct series {
    struct store *st;
    struct packer *packer;
    const struct store_series_query *q;
    struct line *line;
    size_t line_n;
};

static void add_point(struct line *l, const struct chart_point *p)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        l->point = must_realloc(l->point, l->cap * sizeof(*l->point));
    }
    l->point[l->n++] = *p;
}

/* ---- the range of the query -------------------------------------------------------------------------------------- */

static int64_t end_batches(const struct store_series_query *q)
{
    return q->has_end ? q->end_batches : INT32_MAX;
}
static int64_t end_us(const struct store_series_query *q)
{
    return q->end_us ? q->end_us : INT64_MAX;
}

static bool epoch_within(const struct store_series_query *q, const struct chart_point *p)
{
    return !q->by_epoch || (p->has_epoch && p->epoch >= q->start_epoch && p->epoch <= q->end_epoch);
}

static bool point_is_wanted(const struct store_series_query *q, const struct chart_point *p)
{
    return p->steps >= q->start_batches && p->steps <= end_batches(q) && p->time_us >= q->start_us &&
           p->time_us <= end_us(q) && epoch_within(q, p);
}

/* ---- sealed reports ---------------------------------------------------------------------------------------------- */

struct charted {
    struct metric_block_row row;
    struct chart_point *point;
    size_t n;
};

/* What a block contributes: nothing, all of its points, or some of them. */
enum part { PART_NONE, PART_ALL, PART_SOME };

/* Within a block, whose reports are in the order of their steps, epochs do not decrease, so the first and the last
 * point decide. */
static enum part epochs_of(const struct store_series_query *q, const struct charted *c)
{
    if (!q->by_epoch)
        return PART_ALL;
    const struct chart_point *first = &c->point[0], *last = &c->point[c->n - 1];
    if (!first->has_epoch || !last->has_epoch)
        return PART_SOME;
    if (last->epoch < q->start_epoch || first->epoch > q->end_epoch)
        return PART_NONE;
    return epoch_within(q, first) && epoch_within(q, last) ? PART_ALL : PART_SOME;
}

static enum part part_of(const struct store_series_query *q, const struct charted *c)
{
    if (c->n == 0)
        return PART_NONE; /* the column has no numbers */
    bool inside = c->row.first.steps >= q->start_batches && c->row.last.steps <= end_batches(q) &&
                  c->row.least_us >= q->start_us && c->row.greatest_us <= end_us(q);
    enum part epochs = epochs_of(q, c);
    return inside || epochs == PART_NONE ? epochs : PART_SOME;
}

static int unpack_block(const struct series *s, struct line *l, const struct charted *c, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_block b;
    if (metric_block_open(s->st, s->packer, c->row.id, &a, &b, err) < 0 ||
        metric_block_load_column(s->st, s->packer, c->row.id, l->name, &a, &b, err) < 0)
        return -1;
    long place = metric_block_column(&b, l->name), epoch = metric_block_column(&b, "epoch");
    if (epoch >= 0 && metric_block_load_column(s->st, s->packer, c->row.id, "epoch", &a, &b, err) < 0)
        return -1;
    if (place < 0 || !b.column[place].value)
        return 0;
    for (size_t i = 0; i < b.n; i++) {
        struct chart_point p;
        if (!chart_point_of(&b, &b.column[place], epoch < 0 ? NULL : &b.column[epoch], i, &p) ||
            !point_is_wanted(s->q, &p))
            continue;
        if (p.value.kind == METRIC_JSON) /* the text of the value is freed with the block */
            p.value = (struct metric_value){.kind = METRIC_DOUBLE, .number = p.y};
        add_point(l, &p);
    }
    return 0;
}

static int read_charts(const struct series *s, const struct line *l, struct arena *a, struct charted **ret,
                       size_t *ret_n, struct error *err)
{
    const struct store_series_query *q = s->q;
    struct query rows;
    size_t n = 0, cap = 0;
    int rc;
    *ret = NULL;
    const struct sql_args args = ARGS_METRIC_CHARTS(q->trial_id, q->group, l->name, q->start_batches, end_batches(q),
                                                    q->start_us, end_us(q));
    if (query_start(s->st, Q_METRIC_CHARTS, args, &rows, err) < 0)
        return -1;
    while ((rc = query_next(&rows, err)) > 0) {
        if (n == cap) {
            struct charted *more = arena_array(a, struct charted, cap = cap ? cap * 2 : 64);
            if (n)
                memcpy(more, *ret, n * sizeof(*more));
            *ret = more;
        }
        struct charted *c = &(*ret)[n++];
        struct metric_chart_row row;
        read_metric_chart_row(&rows, a, &row);
        c->row = row.block;
        if (metric_chart_unpack(row.chart, row.chart_n, a, &c->point, &c->n, err) < 0) {
            rc = -1;
            break;
        }
    }
    query_end(&rows);
    *ret_n = n;
    return rc;
}

static int add_sealed(const struct series *s, struct line *l, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct charted *chart;
    size_t n, total = 0;
    if (read_charts(s, l, &a, &chart, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (part_of(s->q, &chart[i]) != PART_NONE)
            total += chart[i].row.n;
    bool direct = s->q->max_points <= 0 || total <= DIRECT_POINTS / s->line_n / (s->q->beside + 1);
    for (size_t i = 0; i < n; i++) {
        enum part part = part_of(s->q, &chart[i]);
        if (part == PART_NONE)
            continue;
        if ((direct || part == PART_SOME) && unpack_block(s, l, &chart[i], err) < 0)
            return -1;
        for (size_t k = 0; !direct && part == PART_ALL && k < chart[i].n; k++)
            add_point(l, &chart[i].point[k]);
    }
    return 0;
}

/* ---- reports in rows --------------------------------------------------------------------------------------------- */

static void add_row(const struct series *s, const struct report_row *r)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct chart_point base = {.id = r->id, .steps = r->steps, .time_us = r->report_us};
    struct metric_value *found = arena_array(&a, struct metric_value, s->line_n + 1);
    struct metric_members m = metric_members_of(r->avg_metrics);
    while (metric_members_next(&m, &a)) {
        struct metric_value v = metric_value_of(m.value, m.value_n, &a);
        if (strcmp(m.name, "epoch") == 0)
            base.has_epoch = metric_value_number(&v, &base.epoch);
        for (size_t i = 0; i < s->line_n; i++)
            if (strcmp(m.name, s->line[i].name) == 0)
                found[i] = v;
    }
    if (!point_is_wanted(s->q, &base))
        return;
    for (size_t i = 0; i < s->line_n; i++) {
        struct chart_point p = base;
        p.value = found[i];
        if (!metric_value_number(&p.value, &p.y))
            continue;
        if (p.value.kind == METRIC_JSON)
            p.value = (struct metric_value){.kind = METRIC_DOUBLE, .number = p.y};
        add_point(&s->line[i], &p);
    }
}

static int add_rows(const struct series *s, struct error *err)
{
    struct metric_key after = {s->q->start_batches, INT64_MIN};
    for (;;) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct report_row *row;
        size_t n;
        const struct sql_args args = SQL_ARGS(sql_int(s->q->trial_id), sql_text(s->q->group), sql_int(after.steps),
                                              sql_int(after.id), sql_int(ROWS_PAGE));
        if (list_reports_of_group(s->st, args, &a, &row, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            add_row(s, &row[i]);
        if (n < ROWS_PAGE || row[n - 1].steps > end_batches(s->q))
            return 0;
        after = (struct metric_key){row[n - 1].steps, row[n - 1].id};
    }
}

/* ---- thinning ---------------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct chart_point *x = a, *y = b;
    return metric_key_compare((struct metric_key){x->steps, x->id}, (struct metric_key){y->steps, y->id});
}

static void sort_points(struct chart_point *p, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (by_place(&p[i - 1], &p[i]) > 0) {
            qsort(p, n, sizeof(*p), by_place);
            return;
        }
    }
}

static void thin_line(struct line *l, size_t max)
{
    if (l->n <= max)
        return;
    double *x = must_calloc(2 * l->n, sizeof(*x)), *y = x + l->n;
    size_t *kept = must_calloc(max, sizeof(*kept));
    bool one_step = l->point[0].steps == l->point[l->n - 1].steps;
    for (size_t i = 0; i < l->n; i++) {
        x[i] = one_step ? (double)(l->point[i].time_us - l->point[0].time_us) : (double)l->point[i].steps;
        y[i] = l->point[i].y;
    }
    l->n = downsample(x, y, l->n, max, kept);
    for (size_t i = 0; i < l->n; i++)
        l->point[i] = l->point[kept[i]]; /* kept[i] is at least i, so no point is overwritten before it is moved */
    free(x);
    free(kept);
}

static void thin_all(const struct series *s)
{
    size_t max = (size_t)s->q->max_points / (s->line_n ? s->line_n : 1);
    for (size_t i = 0; i < s->line_n; i++) {
        sort_points(s->line[i].point, s->line[i].n);
        if (s->q->max_points > 0)
            thin_line(&s->line[i], s->line_n > 1 && max < POINTS_AT_LEAST ? POINTS_AT_LEAST : max);
    }
}

/* ---- one list of all lines --------------------------------------------------------------------------------------- */

struct merging {
    const struct series *s;
    size_t *at; /* for each line, its next point */
};

/* Returns the least of the next points; NULL if there is none. */
static const struct chart_point *next_point(const struct merging *m)
{
    const struct chart_point *least = NULL;
    for (size_t i = 0; i < m->s->line_n; i++) {
        const struct line *l = &m->s->line[i];
        if (m->at[i] < l->n && (!least || by_place(&l->point[m->at[i]], least) < 0))
            least = &l->point[m->at[i]];
    }
    return least;
}

static const char *take_values(const struct merging *m, int64_t id, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < m->s->line_n; i++) {
        const struct line *l = &m->s->line[i];
        if (m->at[i] == l->n || l->point[m->at[i]].id != id)
            continue;
        strbuf_addc(&text, text.n ? ',' : '{');
        strbuf_add_json(&text, l->name, strlen(l->name));
        strbuf_addc(&text, ':');
        metric_value_print(&l->point[m->at[i]].value, &text);
        m->at[i]++;
    }
    strbuf_addc(&text, '}');
    return arena_strndup(a, text.s, text.n);
}

static void merge_lines(const struct series *s, struct arena *a, struct store_point **ret, size_t *ret_n)
{
    struct merging m = {.s = s, .at = arena_array(a, size_t, s->line_n + 1)};
    size_t total = 0, n = 0;
    for (size_t i = 0; i < s->line_n; i++)
        total += s->line[i].n;
    *ret = arena_array(a, struct store_point, total + 1);
    for (const struct chart_point *p; (p = next_point(&m)); n++)
        (*ret)[n] = (struct store_point){.batches = p->steps,
                                         .time_us = p->time_us,
                                         .has_epoch = p->has_epoch,
                                         .epoch = p->epoch,
                                         .first = p->y,
                                         .values = take_values(&m, p->id, a)};
    *ret_n = n;
}

/* ---- the query --------------------------------------------------------------------------------------------------- */

static int all_names(struct series *s, struct arena *a, struct error *err)
{
    struct store_metric_name *row;
    size_t n;
    if (list_metric_names_of_trial(s->st, SQL_ARGS(sql_int(s->q->trial_id), sql_text(s->q->group)), a, &row, &n, err) <
        0)
        return -1;
    s->line = arena_array(a, struct line, n + 1);
    for (size_t i = 0; i < n; i++)
        s->line[s->line_n++].name = row[i].name;
    return 0;
}

static int choose_lines(struct series *s, struct arena *a, struct error *err)
{
    if (s->q->names.n == 0)
        return all_names(s, a, err);
    s->line = arena_array(a, struct line, s->q->names.n);
    for (size_t i = 0; i < s->q->names.n; i++) {
        bool again = false;
        for (size_t k = 0; k < s->line_n && !again; k++)
            again = strcmp(s->line[k].name, s->q->names.text[i]) == 0;
        if (!again)
            s->line[s->line_n++].name = s->q->names.text[i];
    }
    return 0;
}

static int collect_series(struct series *s, struct error *err)
{
    for (size_t i = 0; i < s->line_n; i++)
        if (add_sealed(s, &s->line[i], err) < 0)
            return -1;
    return s->line_n ? add_rows(s, err) : 0;
}

int store_metric_series(struct store *st, const struct store_series_query *q, struct arena *a, struct store_point **ret,
                        size_t *ret_n, struct error *err)
{
    struct series s = {.st = st, .q = q};
    bool own;
    if (metric_reading_begin(st, &own, err) < 0)
        return -1;
    int rc = packer_new(&s.packer, err);
    if (rc == 0)
        rc = choose_lines(&s, a, err);
    if (rc == 0)
        rc = collect_series(&s, err);
    packer_free(s.packer);
    metric_reading_end(st, own);
    if (rc == 0) {
        thin_all(&s);
        merge_lines(&s, a, ret, ret_n);
    }
    for (size_t i = 0; i < s.line_n; i++)
        free(s.line[i].point);
    return rc;
}
