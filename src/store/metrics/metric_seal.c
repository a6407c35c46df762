#include "store/metrics/metric_seal.h"

#include <stdlib.h>

#include "common/base/must.h"
#include "store/metrics/metric_blocks.h"

enum { BLOCKS_BEFORE = 16 /* no more can be taken: each block is at least as large as the next one */ };

struct metric_seal {
    struct arena a;           /* holds names and ids */
    struct report_range rows; /* the rows that are taken, besides the blocks in `block` */
    int64_t row_n, row_bytes;
    int64_t *block;
    size_t block_n;
    /* What takes the place of these rows and blocks. */
    struct metric_packed *packed;
    size_t packed_n;
};

void store_seal_free(struct metric_seal *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->packed_n; i++)
        metric_packed_release(&s->packed[i]);
    arena_release(&s->a);
    free(s);
}

size_t store_seal_reports(const struct metric_seal *s)
{
    return (size_t)s->row_n;
}

/* ---- preparing: choosing rows and blocks ------------------------------------------------------------------------- */

static const struct heads_count *find_group(struct store *st, int32_t trial_id, int at_least, struct arena *a,
                                            struct error *err)
{
    struct heads_count *count;
    size_t n;
    if (list_metric_heads_count(st, SQL_ARGS(sql_int(trial_id)), a, &count, &n, err) < 0)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (count[i].n >= at_least)
            return &count[i];
    return NULL;
}

/* The rows and blocks that are packed together. */
struct unit {
    struct arena *a;
    struct packer *packer;
    struct report_row *row;
    size_t row_n;
    struct metric_block_row *block; /* in the order of their beginnings */
    size_t block_n;
};

static struct metric_key key_of_row(const struct report_row *r)
{
    return (struct metric_key){r->steps, r->id};
}

/* Leaves out rows that come after the beginning of the next block. A block that begins before the first row, and may
 * end after it, is taken, too. */
static int take_overlapping(struct store *st, const struct metric_seal *s, struct unit *u, struct error *err)
{
    struct metric_block_row *found;
    struct metric_key first = key_of_row(&u->row[0]);
    size_t n;
    if (metric_blocks_from(st, s->rows.trial_id, s->rows.archived, s->rows.group, first, 2, u->a, &found, &n, err) < 0)
        return -1;
    if (n && metric_key_compare(found[0].first, first) < 0) {
        u->block[u->block_n++] = *found++;
        n--;
    }
    while (n && u->row_n && metric_key_compare(key_of_row(&u->row[u->row_n - 1]), found[0].first) > 0)
        u->row_n--;
    return 0;
}

/* Takes the blocks right before the rows, as long as each is no larger than all that is taken already. */
static int take_before(struct store *st, const struct metric_seal *s, struct unit *u, struct error *err)
{
    struct metric_block_row *found;
    size_t n, total = u->row_n;
    if (metric_blocks_before(st, s->rows.trial_id, s->rows.archived, s->rows.group, key_of_row(&u->row[0]),
                             BLOCKS_BEFORE, u->a, &found, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n && found[i].n <= total && total + found[i].n <= METRIC_BLOCK_REPORTS; i++) {
        total += found[i].n;
        u->block_n++;
    }
    for (size_t i = 0; i < u->block_n; i++)
        u->block[i] = found[u->block_n - 1 - i];
    return 0;
}

static int choose_unit(struct store *st, const struct metric_seal *s, struct unit *u, struct error *err)
{
    const struct sql_args args = SQL_ARGS(sql_int(s->rows.trial_id), sql_bool(s->rows.archived),
                                          sql_text(s->rows.group), sql_int(STORE_SEAL_REPORTS));
    if (list_metric_heads(st, args, u->a, &u->row, &u->row_n, err) < 0)
        return -1;
    if (u->row_n == 0)
        return 0;
    u->block = arena_array(u->a, struct metric_block_row, BLOCKS_BEFORE);
    if (take_overlapping(st, s, u, err) < 0)
        return -1;
    return u->block_n ? 0 : take_before(st, s, u, err);
}

/* ---- preparing: packing ------------------------------------------------------------------------------------------ */

struct pouring {
    struct unit *unit;
    struct metric_seal *seal;
    struct metric_builder *builder;
};

static void close_block(struct pouring *p)
{
    struct metric_seal *s = p->seal;
    struct metric_block block;
    if (metric_builder_count(p->builder) > 0) {
        metric_builder_finish(p->builder, &block);
        struct metric_packed *more = arena_array(&s->a, struct metric_packed, s->packed_n + 1);
        if (s->packed_n)
            memcpy(more, s->packed, s->packed_n * sizeof(*more));
        s->packed = more;
        metric_packed_make(p->unit->packer, &block, &s->a, &s->packed[s->packed_n++]);
    }
    metric_builder_free(p->builder);
    p->builder = metric_builder_new(p->unit->a);
}

static void pour_row(struct pouring *p, const struct report_row *r)
{
    if (metric_builder_add(p->builder, r))
        return;
    close_block(p);
    metric_builder_add(p->builder, r);
}

static void pour_sealed(struct pouring *p, const struct metric_block *b, size_t i)
{
    if (metric_builder_copy(p->builder, b, i))
        return;
    close_block(p);
    metric_builder_copy(p->builder, b, i);
}

/* Adds the reports of the blocks in their order, with each row at its place among them. */
static int pour_unit(struct store *st, struct pouring *p, struct error *err)
{
    const struct unit *u = p->unit;
    size_t at = 0;
    for (size_t k = 0; k < u->block_n; k++) {
        struct metric_block b;
        if (metric_block_load(st, u->packer, u->block[k].id, u->a, &b, err) < 0)
            return -1;
        for (size_t i = 0; i < b.n; i++) {
            const struct metric_key key = {b.report[i].steps, b.report[i].id};
            while (at < u->row_n && metric_key_compare(key_of_row(&u->row[at]), key) < 0)
                pour_row(p, &u->row[at++]);
            pour_sealed(p, &b, i);
        }
    }
    while (at < u->row_n)
        pour_row(p, &u->row[at++]);
    close_block(p);
    return 0;
}

static void note_taken(struct metric_seal *s, const struct unit *u)
{
    s->rows.first = key_of_row(&u->row[0]);
    s->rows.last = key_of_row(&u->row[u->row_n - 1]);
    s->row_n = (int64_t)u->row_n;
    for (size_t i = 0; i < u->row_n; i++)
        s->row_bytes += (int64_t)(strlen(u->row[i].avg_metrics) +
                                  (u->row[i].batch_metrics ? strlen(u->row[i].batch_metrics) : 0));
    s->block = arena_array(&s->a, int64_t, u->block_n + 1);
    s->block_n = u->block_n;
    for (size_t i = 0; i < u->block_n; i++)
        s->block[i] = u->block[i].id;
}

static int prepare_unit(struct store *st, struct metric_seal *s, struct unit *u, struct error *err)
{
    if (choose_unit(st, s, u, err) < 0)
        return -1;
    if (u->row_n == 0)
        return 0;
    note_taken(s, u);
    struct pouring p = {.unit = u, .seal = s, .builder = metric_builder_new(u->a)};
    int rc = pour_unit(st, &p, err);
    metric_builder_free(p.builder);
    return rc;
}

static int prepare_group(struct store *st, int32_t trial_id, const struct heads_count *group, struct metric_seal **ret,
                         struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct unit u = {.a = &a};
    if (packer_new(&u.packer, err) < 0)
        return -1;
    struct metric_seal *s = must_calloc(1, sizeof(*s));
    s->rows.trial_id = trial_id;
    s->rows.archived = group->archived;
    s->rows.group = arena_strdup(&s->a, group->group);
    int rc = prepare_unit(st, s, &u, err);
    packer_free(u.packer);
    if (rc == 0 && s->row_n > 0) {
        *ret = s;
        return 0;
    }
    store_seal_free(s);
    return rc;
}

int store_seal_prepare(struct store *st, int32_t trial_id, int at_least, struct metric_seal **ret, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error failed = ERROR_INIT;
    bool own;
    *ret = NULL;
    if (metric_reading_begin(st, &own, err) < 0)
        return -1;
    const struct heads_count *group = find_group(st, trial_id, at_least, &a, &failed);
    if (group)
        prepare_group(st, trial_id, group, ret, &failed);
    metric_reading_end(st, own);
    if (!failed.kind)
        return 0;
    error_move(err, &failed);
    return error_wrap(err, "sealing metrics of trial %d", trial_id);
}

/* ---- committing -------------------------------------------------------------------------------------------------- */

static int is_unchanged(struct store *st, const struct metric_seal *s, bool *ret, struct error *err)
{
    struct heads_measure now;
    *ret = false;
    if (get_metric_heads_measure(st, ARGS_METRIC_HEADS_MEASURE(&s->rows), NULL, &now, err) < 0)
        return -1;
    if (now.n != s->row_n || now.bytes != s->row_bytes)
        return 0;
    for (size_t i = 0; i < s->block_n; i++) {
        int64_t archived;
        if (query_int(st, Q_METRIC_BLOCKS_COUNT, SQL_ARGS(sql_int(s->block[i]), sql_bool(s->rows.archived)), &archived,
                      err) < 0)
            return -1;
        if (archived != 1)
            return 0;
    }
    *ret = true;
    return 0;
}

int store_seal_commit(struct store *st, const struct metric_seal *s, bool *ret_done, struct error *err)
{
    *ret_done = false;
    bool unchanged;
    if (is_unchanged(st, s, &unchanged, err) < 0)
        return -1;
    if (!unchanged)
        return 0;
    if (query_exec(st, Q_REPORTS_MARK_LAST_ID, SQL_NO_ARGS, NULL, err) < 0 ||
        query_exec(st, Q_METRIC_HEADS_DELETE, ARGS_METRIC_HEADS_DELETE(&s->rows), NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < s->block_n; i++)
        if (query_exec(st, Q_METRIC_BLOCKS_DELETE, SQL_ARGS(sql_int(s->block[i])), NULL, err) < 0)
            return -1;
    for (size_t i = 0; i < s->packed_n; i++)
        if (metric_packed_store(st, s->rows.trial_id, s->rows.archived, s->rows.group, &s->packed[i], err) < 0)
            return -1;
    *ret_done = true;
    return 0;
}

/* ---- unsealing --------------------------------------------------------------------------------------------------- */

static int insert_rows(struct store *st, int32_t trial_id, const char *group, const struct metric_block *b,
                       struct error *err)
{
    cleanup_strbuf struct strbuf avg = STRBUF_INIT;
    for (size_t i = 0; i < b->n; i++) {
        const struct metric_report *r = &b->report[i];
        strbuf_reset(&avg);
        metric_block_print(b, i, &avg);
        const struct report_row row = {.id = r->id,
                                       .trial_id = trial_id,
                                       .run_id = r->run_id,
                                       .group = group,
                                       .steps = r->steps,
                                       .stepless = r->stepless,
                                       .report_us = r->report_us,
                                       .avg_metrics = strbuf_str(&avg),
                                       .batch_metrics = r->batch_metrics};
        if (query_exec(st, Q_REPORTS_UNSEAL, ARGS_REPORTS_UNSEAL(&row), NULL, err) < 0)
            return -1;
    }
    return 0;
}

static int unseal_block(struct store *st, struct packer *p, int32_t trial_id, const struct metric_block_row *row,
                        struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_block b;
    if (metric_block_load(st, p, row->id, &a, &b, err) < 0 || insert_rows(st, trial_id, row->group, &b, err) < 0)
        return -1;
    return query_exec(st, Q_METRIC_BLOCKS_DELETE, SQL_ARGS(sql_int(row->id)), NULL, err);
}

/* Returns 1 with the block that holds a report of that step, and the report's place in it. The block is open, but
 * its columns are not loaded. */
static int find_at(struct store *st, struct packer *p, int32_t trial_id, const char *group, int32_t steps,
                   struct arena *a, struct metric_block_row *ret_row, size_t *ret_place, struct error *err)
{
    struct metric_block_row *row;
    size_t n;
    const struct sql_args args = SQL_ARGS(sql_int(trial_id), sql_text(group), sql_int(steps));
    if (list_metric_blocks_at_step(st, args, a, &row, &n, err) < 0)
        return -1;
    for (size_t k = 0; k < n; k++) {
        struct metric_block b;
        if (metric_block_open(st, p, row[k].id, a, &b, err) < 0)
            return -1;
        for (size_t i = 0; i < b.n; i++) {
            if (b.report[i].steps != steps || b.report[i].stepless)
                continue;
            *ret_row = row[k];
            *ret_place = i;
            return 1;
        }
    }
    return 0;
}

int metric_unseal_at(struct store *st, int32_t trial_id, const char *group, int32_t steps, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_block_row row;
    struct packer *p;
    size_t place;
    if (packer_new(&p, err) < 0)
        return -1;
    int found = find_at(st, p, trial_id, group, steps, &a, &row, &place, err);
    if (found > 0 && unseal_block(st, p, trial_id, &row, err) < 0)
        found = -1;
    packer_free(p);
    return found;
}

static int load_at(struct store *st, struct packer *p, int32_t trial_id, const char *group, int32_t steps,
                   struct arena *a, struct report_row *ret, struct error *err)
{
    cleanup_arena struct arena scratch = ARENA_INIT;
    cleanup_strbuf struct strbuf avg = STRBUF_INIT;
    struct metric_block_row row;
    struct metric_block b;
    size_t i;
    int found = find_at(st, p, trial_id, group, steps, &scratch, &row, &i, err);
    if (found <= 0)
        return found;
    if (metric_block_load(st, p, row.id, &scratch, &b, err) < 0)
        return -1;
    metric_block_print(&b, i, &avg);
    *ret = (struct report_row){.id = b.report[i].id,
                               .trial_id = trial_id,
                               .run_id = b.report[i].run_id,
                               .group = arena_strdup(a, group),
                               .steps = steps,
                               .report_us = b.report[i].report_us,
                               .avg_metrics = arena_strndup(a, avg.s, avg.n),
                               .batch_metrics = arena_strdup(a, b.report[i].batch_metrics)};
    return 1;
}

int metric_sealed_at(struct store *st, int32_t trial_id, const char *group, int32_t steps, struct arena *a,
                     struct report_row *ret, struct error *err)
{
    struct packer *p;
    if (packer_new(&p, err) < 0)
        return -1;
    int found = load_at(st, p, trial_id, group, steps, a, ret, err);
    packer_free(p);
    return found;
}

/* ---- archiving --------------------------------------------------------------------------------------------------- */

int metric_blocks_archive(struct store *st, int32_t trial_id, int32_t run_id, int32_t steps, int64_t *ret_changed,
                          struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_block_row *row;
    struct packer *p = NULL;
    size_t n;
    const struct sql_args args = SQL_ARGS(sql_int(trial_id), sql_int(run_id), sql_int(steps));
    if (list_metric_blocks_to_archive(st, args, &a, &row, &n, err) < 0 || (n && packer_new(&p, err) < 0))
        return -1;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        /* Reports that have neither a step nor a batch are at step 0. They are never archived. */
        bool whole = row[i].first.steps > steps && row[i].first.steps > 0 && row[i].greatest_run < run_id;
        rc = whole ? query_exec(st, Q_METRIC_BLOCKS_ARCHIVE, SQL_ARGS(sql_int(row[i].id)), NULL, err)
                   : unseal_block(st, p, trial_id, &row[i], err);
        *ret_changed += whole && rc == 0;
    }
    packer_free(p);
    return rc;
}
