/* Reads reports from rows and blocks as one list, and reads summaries and the best validation of an experiment. */
#include "store/metrics/metrics.h"

#include "store/lists/list.h"
#include "store/metrics/metric_blocks.h"
#include "store/metrics/metric_rows.h"
#include "store/metrics/metric_seal.h"
#include "store/metrics/metric_summary.h"

int metric_reading_begin(struct store *st, bool *ret_own, struct error *err)
{
    *ret_own = !store_in_transaction(st);
    return *ret_own ? store_begin_read(st, err) : 0;
}

void metric_reading_end(struct store *st, bool own)
{
    if (own)
        store_rollback(st);
}

static const char *shown_metrics(const char *group, const char *avg, const char *batches, struct arena *a)
{
    const char *key = strcmp(group, "validation") == 0 ? "validation_metrics" : "avg_metrics";
    if (batches)
        return arena_printf(a, "{\"%s\":%s,\"batch_metrics\":%s}", key, avg, batches);
    return arena_printf(a, "{\"%s\":%s}", key, avg);
}

static void show_row(const struct report_row *r, struct arena *a, struct store_metric_row *ret)
{
    *ret = (struct store_metric_row){
        .id = r->id,
        .trial_id = r->trial_id,
        .run_id = r->run_id,
        .group = r->group,
        .total_batches = r->steps,
        .end_us = r->report_us,
        .archived = r->archived,
        .metrics = shown_metrics(r->group, r->avg_metrics, r->batch_metrics, a),
    };
}

/* ---- a page of reports: first their places, then their contents -------------------------------------------------- */

enum { FROM_ROWS = -1, BLOCKS_AT_FIRST = 8 };

struct place {
    struct metric_key key;
    int block;     /* FROM_ROWS, or the index of the block */
    size_t report; /* the report's index among the rows or in the block */
};

struct page_of_reports {
    struct store *st;
    struct packer *packer;
    int32_t trial_id;
    const char *group; /* NULL: all groups */
    struct metric_key from;
    size_t limit;
    struct arena *a;
    struct store_metric_row *row;
    struct metric_block_row *block;
    struct place *place; /* the first `limit` places of those seen so far, in order */
    size_t place_n;
};

static int find_rows(struct page_of_reports *p, struct error *err)
{
    const struct sql_value steps = sql_int(p->from.steps), id = sql_int(p->from.id - 1);
    const struct sql_value limit = sql_int((int64_t)p->limit);
    const struct sql_value trial = sql_int(p->trial_id);
    struct report_row *row;
    int rc = p->group ? list_reports_of_group(p->st, SQL_ARGS(trial, sql_text(p->group), steps, id, limit), p->a, &row,
                                              &p->place_n, err)
                      : list_reports_of_trial(p->st, SQL_ARGS(trial, steps, id, limit), p->a, &row, &p->place_n, err);
    if (rc < 0)
        return -1;
    p->row = arena_array(p->a, struct store_metric_row, p->place_n + 1);
    for (size_t i = 0; i < p->place_n; i++)
        show_row(&row[i], p->a, &p->row[i]);
    p->place = arena_array(p->a, struct place, 2 * p->limit);
    for (size_t i = 0; i < p->place_n; i++)
        p->place[i] = (struct place){{p->row[i].total_batches, p->row[i].id}, FROM_ROWS, i};
    return 0;
}

/* Merges `more`, which is sorted, into the places, and drops the places beyond the limit. */
static void merge_places(struct page_of_reports *p, const struct place *more, size_t n)
{
    size_t i = p->place_n, k = n, out = i + n;
    p->place_n = out < p->limit ? out : p->limit;
    while (k > 0) {
        bool old = i > 0 && metric_key_compare(p->place[i - 1].key, more[k - 1].key) > 0;
        p->place[--out] = old ? p->place[--i] : more[--k];
    }
}

static int find_in_block(struct page_of_reports *p, int block, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_block b;
    size_t n = 0;
    if (metric_block_open(p->st, p->packer, p->block[block].id, &a, &b, err) < 0)
        return -1;
    struct place *found = arena_array(&a, struct place, p->limit);
    for (size_t i = 0; i < b.n && n < p->limit; i++) {
        const struct metric_key key = {b.report[i].steps, b.report[i].id};
        if (metric_key_compare(key, p->from) >= 0)
            found[n++] = (struct place){key, block, i};
    }
    merge_places(p, found, n);
    return 0;
}

/* Whether the page is full before a block that begins at `first`. Neither that block nor those after it are then
 * needed. */
static bool is_beyond(const struct page_of_reports *p, struct metric_key first)
{
    return p->place_n == p->limit && metric_key_compare(first, p->place[p->limit - 1].key) > 0;
}

/* Looks at the blocks in the order of their beginnings: first at a few of them, and at more as long as the page may
 * need them. */
static int find_in_blocks(struct page_of_reports *p, struct error *err)
{
    size_t n = 0, done = 0;
    for (int limit = BLOCKS_AT_FIRST;; limit *= 4) {
        if (metric_blocks_from(p->st, p->trial_id, /* archived= */ false, p->group, p->from, limit, p->a, &p->block, &n,
                               err) < 0)
            return -1;
        for (; done < n; done++) {
            if (is_beyond(p, p->block[done].first))
                return 0;
            if (find_in_block(p, (int)done, err) < 0)
                return -1;
        }
        if (n < (size_t)limit)
            return 0;
    }
}

static void show_sealed(const struct page_of_reports *p, const struct metric_block *b, const struct place *at,
                        struct store_metric_row *ret)
{
    cleanup_strbuf struct strbuf avg = STRBUF_INIT;
    const struct metric_report *r = &b->report[at->report];
    const char *group = p->block[at->block].group;
    metric_block_print(b, at->report, &avg);
    *ret = (struct store_metric_row){.id = r->id,
                                     .trial_id = p->trial_id,
                                     .run_id = r->run_id,
                                     .group = group,
                                     .total_batches = r->steps,
                                     .end_us = r->report_us,
                                     .metrics = shown_metrics(group, avg.s, r->batch_metrics, p->a)};
}

/* Fills the page block by block, so that only one block is unpacked at a time. */
static int fill_page(struct page_of_reports *p, struct store_metric_row *ret, struct error *err)
{
    for (size_t i = 0; i < p->place_n; i++)
        if (p->place[i].block == FROM_ROWS)
            ret[i] = p->row[p->place[i].report];
    for (size_t first = 0; first < p->place_n; first++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct metric_block b;
        int block = p->place[first].block;
        if (block == FROM_ROWS || ret[first].metrics)
            continue;
        if (metric_block_load(p->st, p->packer, p->block[block].id, &a, &b, err) < 0)
            return -1;
        for (size_t i = first; i < p->place_n; i++)
            if (p->place[i].block == block)
                show_sealed(p, &b, &p->place[i], &ret[i]);
    }
    return 0;
}

static int read_page(struct page_of_reports *p, struct store_metric_row **ret, struct error *err)
{
    if (find_rows(p, err) < 0 || find_in_blocks(p, err) < 0)
        return -1;
    *ret = arena_array(p->a, struct store_metric_row, p->place_n + 1);
    return fill_page(p, *ret, err);
}

int store_metrics_next(struct store *st, int32_t trial_id, const char *group, struct store_metric_cursor *cursor,
                       int32_t limit, struct arena *a, struct store_metric_row **ret, size_t *ret_n, struct error *err)
{
    struct page_of_reports p = {
        .st = st, .trial_id = trial_id, .group = group, .limit = (size_t)limit, .a = a, .from = {INT64_MIN, 1}};
    bool own;
    if (cursor->started)
        p.from = (struct metric_key){cursor->steps, cursor->id + 1};
    if (metric_reading_begin(st, &own, err) < 0)
        return -1;
    int rc = packer_new(&p.packer, err);
    if (rc == 0)
        rc = read_page(&p, ret, err);
    packer_free(p.packer);
    metric_reading_end(st, own);
    *ret_n = rc == 0 ? p.place_n : 0;
    if (*ret_n) {
        const struct store_metric_row *last = &(*ret)[*ret_n - 1];
        *cursor = (struct store_metric_cursor){.steps = last->total_batches, .id = last->id, .started = true};
    }
    return rc;
}

/* ---- summaries --------------------------------------------------------------------------------------------------- */

static const char *summary_key(const char *group)
{
    if (strcmp(group, "training") == 0)
        return "avg_metrics";
    return strcmp(group, "validation") == 0 ? "validation_metrics" : group;
}

static int show_summary(const struct summary_row *row, struct strbuf *out, struct error *err)
{
    const char *key = summary_key(row->group);
    struct metric_summary *s = metric_summary_new();
    strbuf_addc(out, out->n > 1 ? ',' : '{');
    strbuf_add_json(out, key, strlen(key));
    strbuf_addc(out, ':');
    int rc = metric_summary_read(s, row->metrics, err);
    if (rc == 0)
        metric_summary_show(s, out);
    metric_summary_free(s);
    return rc;
}

/* Collects the summaries of one trial, which are the rows from `row` on that have its id. */
static int show_summaries(const struct summary_row *row, size_t n, int32_t trial_id, struct arena *a, const char **ret,
                          struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < n && row[i].trial_id == trial_id; i++)
        if (show_summary(&row[i], &text, err) < 0)
            return error_wrap(err, "summary of trial %d", trial_id);
    strbuf_adds(&text, text.n ? "}" : "{}");
    *ret = arena_strndup(a, text.s, text.n);
    return 0;
}

int store_summary_metrics(struct store *st, struct store_ints trial_ids, struct arena *a, const char ***ret,
                          struct error *err)
{
    struct summary_row *row;
    size_t n;
    if (list_summaries_of_trials(st, SQL_ARGS(sql_text(json_of_ints(a, trial_ids))), a, &row, &n, err) < 0)
        return -1;
    *ret = arena_array(a, const char *, trial_ids.n + 1);
    for (size_t i = 0; i < trial_ids.n; i++) {
        size_t from = store_first_row_of(row, n, sizeof(*row), trial_ids.value[i]);
        if (show_summaries(row + from, n - from, trial_ids.value[i], a, &(*ret)[i], err) < 0)
            return -1;
    }
    return 0;
}

int store_best_metric(struct store *st, int32_t experiment_id, double *ret, int32_t *ret_trial_id, struct error *err)
{
    struct best_row b;
    int rc = get_best_metric(st, SQL_ARGS(sql_int(experiment_id)), NULL, &b, err);
    if (rc <= 0)
        return rc == 0 ? error_set(err, ERR_NOT_FOUND, "experiment %d has no validation with its searcher metric yet",
                                   experiment_id)
                       : -1;
    *ret = b.metric;
    if (ret_trial_id)
        *ret_trial_id = b.trial_id;
    return 0;
}
