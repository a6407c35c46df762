/* Reads which metrics were reported, and at which steps. */
#include "common/base/compare.h"
#include "store/metrics/metrics.h"

#include <stdlib.h>

#include "store/lists/list.h"
#include "store/metrics/metric_blocks.h"
#include "store/metrics/metric_rows.h"

/* ---- the steps at which a metric was reported -------------------------------------------------------------------- */

struct steps {
    struct arena *a;
    int32_t *value;
    size_t n, cap;
};

static void add_steps(struct steps *s, int32_t steps)
{
    if (s->n == s->cap) {
        int32_t *more = arena_array(s->a, int32_t, s->cap ? s->cap * 2 : 256);
        if (s->n)
            memcpy(more, s->value, s->n * sizeof(*more));
        s->value = more;
        s->cap = s->cap ? s->cap * 2 : 256;
    }
    s->value[s->n++] = steps;
}

static void sort_steps(struct steps *s)
{
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 1; i < s->n && sorted; i++)
        sorted = s->value[i - 1] < s->value[i];
    if (sorted)
        return;
    qsort(s->value, s->n, sizeof(*s->value), compare_int32);
    for (size_t i = 0; i < s->n; i++)
        if (n == 0 || s->value[n - 1] != s->value[i])
            s->value[n++] = s->value[i];
    s->n = n;
}

static int steps_of_block(struct store *st, struct packer *p, int64_t id, const char *name, struct steps *ret,
                          struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_block b;
    if (metric_block_open(st, p, id, &a, &b, err) < 0 || metric_block_load_column(st, p, id, name, &a, &b, err) < 0)
        return -1;
    long c = metric_block_column(&b, name);
    for (size_t i = 0; c >= 0 && b.column[c].value && i < b.n; i++)
        if (b.column[c].value[i].kind != METRIC_ABSENT)
            add_steps(ret, b.report[i].steps);
    return 0;
}

static int sealed_steps(struct store *st, int32_t experiment_id, const char *group, const char *name, int32_t after,
                        struct steps *ret, struct error *err)
{
    int64_t *block;
    size_t n;
    struct packer *p;
    const struct sql_args args = SQL_ARGS(sql_int(experiment_id), sql_text(group), sql_text(name), sql_int(after));
    if (query_ints(st, Q_METRIC_BLOCKS_WITH, args, ret->a, &block, &n, err) < 0 || packer_new(&p, err) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = steps_of_block(st, p, block[i], name, ret, err);
    packer_free(p);
    return rc;
}

static int steps_in_rows(struct store *st, int32_t experiment_id, const char *group, const char *name, int32_t after,
                         struct steps *ret, struct error *err)
{
    const struct sql_args args = SQL_ARGS(sql_int(experiment_id), sql_text(group), sql_text(name), sql_int(after));
    int32_t *steps;
    size_t n;
    if (query_ids(st, Q_METRIC_BATCHES, args, ret->a, &steps, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        add_steps(ret, steps[i]);
    return 0;
}

static void drop_steps_up_to(struct steps *s, int32_t after)
{
    size_t drop = 0;
    while (drop < s->n && s->value[drop] <= after)
        drop++;
    s->value += drop;
    s->n -= drop;
}

int store_metric_batches(struct store *st, int32_t experiment_id, const char *group, const char *name, int32_t after,
                         struct arena *a, int32_t **ret, size_t *ret_n, struct error *err)
{
    struct steps s = {.a = a};
    bool own;
    if (metric_reading_begin(st, &own, err) < 0)
        return -1;
    int rc = sealed_steps(st, experiment_id, group, name, after, &s, err);
    if (rc == 0)
        rc = steps_in_rows(st, experiment_id, group, name, after, &s, err);
    metric_reading_end(st, own);
    if (rc < 0)
        return -1;
    sort_steps(&s);
    drop_steps_up_to(&s, after);
    *ret = s.value;
    *ret_n = s.n;
    return 0;
}
