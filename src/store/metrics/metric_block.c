#include "store/metrics/metric_block.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "store/metrics/metrics.h"

enum {
    VERSION = 1,
    /* More bytes than the texts, names and lists of shapes of any block that a builder makes can take. */
    TEXT_MAX = METRIC_BLOCK_TEXTS + METRIC_BATCHES_MAX + METRIC_REPORT_MAX + 16 * METRIC_BLOCK_CELLS,
};

static int damaged(struct error *err)
{
    return error_set(err, ERR_IO, "a block of metrics is damaged in the database");
}

/* ---- reports and their columns ----------------------------------------------------------------------------------- */

void metric_block_print(const struct metric_block *b, size_t i, struct strbuf *out)
{
    const struct metric_shape *s = &b->shape[b->report[i].shape];
    bool first = true;
    strbuf_addc(out, '{');
    for (size_t k = 0; k < s->n; k++) {
        const struct metric_column *c = &b->column[s->column[k]];
        if (c->value[i].kind == METRIC_ABSENT)
            continue;
        if (!first)
            strbuf_addc(out, ',');
        first = false;
        strbuf_add_json(out, c->name, strlen(c->name));
        strbuf_addc(out, ':');
        metric_value_print(&c->value[i], out);
    }
    strbuf_addc(out, '}');
}

static int compare_name(const void *key, const void *column)
{
    return strcmp(key, ((const struct metric_column *)column)->name);
}

long metric_block_column(const struct metric_block *b, const char *name)
{
    const struct metric_column *c = b->column_n
                                        ? bsearch(name, b->column, b->column_n, sizeof(*b->column), compare_name)
                                        : NULL;
    return c ? (long)(c - b->column) : -1;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static void pack_text(struct packer *p, const struct strbuf *text, struct strbuf *out)
{
    pack_varint(out, text->n);
    pack_bytes(p, (const uint8_t *)text->s, text->n, out);
}

static int unpack_text(struct packer *p, struct unpack *u, struct arena *a, struct unpack *ret)
{
    uint64_t n;
    if (unpack_varint(u, &n) < 0 || n > TEXT_MAX || !unpack_holds(u, n))
        return -1;
    uint8_t *text = arena_alloc(a, n + 1);
    if (unpack_bytes(p, u, text, n) < 0)
        return -1;
    *ret = (struct unpack){text, text + n};
    return 0;
}

static void add_string(struct strbuf *b, const char *s)
{
    size_t n = strlen(s);
    pack_varint(b, n);
    strbuf_add(b, s, n + 1); /* written with its NUL, since it is used in place when the block is read */
}

static int take_string(struct unpack *u, const char **ret)
{
    uint64_t n;
    if (unpack_varint(u, &n) < 0 || n >= (uint64_t)(u->end - u->p) || memchr(u->p, '\0', n + 1) != u->p + n)
        return -1;
    *ret = (const char *)u->p;
    u->p += n + 1;
    return 0;
}

/* ---- the integers that every report has -------------------------------------------------------------------------- */

static void pack_names(struct packer *p, const struct metric_block *b, struct strbuf *out)
{
    cleanup_strbuf struct strbuf names = STRBUF_INIT;
    for (size_t c = 0; c < b->column_n; c++)
        add_string(&names, b->column[c].name);
    for (size_t s = 0; s < b->shape_n; s++) {
        pack_varint(&names, b->shape[s].n);
        for (size_t i = 0; i < b->shape[s].n; i++)
            pack_varint(&names, b->shape[s].column[i]);
    }
    pack_varint(out, b->column_n);
    pack_varint(out, b->shape_n);
    pack_text(p, &names, out);
}

enum field { FIELD_ID, FIELD_STEPS, FIELD_TIME, FIELD_RUN, FIELD_STEPLESS, FIELD_SHAPE, FIELD_NR };

static int64_t field_of(const struct metric_report *r, enum field f)
{
    const int64_t v[] = {r->id, r->steps, r->report_us, r->run_id, r->stepless, r->shape};
    return v[f];
}

static void set_field(struct metric_report *r, enum field f, int64_t v)
{
    switch (f) {
    case FIELD_ID:
        r->id = v;
        break;
    case FIELD_STEPS:
        r->steps = (int32_t)v;
        break;
    case FIELD_TIME:
        r->report_us = v;
        break;
    case FIELD_RUN:
        r->run_id = (int32_t)v;
        break;
    case FIELD_STEPLESS:
        r->stepless = v != 0;
        break;
    case FIELD_SHAPE:
        r->shape = (uint32_t)v;
        break;
    case FIELD_NR:
        break;
    }
}

void metric_block_pack_reports(struct packer *p, const struct metric_block *b, struct strbuf *out)
{
    int64_t *v = must_calloc(b->n + 1, sizeof(*v));
    strbuf_addc(out, VERSION);
    pack_varint(out, b->n);
    pack_names(p, b, out);
    for (enum field f = 0; f < FIELD_NR; f++) {
        for (size_t i = 0; i < b->n; i++)
            v[i] = field_of(&b->report[i], f);
        pack_ints(p, v, b->n, out);
    }
    free(v);
}

static int unpack_shape(struct unpack *u, size_t column_n, struct arena *a, struct metric_shape *ret)
{
    uint64_t n, column;
    if (unpack_varint(u, &n) < 0 || n > column_n || n > (uint64_t)(u->end - u->p))
        return -1;
    uint32_t *list = arena_array(a, uint32_t, n + 1);
    for (uint64_t i = 0; i < n; i++) {
        if (unpack_varint(u, &column) < 0 || column >= column_n)
            return -1;
        list[i] = (uint32_t)column;
    }
    *ret = (struct metric_shape){list, n};
    return 0;
}

static int unpack_names(struct packer *p, struct unpack *u, struct arena *a, struct metric_block *b)
{
    uint64_t columns, shapes;
    struct unpack names;
    size_t cells = b->n > 1 ? METRIC_BLOCK_CELLS / b->n : METRIC_BLOCK_CELLS;
    if (unpack_varint(u, &columns) < 0 || columns > cells || unpack_varint(u, &shapes) < 0 || shapes > b->n ||
        unpack_text(p, u, a, &names) < 0)
        return -1;
    b->column = arena_array(a, struct metric_column, columns + 1);
    b->shape = arena_array(a, struct metric_shape, shapes + 1);
    for (b->column_n = 0; b->column_n < columns; b->column_n++)
        if (take_string(&names, &b->column[b->column_n].name) < 0)
            return -1;
    for (b->shape_n = 0; b->shape_n < shapes; b->shape_n++)
        if (unpack_shape(&names, columns, a, &b->shape[b->shape_n]) < 0)
            return -1;
    return 0;
}

static int unpack_fields(struct packer *p, struct unpack *u, struct metric_block *b)
{
    int64_t *v = must_calloc(b->n + 1, sizeof(*v));
    int rc = 0;
    for (enum field f = 0; f < FIELD_NR && rc == 0; f++) {
        rc = unpack_ints(p, u, v, b->n);
        for (size_t i = 0; rc == 0 && i < b->n; i++)
            set_field(&b->report[i], f, v[i]);
    }
    for (size_t i = 0; rc == 0 && i < b->n; i++)
        rc = b->report[i].shape < b->shape_n ? 0 : -1;
    free(v);
    return rc;
}

int metric_block_unpack_reports(struct packer *p, const void *data, size_t size, struct arena *a,
                                struct metric_block *ret, struct error *err)
{
    struct unpack u = {data, (const uint8_t *)data + size};
    struct metric_block b = {0};
    uint64_t n;
    if (size == 0 || *u.p++ != VERSION || unpack_varint(&u, &n) < 0 || n > METRIC_BLOCK_REPORTS)
        return damaged(err);
    b.n = n;
    if (unpack_names(p, &u, a, &b) < 0)
        return damaged(err);
    b.report = arena_array(a, struct metric_report, n + 1);
    if (unpack_fields(p, &u, &b) < 0)
        return damaged(err);
    *ret = b;
    return 0;
}

/* ---- batch metrics: for each report 0, or 1 and its text --------------------------------------------------------- */

void metric_block_pack_batches(struct packer *p, const struct metric_block *b, struct strbuf *out)
{
    cleanup_strbuf struct strbuf texts = STRBUF_INIT;
    bool any = false;
    for (size_t i = 0; i < b->n; i++) {
        const char *batches = b->report[i].batch_metrics;
        any |= batches != NULL;
        strbuf_addc(&texts, batches ? 1 : 0);
        if (batches)
            add_string(&texts, batches);
    }
    if (!any)
        return;
    strbuf_addc(out, VERSION);
    pack_text(p, &texts, out);
}

int metric_block_unpack_batches(struct packer *p, const void *data, size_t size, struct arena *a,
                                struct metric_block *b, struct error *err)
{
    struct unpack u = {data, (const uint8_t *)data + size}, texts;
    if (size == 0)
        return 0;
    if (*u.p++ != VERSION || unpack_text(p, &u, a, &texts) < 0)
        return damaged(err);
    for (size_t i = 0; i < b->n; i++) {
        uint64_t has;
        if (unpack_varint(&texts, &has) < 0 || (has && take_string(&texts, &b->report[i].batch_metrics) < 0))
            return damaged(err);
    }
    return 0;
}

/* ---- a column: kinds, integers, doubles, texts ------------------------------------------------------------------- */

/* The values of a column, separated by their kinds. */
struct sorted {
    uint8_t *kind;
    int64_t *integer;
    double *number;
    size_t integer_n, number_n;
    /* there are whole numbers among others: they are packed as doubles if a double holds each of them exactly */
    bool mixed;
};

static void sorted_init(struct sorted *s, size_t n)
{
    *s = (struct sorted){.kind = must_calloc(n + 1, 1),
                         .integer = must_calloc(n + 1, sizeof(*s->integer)),
                         .number = must_calloc(n + 1, sizeof(*s->number))};
}

static void sorted_release(struct sorted *s)
{
    free(s->kind);
    free(s->integer);
    free(s->number);
}

static bool fits_double(int64_t v)
{
    return v >= -(INT64_C(1) << 53) && v <= INT64_C(1) << 53;
}

static bool is_mixed(const struct metric_value *v, size_t n)
{
    bool doubles = false, integers = false, large = false;
    for (size_t i = 0; i < n; i++) {
        doubles |= v[i].kind == METRIC_DOUBLE;
        integers |= v[i].kind == METRIC_INT;
        large |= v[i].kind == METRIC_INT && !fits_double(v[i].integer);
    }
    return doubles && integers && !large;
}

static void sort_values(const struct metric_value *v, size_t n, struct sorted *s, struct strbuf *texts)
{
    s->mixed = is_mixed(v, n);
    for (size_t i = 0; i < n; i++) {
        s->kind[i] = (uint8_t)v[i].kind;
        if (v[i].kind == METRIC_DOUBLE)
            s->number[s->number_n++] = v[i].number;
        else if (v[i].kind == METRIC_INT && s->mixed)
            s->number[s->number_n++] = (double)v[i].integer;
        else if (v[i].kind == METRIC_INT)
            s->integer[s->integer_n++] = v[i].integer;
        else if (v[i].kind == METRIC_JSON)
            add_string(texts, v[i].json);
    }
}

void metric_column_pack(struct packer *p, const struct metric_column *c, size_t n, struct strbuf *out)
{
    cleanup_strbuf struct strbuf texts = STRBUF_INIT;
    struct sorted s;
    sorted_init(&s, n);
    sort_values(c->value, n, &s, &texts);
    strbuf_addc(out, VERSION);
    strbuf_addc(out, s.mixed);
    pack_bytes(p, s.kind, n, out);
    pack_ints(p, s.integer, s.integer_n, out);
    pack_doubles(p, s.number, s.number_n, out);
    pack_text(p, &texts, out);
    sorted_release(&s);
}

static int count_kinds(struct sorted *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s->kind[i] >= METRIC_KIND_NR)
            return -1;
        s->integer_n += s->kind[i] == METRIC_INT && !s->mixed;
        s->number_n += s->kind[i] == METRIC_DOUBLE || (s->kind[i] == METRIC_INT && s->mixed);
    }
    return 0;
}

static int place_values(const struct sorted *s, size_t n, struct unpack *texts, struct metric_value *ret)
{
    const double *number = s->number;
    const int64_t *integer = s->integer;
    for (size_t i = 0; i < n; i++) {
        ret[i].kind = (enum metric_kind)s->kind[i];
        if (ret[i].kind == METRIC_DOUBLE)
            ret[i].number = *number++;
        else if (ret[i].kind == METRIC_INT && s->mixed) {
            if (!(*number >= -0x1p53 && *number <= 0x1p53))
                return -1;
            ret[i].integer = (int64_t)*number++;
        } else if (ret[i].kind == METRIC_INT)
            ret[i].integer = *integer++;
        else if (ret[i].kind == METRIC_JSON && take_string(texts, &ret[i].json) < 0)
            return -1;
    }
    return 0;
}

static int unpack_values(struct packer *p, struct unpack *u, size_t n, struct arena *a, struct sorted *s,
                         struct metric_value *ret)
{
    struct unpack texts;
    if (u->end - u->p < 2 || *u->p++ != VERSION)
        return -1;
    s->mixed = *u->p++ != 0;
    if (unpack_bytes(p, u, s->kind, n) < 0 || count_kinds(s, n) < 0 ||
        unpack_ints(p, u, s->integer, s->integer_n) < 0 || unpack_doubles(p, u, s->number, s->number_n) < 0 ||
        unpack_text(p, u, a, &texts) < 0)
        return -1;
    return place_values(s, n, &texts, ret);
}

int metric_column_unpack(struct packer *p, const void *data, size_t size, size_t n, struct arena *a,
                         struct metric_column *ret, struct error *err)
{
    struct unpack u = {data, (const uint8_t *)data + size};
    struct metric_value *v = arena_array(a, struct metric_value, n + 1);
    struct sorted s;
    sorted_init(&s, n);
    int rc = unpack_values(p, &u, n, a, &s, v);
    sorted_release(&s);
    if (rc < 0)
        return damaged(err);
    ret->value = v;
    return 0;
}
