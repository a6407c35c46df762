/* Makes a block. Values are kept as cells in the order of the reports as long as reports are added, and are arranged
 * in columns at the end. */
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/must.h"
#include "store/metrics/metric_block.h"

struct name {
    const char *text;
    uint32_t place; /* first in the order in which names were added, at the end in the order of the texts */
    size_t report;  /* the last report that has the name, counted from 1 */
    size_t cell;    /* where the name's value for that report is in the list of cells */
    bool kept;      /* some report of the block has the name */
    UT_hash_handle hh;
};

struct shape {
    uint32_t *name;
    size_t n;
    uint32_t number;
    UT_hash_handle hh;
};

struct cell {
    struct name *name;
    struct metric_value value;
};

struct metric_builder {
    struct arena *a;
    struct name *names;
    struct shape *shapes, *latest;
    struct metric_report *report;
    struct cell *cell; /* the cells of all reports, one after the other */
    size_t *end;       /* where the cells of each report end */
    uint32_t *key;     /* the keys of the report that is being added */
    size_t n, report_cap, cell_n, cell_cap, name_n, shape_n, key_n, key_cap, texts;
};

/* Makes room for one more element. */
#define GROW(array, n, cap) \
    do { \
        if ((n) == (cap)) { \
            (cap) = (cap) ? (cap) * 2 : 64; \
            (array) = must_realloc((array), (cap) * sizeof(*(array))); \
        } \
    } while (0)

struct metric_builder *metric_builder_new(struct arena *a)
{
    struct metric_builder *b = must_calloc(1, sizeof(*b));
    b->a = a;
    GROW(b->key, b->key_n, b->key_cap); /* the array is hashed even if it is empty, so it must exist */
    return b;
}

void metric_builder_free(struct metric_builder *b)
{
    if (!b)
        return;
    HASH_CLEAR(hh, b->names);
    HASH_CLEAR(hh, b->shapes);
    free(b->report);
    free(b->cell);
    free(b->end);
    free(b->key);
    free(b);
}

size_t metric_builder_count(const struct metric_builder *b)
{
    return b->n;
}

static struct name *name_of(struct metric_builder *b, const char *text)
{
    struct name *name;
    HASH_FIND_STR(b->names, text, name);
    if (name)
        return name;
    name = arena_new(b->a, struct name);
    *name = (struct name){.text = arena_strdup(b->a, text), .place = (uint32_t)b->name_n++};
    HASH_ADD_KEYPTR(hh, b->names, name->text, strlen(name->text), name);
    return name;
}

/* Adds a value. If a key occurs twice in a report, the last value counts, as in every reader of JSON. */
static void add_cell(struct metric_builder *b, const char *text, const struct metric_value *v)
{
    struct name *name = name_of(b, text);
    if (name->report == b->n + 1) {
        b->cell[name->cell].value = *v;
        return;
    }
    GROW(b->cell, b->cell_n, b->cell_cap);
    GROW(b->key, b->key_n, b->key_cap);
    name->report = b->n + 1;
    name->cell = b->cell_n;
    b->cell[b->cell_n++] = (struct cell){name, *v};
    b->key[b->key_n++] = name->place;
}

static uint32_t shape_of_key(struct metric_builder *b)
{
    size_t size = b->key_n * sizeof(*b->key);
    struct shape *s = b->latest;
    if (s && s->n == b->key_n && memcmp(s->name, b->key, size) == 0)
        return s->number;
    HASH_FIND(hh, b->shapes, b->key, size, s);
    if (!s) {
        s = arena_new(b->a, struct shape);
        *s = (struct shape){.name = arena_dup(b->a, b->key, size), .n = b->key_n, .number = (uint32_t)b->shape_n++};
        HASH_ADD_KEYPTR(hh, b->shapes, s->name, size, s);
    }
    b->latest = s;
    return s->number;
}

/* Whether the builder is full. A block holds at least one report, however many metrics that report has. */
static bool is_full(const struct metric_builder *b)
{
    return b->n > 0 && (b->n == METRIC_BLOCK_REPORTS || b->texts > METRIC_BLOCK_TEXTS);
}

static bool finish_report(struct metric_builder *b, size_t cells_before, const struct metric_report *r)
{
    if (b->n > 0 && b->name_n * (b->n + 1) > METRIC_BLOCK_CELLS) {
        b->cell_n = cells_before;
        return false;
    }
    if (b->n == b->report_cap) {
        size_t cap = b->report_cap;
        GROW(b->end, b->n, cap);
        GROW(b->report, b->n, b->report_cap);
    }
    for (size_t i = cells_before; i < b->cell_n; i++)
        b->cell[i].name->kept = true;
    b->report[b->n] = *r;
    b->report[b->n].shape = shape_of_key(b);
    b->end[b->n++] = b->cell_n;
    return true;
}

bool metric_builder_add(struct metric_builder *b, const struct report_row *r)
{
    if (is_full(b))
        return false;
    size_t before = b->cell_n;
    struct metric_members m = metric_members_of(r->avg_metrics);
    b->key_n = 0;
    while (metric_members_next(&m, b->a)) {
        struct metric_value v = metric_value_of(m.value, m.value_n, b->a);
        add_cell(b, m.name, &v);
    }
    b->texts += strlen(r->avg_metrics) + (r->batch_metrics ? strlen(r->batch_metrics) : 0);
    return finish_report(b, before,
                         &(struct metric_report){.id = r->id,
                                                 .report_us = r->report_us,
                                                 .run_id = r->run_id,
                                                 .steps = r->steps,
                                                 .stepless = r->stepless,
                                                 .batch_metrics = arena_strdup(b->a, r->batch_metrics)});
}

bool metric_builder_copy(struct metric_builder *b, const struct metric_block *from, size_t i)
{
    if (is_full(b))
        return false;
    size_t before = b->cell_n;
    const struct metric_report *r = &from->report[i];
    const struct metric_shape *s = &from->shape[r->shape];
    b->key_n = 0;
    for (size_t k = 0; k < s->n; k++) {
        const struct metric_column *c = &from->column[s->column[k]];
        if (c->value[i].kind != METRIC_ABSENT)
            add_cell(b, c->name, &c->value[i]);
    }
    b->texts += r->batch_metrics ? strlen(r->batch_metrics) : 0;
    return finish_report(b, before, r);
}

/* ---- making columns of the cells --------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp((*(struct name *const *)a)->text, (*(struct name *const *)b)->text);
}

/* Sorts the names that reports of the block have. Names that only occur in a report that did not fit are left out. */
static struct name **sorted_names(struct metric_builder *b, size_t *ret_n)
{
    struct name **list = arena_array(b->a, struct name *, b->name_n + 1), *name, *next;
    size_t n = 0;
    HASH_ITER(hh, b->names, name, next)
        if (name->kept)
            list[n++] = name;
    qsort(list, n, sizeof(*list), by_text);
    *ret_n = n;
    return list;
}

static void fill_columns(const struct metric_builder *b, struct metric_block *ret)
{
    for (size_t c = 0; c < ret->column_n; c++)
        ret->column[c].value = arena_array(b->a, struct metric_value, b->n); /* set to zero, which is METRIC_ABSENT */
    for (size_t i = 0, k = 0; i < b->n; i++)
        for (; k < b->end[i]; k++)
            ret->column[b->cell[k].name->place].value[i] = b->cell[k].value;
}

void metric_builder_finish(struct metric_builder *b, struct metric_block *ret)
{
    size_t names;
    struct name **name = sorted_names(b, &names);
    uint32_t *moved = arena_array(b->a, uint32_t, b->name_n + 1);
    *ret = (struct metric_block){.report = arena_dup(b->a, b->report, b->n * sizeof(*b->report)),
                                 .n = b->n,
                                 .column = arena_array(b->a, struct metric_column, names + 1),
                                 .column_n = names,
                                 .shape = arena_array(b->a, struct metric_shape, b->shape_n + 1),
                                 .shape_n = b->shape_n};
    for (size_t c = 0; c < names; c++) {
        moved[name[c]->place] = (uint32_t)c;
        name[c]->place = (uint32_t)c;
        ret->column[c].name = name[c]->text;
    }
    struct shape *s, *next;
    HASH_ITER(hh, b->shapes, s, next) {
        for (size_t i = 0; i < s->n; i++)
            s->name[i] = moved[s->name[i]];
        ret->shape[s->number] = (struct metric_shape){s->name, s->n};
    }
    fill_columns(b, ret);
}
