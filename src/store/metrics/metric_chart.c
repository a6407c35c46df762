#include "store/metrics/metric_chart.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/bytes.h"

enum { STRETCHES = 32, POINTS_MAX = 2 * STRETCHES + 2, POINT_BYTES = 38 };

bool chart_point_of(const struct metric_block *b, const struct metric_column *c, const struct metric_column *epoch,
                    size_t i, struct chart_point *ret)
{
    double y;
    if (!metric_value_number(&c->value[i], &y))
        return false;
    const struct metric_report *r = &b->report[i];
    *ret = (struct chart_point){.id = r->id, .steps = r->steps, .time_us = r->report_us, .value = c->value[i], .y = y};
    ret->has_epoch = epoch && metric_value_number(&epoch->value[i], &ret->epoch);
    return true;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

struct choice {
    size_t place[POINTS_MAX];
    size_t n;
};

static void choose_point(struct choice *c, size_t i)
{
    for (size_t k = 0; k < c->n; k++)
        if (c->place[k] == i)
            return;
    c->place[c->n++] = i;
}

static void choose_of_stretch(struct choice *c, const double *y, size_t begin, size_t end)
{
    size_t least = end, most = end;
    for (size_t i = begin; i < end; i++) {
        if (!isfinite(y[i]))
            continue;
        if (least == end || y[i] < y[least])
            least = i;
        if (most == end || y[i] > y[most])
            most = i;
    }
    if (least == end) {
        if (begin < end)
            choose_point(c, begin);
        return;
    }
    choose_point(c, least < most ? least : most);
    choose_point(c, least < most ? most : least);
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void choose_all(struct choice *c, const double *y, size_t n)
{
    c->n = 0;
    if (n == 0)
        return;
    choose_point(c, 0);
    for (size_t s = 0; s < STRETCHES; s++)
        choose_of_stretch(c, y, s * n / STRETCHES, (s + 1) * n / STRETCHES);
    choose_point(c, n - 1);
    qsort(c->place, c->n, sizeof(c->place[0]), by_place);
}

/* ---- packing and unpacking --------------------------------------------------------------------------------------- */

static uint64_t bits_of(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    return bits;
}

static double of_bits(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof(d));
    return d;
}

static void pack_point(const struct chart_point *p, struct strbuf *out)
{
    /* a number such as 1E5, which is kept as a text, is drawn as 100000.0 */
    enum metric_kind kind = p->value.kind == METRIC_JSON ? METRIC_DOUBLE : p->value.kind;
    bytes_u64(out, (uint64_t)p->id);
    bytes_u32(out, (uint32_t)p->steps);
    bytes_u64(out, (uint64_t)p->time_us);
    bytes_u8(out, (uint8_t)kind);
    bytes_u64(out, kind == METRIC_INT ? (uint64_t)p->value.integer : bits_of(p->y));
    bytes_u8(out, p->has_epoch);
    bytes_u64(out, bits_of(p->epoch));
}

void metric_chart_pack(const struct metric_block *b, const struct metric_column *c, struct strbuf *out)
{
    cleanup_arena struct arena a = ARENA_INIT;
    long place = metric_block_column(b, "epoch");
    const struct metric_column *epoch = place < 0 ? NULL : &b->column[place];
    struct chart_point *point = arena_array(&a, struct chart_point, b->n + 1);
    double *y = arena_array(&a, double, b->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!chart_point_of(b, c, epoch, i, &point[n]))
            continue;
        y[n] = point[n].y;
        n++;
    }
    struct choice chosen;
    choose_all(&chosen, y, n);
    for (size_t i = 0; i < chosen.n; i++)
        pack_point(&point[chosen.place[i]], out);
}

static bool take_point(struct cursor *c, struct chart_point *ret)
{
    ret->id = (int64_t)cursor_u64(c);
    ret->steps = (int32_t)cursor_u32(c);
    ret->time_us = (int64_t)cursor_u64(c);
    ret->value.kind = (enum metric_kind)cursor_u8(c);
    uint64_t bits = cursor_u64(c);
    if (ret->value.kind == METRIC_INT)
        ret->value.integer = (int64_t)bits;
    else
        ret->value.number = of_bits(bits);
    ret->has_epoch = cursor_u8(c) != 0;
    ret->epoch = of_bits(cursor_u64(c));
    return ret->value.kind < METRIC_JSON && metric_value_number(&ret->value, &ret->y);
}

int metric_chart_unpack(const void *data, size_t size, struct arena *a, struct chart_point **ret, size_t *ret_n,
                        struct error *err)
{
    struct cursor c = cursor_of(data, size);
    size_t n = size / POINT_BYTES;
    struct chart_point *point = arena_array(a, struct chart_point, n + 1);
    for (size_t i = 0; i < n; i++)
        if (!take_point(&c, &point[i]))
            return error_set(err, ERR_IO, "a chart of metrics is damaged in the database");
    *ret = point;
    *ret_n = n;
    return 0;
}
