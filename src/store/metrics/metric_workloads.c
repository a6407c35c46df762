/* Workloads of a trial: its reports, in rows and blocks, and its checkpoints, as one sorted list.
 *
 * Only the sort keys are held, and only as many as the page needs. The page is filled afterwards. */
#include "common/base/must.h"
#include "store/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "store/metrics/metric_blocks.h"
#include "store/metrics/metric_rows.h"

enum { ROWS_PAGE = 1000, SPARE = 1024 };
enum { ANY, CHECKPOINT, VALIDATION, CHECKPOINT_OR_VALIDATION }; /* api.v1.GetTrialWorkloadsRequest.FilterOption */
enum source { FROM_ROW, FROM_BLOCK, FROM_CHECKPOINT };

struct item {
    double key; /* the list is sorted by this; NaN: the item has no key and comes last */
    int32_t steps;
    enum store_workload_kind kind;
    enum source source;
    int64_t tie;   /* the id of a report, 0 for checkpoints */
    size_t at;     /* the index of the block or the checkpoint */
    size_t report; /* the report's index in the block */
};

enum sort { SORT_BATCHES, SORT_END, SORT_METRIC };

struct gathering {
    struct store *st;
    struct packer *packer;
    const struct store_workload_filter *f;
    struct arena *a;
    enum sort sort;
    const char *metric;
    struct metric_block_row *block;
    size_t block_n;
    struct store_workload *checkpoint;
    size_t checkpoint_n;
    struct item *item; /* the first items so far: up to `wanted`, and some that will be dropped */
    size_t item_n, item_cap, wanted;
};

static const char *group_of(const struct store_workload_filter *f)
{
    return f->group && *f->group ? f->group : NULL;
}
static bool takes_reports(const struct store_workload_filter *f)
{
    return f->filter == ANY;
}
static bool takes_validations(const struct store_workload_filter *f)
{
    return f->filter != CHECKPOINT;
}
static bool takes_checkpoints(const struct store_workload_filter *f)
{
    return f->filter != VALIDATION;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_ties(const struct item *a, const struct item *b)
{
    if (a->steps != b->steps)
        return a->steps < b->steps ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->tie > b->tie) - (a->tie < b->tie);
}

/* A descending order by batches or times is the exact reverse of the ascending one. In an order by a metric only the
 * numbers are reversed: items without a number stay last, and equal items keep their order. */
static int compare_items(const void *x, const void *y, void *ctx)
{
    const struct item *a = x, *b = y;
    const struct gathering *g = ctx;
    int sign = g->f->descending ? -1 : 1;
    if (g->sort != SORT_METRIC) {
        int order = compare_numbers(a->key, b->key);
        return sign * (order ? order : compare_ties(a, b));
    }
    if (isnan(a->key) != isnan(b->key))
        return isnan(a->key) ? 1 : -1;
    int order = isnan(a->key) ? 0 : sign * compare_numbers(a->key, b->key);
    return order ? order : compare_ties(a, b);
}

static void drop_spare(struct gathering *g)
{
    if (g->item_n == 0)
        return; /* there is no array yet */
    qsort_r(g->item, g->item_n, sizeof(*g->item), compare_items, g);
    if (g->item_n > g->wanted)
        g->item_n = g->wanted;
}

static void add_item(struct gathering *g, const struct item *i)
{
    if (g->item_n >= 2 * g->wanted + SPARE)
        drop_spare(g);
    if (g->item_n == g->item_cap) {
        g->item_cap = g->item_cap ? g->item_cap * 2 : SPARE;
        g->item = must_realloc(g->item, g->item_cap * sizeof(*g->item));
    }
    g->item[g->item_n++] = *i;
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

static double metric_of_row(const char *metrics, const char *name)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_members m = metric_members_of(metrics);
    double found = NAN;
    while (metric_members_next(&m, &a)) {
        if (strcmp(m.name, name) != 0)
            continue;
        struct metric_value v = metric_value_of(m.value, m.value_n, &a);
        if (!metric_value_number(&v, &found))
            found = NAN;
    }
    return found;
}

static void add_row(struct gathering *g, const struct report_row *r)
{
    struct item i = {.steps = r->steps,
                     .source = FROM_ROW,
                     .tie = r->id,
                     .kind = strcmp(r->group, "validation") == 0 ? STORE_WORKLOAD_VALIDATION : STORE_WORKLOAD_TRAINING};
    i.key = g->sort == SORT_BATCHES ? r->steps
            : g->sort == SORT_END   ? (double)r->report_us
                                    : metric_of_row(r->avg_metrics, g->metric);
    add_item(g, &i);
}

static struct sql_args row_args(const struct gathering *g, struct sql_value v[7], struct metric_key after)
{
    v[0] = sql_int(g->f->trial_id);
    v[1] = sql_opt_text(group_of(g->f));
    v[2] = sql_bool(takes_reports(g->f));
    v[3] = sql_bool(takes_validations(g->f));
    v[4] = sql_int(after.steps);
    v[5] = sql_int(after.id);
    v[6] = sql_int(ROWS_PAGE);
    return (struct sql_args){v, 7};
}

static int gather_rows(struct gathering *g, struct error *err)
{
    struct metric_key after = {INT64_MIN, 0};
    for (;;) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct sql_value v[7];
        struct report_row *row;
        size_t n;
        if (list_workload_reports_next(g->st, row_args(g, v, after), &a, &row, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            add_row(g, &row[i]);
        if (n < ROWS_PAGE)
            return 0;
        after = (struct metric_key){row[n - 1].steps, row[n - 1].id};
    }
}

/* Whether the block can be skipped: as many items as are wanted have been found, and all of the block come after the
 * last of these. */
static bool is_beyond(struct gathering *g, const struct metric_block_row *row)
{
    if (g->sort != SORT_BATCHES || g->item_n < g->wanted)
        return false;
    drop_spare(g);
    double last = g->item[g->item_n - 1].key;
    return g->f->descending ? (double)row->last.steps < last : (double)row->first.steps > last;
}

static int gather_block(struct gathering *g, size_t at, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_block b;
    if (metric_block_open(g->st, g->packer, g->block[at].id, &a, &b, err) < 0 ||
        (g->sort == SORT_METRIC &&
         metric_block_load_column(g->st, g->packer, g->block[at].id, g->metric, &a, &b, err) < 0))
        return -1;
    long c = g->sort == SORT_METRIC ? metric_block_column(&b, g->metric) : -1;
    for (size_t k = 0; k < b.n; k++) {
        const struct metric_report *r = &b.report[k];
        struct item i = {.key = NAN,
                         .steps = r->steps,
                         .kind = STORE_WORKLOAD_TRAINING,
                         .source = FROM_BLOCK,
                         .tie = r->id,
                         .at = at,
                         .report = k};
        if (g->sort != SORT_METRIC)
            i.key = g->sort == SORT_BATCHES ? r->steps : (double)r->report_us;
        else if (c < 0 || !b.column[c].value || !metric_value_number(&b.column[c].value[k], &i.key))
            i.key = NAN;
        add_item(g, &i);
    }
    return 0;
}

static int gather_blocks(struct gathering *g, struct error *err)
{
    for (size_t i = 0; i < g->block_n; i++) {
        size_t at = g->f->descending ? g->block_n - 1 - i : i;
        if (!is_beyond(g, &g->block[at]) && gather_block(g, at, err) < 0)
            return -1;
    }
    return 0;
}

static void gather_checkpoints(struct gathering *g)
{
    for (size_t k = 0; k < g->checkpoint_n; k++) {
        const struct store_workload *w = &g->checkpoint[k];
        add_item(g, &(struct item){.key = g->sort == SORT_BATCHES ? w->total_batches
                                          : g->sort == SORT_END   ? (double)w->end_us
                                                                  : NAN,
                                   .steps = w->total_batches,
                                   .kind = STORE_WORKLOAD_CHECKPOINT,
                                   .source = FROM_CHECKPOINT,
                                   .at = k});
    }
}

/* ---- filling the page -------------------------------------------------------------------------------------------- */

static int fill_from_row(struct gathering *g, const struct item *i, struct store_workload *ret, struct error *err)
{
    struct report_row r = {.group = ""};
    if (get_workload_report(g->st, SQL_ARGS(sql_int(i->tie)), g->a, &r, err) < 0)
        return -1;
    *ret = (struct store_workload){.kind = strcmp(r.group, "validation") == 0 ? STORE_WORKLOAD_VALIDATION
                                                                              : STORE_WORKLOAD_TRAINING,
                                   .total_batches = r.steps,
                                   .end_us = r.report_us,
                                   .avg_metrics = r.avg_metrics,
                                   .batch_metrics = g->f->batch_metrics ? r.batch_metrics : NULL};
    return 0;
}

/* The block that was unpacked last. Neighbouring items of a page mostly are in the same block. */
struct unpacked {
    struct arena a;
    struct metric_block b;
    bool is;
    size_t at;
};

static int fill_from_block(struct gathering *g, const struct item *i, struct unpacked *u, struct store_workload *ret,
                           struct error *err)
{
    cleanup_strbuf struct strbuf avg = STRBUF_INIT;
    if (!u->is || u->at != i->at) {
        arena_release(&u->a);
        u->is = false;
        if (metric_block_load(g->st, g->packer, g->block[i->at].id, &u->a, &u->b, err) < 0)
            return -1;
        u->is = true;
        u->at = i->at;
    }
    const struct metric_report *r = &u->b.report[i->report];
    metric_block_print(&u->b, i->report, &avg);
    *ret = (struct store_workload){.kind = STORE_WORKLOAD_TRAINING,
                                   .total_batches = r->steps,
                                   .end_us = r->report_us,
                                   .avg_metrics = arena_strndup(g->a, avg.s, avg.n),
                                   .batch_metrics = g->f->batch_metrics ? arena_strdup(g->a, r->batch_metrics) : NULL};
    return 0;
}

static int fill_workload(struct gathering *g, const struct item *i, struct unpacked *u, struct store_workload *ret,
                         struct error *err)
{
    if (i->source == FROM_CHECKPOINT) {
        *ret = g->checkpoint[i->at];
        return 0;
    }
    return i->source == FROM_BLOCK ? fill_from_block(g, i, u, ret, err) : fill_from_row(g, i, ret, err);
}

static int fill_page(struct gathering *g, struct store_workload_list *ret, struct error *err)
{
    struct unpacked u = {0};
    int rc = 0;
    size_t first = (size_t)ret->window.start, end = (size_t)ret->window.end;
    ret->workload_n = end > first ? end - first : 0;
    ret->workload = arena_array(g->a, struct store_workload, ret->workload_n + 1);
    for (size_t i = 0; i < ret->workload_n && rc == 0; i++)
        rc = fill_workload(g, &g->item[first + i], &u, &ret->workload[i], err);
    arena_release(&u.a);
    return rc;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static int count_all(struct gathering *g, int64_t *ret, struct error *err)
{
    const struct store_workload_filter *f = g->f;
    struct sql_value v[7];
    int64_t rows;
    row_args(g, v, (struct metric_key){0});
    if (query_int(g->st, Q_WORKLOAD_REPORTS_COUNT, (struct sql_args){v, 4}, &rows, err) < 0 ||
        list_workload_blocks(g->st, (struct sql_args){v, 3}, g->a, &g->block, &g->block_n, err) < 0)
        return -1;
    if (takes_checkpoints(f) &&
        list_workload_checkpoints(g->st, SQL_ARGS(v[0], sql_bool(!f->remove_deleted_checkpoints)), g->a, &g->checkpoint,
                                  &g->checkpoint_n, err) < 0)
        return -1;
    for (size_t i = 0; i < g->checkpoint_n; i++)
        g->checkpoint[i].kind = STORE_WORKLOAD_CHECKPOINT;
    *ret = rows + (int64_t)g->checkpoint_n;
    for (size_t i = 0; i < g->block_n; i++)
        *ret += (int64_t)g->block[i].n;
    return 0;
}

static int list_workloads(struct gathering *g, struct store_workload_list *ret, struct error *err)
{
    int64_t total;
    if (count_all(g, &total, err) < 0 || page_of_workloads(g->f->page, total, &ret->window, err) < 0)
        return -1;
    g->wanted = ret->window.end > 0 ? (size_t)ret->window.end : 1;
    if (gather_rows(g, err) < 0)
        return -1;
    gather_checkpoints(g);
    if (gather_blocks(g, err) < 0)
        return -1;
    drop_spare(g);
    return fill_page(g, ret, err);
}

int store_workload_list(struct store *st, const struct store_workload_filter *f, struct arena *a,
                        struct store_workload_list *ret, struct error *err)
{
    struct gathering g = {.st = st, .f = f, .a = a, .metric = f->sort_key ? f->sort_key : ""};
    g.sort = !*g.metric || strcmp(g.metric, "batches") == 0 ? SORT_BATCHES
             : strcmp(g.metric, "endTime") == 0             ? SORT_END
                                                            : SORT_METRIC;
    bool own;
    *ret = (struct store_workload_list){0};
    if (metric_reading_begin(st, &own, err) < 0)
        return -1;
    int rc = packer_new(&g.packer, err);
    if (rc == 0)
        rc = list_workloads(&g, ret, err);
    packer_free(g.packer);
    metric_reading_end(st, own);
    free(g.item);
    return rc;
}
