/* Packs floating point numbers as integers (pack.h describes how). */
#include "store/metrics/pack_internal.h"

#include <math.h>
#include <string.h>

enum { TABLE_MAX = 256, DECIMALS_MAX = 9 };
enum { FORM_TABLE = 1, FORM_DECIMAL, FORM_SINGLE, FORM_DOUBLE };

/* Returns bits that have, as integers, the same order as the numbers. Numbers that are close together then have bits
 * that are close together. */
static int64_t ordered_double(double d)
{
    int64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static double double_of(int64_t ordered)
{
    int64_t bits = ordered < 0 ? ordered ^ INT64_MAX : ordered;
    double d;
    memcpy(&d, &bits, sizeof(d));
    return d;
}

static int64_t ordered_single(float f)
{
    int32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits < 0 ? bits ^ INT32_MAX : bits;
}

static float single_of(int64_t ordered)
{
    int32_t bits = (int32_t)ordered;
    bits = bits < 0 ? bits ^ INT32_MAX : bits;
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static double power_of_ten(int p)
{
    double power = 1;
    while (p-- > 0)
        power *= 10;
    return power;
}

/* The different values of a list, found by their bits in a hash table. */
enum { SLOTS = 4 * TABLE_MAX };
struct table {
    double value[TABLE_MAX];
    size_t n;
    uint16_t slot[SLOTS]; /* 0: the slot is free, else it holds an index in `value` plus 1 */
};

/* Returns the index of v in the table; -1 if v would be one too many. */
static int table_place(struct table *t, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    size_t at = (bits * UINT64_C(0x9e3779b97f4a7c15)) >> 54;
    for (; t->slot[at]; at = (at + 1) % SLOTS)
        if (same_bits(t->value[t->slot[at] - 1], v))
            return t->slot[at] - 1;
    if (t->n == TABLE_MAX)
        return -1;
    t->value[t->n++] = v;
    t->slot[at] = (uint16_t)t->n;
    return (int)t->n - 1;
}

static bool pack_table(struct packer *p, const double *v, size_t n, struct strbuf *out)
{
    struct table t = {0};
    uint8_t *at = packer_room(&p->mapped, n);
    for (size_t i = 0; i < n; i++) {
        int place = table_place(&t, v[i]);
        if (place < 0)
            return false;
        at[i] = (uint8_t)place;
    }
    strbuf_addc(out, FORM_TABLE);
    strbuf_addc(out, (char)(t.n - 1));
    strbuf_add(out, t.value, t.n * sizeof(*t.value));
    pack_bytes(p, at, n, out);
    return true;
}

static bool pack_decimal(struct packer *p, const double *v, size_t n, struct strbuf *out)
{
    int64_t *whole = packer_room(&p->mapped, n * sizeof(*whole));
    int decimals = 0;
    double power = 1;
    for (size_t i = 0; i < n;) {
        double scaled = nearbyint(v[i] * power);
        int64_t number = fabs(scaled) < 1e15 ? (int64_t)scaled : 0;
        if (same_bits((double)number / power, v[i])) {
            whole[i++] = number;
            continue;
        }
        if (++decimals > DECIMALS_MAX)
            return false;
        power = power_of_ten(decimals);
        i = 0;
    }
    strbuf_addc(out, FORM_DECIMAL);
    strbuf_addc(out, (char)decimals);
    pack_ints(p, whole, n, out);
    return true;
}

static bool pack_singles(struct packer *p, const double *v, size_t n, struct strbuf *out)
{
    int64_t *bits = packer_room(&p->mapped, n * sizeof(*bits));
    for (size_t i = 0; i < n; i++) {
        float f = (float)v[i];
        if (!same_bits((double)f, v[i]))
            return false;
        bits[i] = ordered_single(f);
    }
    strbuf_addc(out, FORM_SINGLE);
    pack_ints(p, bits, n, out);
    return true;
}

static bool pack_bits(struct packer *p, const double *v, size_t n, struct strbuf *out)
{
    int64_t *bits = packer_room(&p->mapped, n * sizeof(*bits));
    for (size_t i = 0; i < n; i++)
        bits[i] = ordered_double(v[i]);
    strbuf_addc(out, FORM_DOUBLE);
    pack_ints(p, bits, n, out);
    return true;
}

void pack_doubles(struct packer *p, const double *v, size_t n, struct strbuf *out)
{
    typedef bool form_fn(struct packer * p, const double *v, size_t n, struct strbuf *out);
    static form_fn *const form[] = {pack_table, pack_decimal, pack_singles, pack_bits};
    cleanup_strbuf struct strbuf best = STRBUF_INIT, next = STRBUF_INIT;
    if (n == 0)
        return;
    /* The form double is never smaller than decimal or single, so it is not tried if one of these holds the list. A
     * table may be larger than any of the others, so they are tried as well. */
    bool narrow = false;
    for (size_t i = 0; i < sizeof(form) / sizeof(*form); i++) {
        strbuf_reset(&next);
        if ((form[i] == pack_bits && narrow) || !form[i](p, v, n, &next))
            continue;
        narrow |= form[i] == pack_decimal || form[i] == pack_singles;
        if (best.n == 0 || next.n < best.n) {
            struct strbuf swap = best;
            best = next;
            next = swap;
        }
    }
    strbuf_add(out, best.s, best.n);
}

static int unpack_table(struct packer *p, struct unpack *u, double *ret, size_t n)
{
    double table[TABLE_MAX] = {0};
    uint8_t last;
    if (unpack_byte(u, &last) < 0 || (size_t)(u->end - u->p) < ((size_t)last + 1) * sizeof(*table))
        return -1;
    memcpy(table, u->p, ((size_t)last + 1) * sizeof(*table));
    u->p += ((size_t)last + 1) * sizeof(*table);
    uint8_t *at = packer_room(&p->mapped, n);
    if (unpack_bytes(p, u, at, n) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        ret[i] = table[at[i]];
    return 0;
}

static int unpack_decimal(struct packer *p, struct unpack *u, double *ret, size_t n)
{
    uint8_t decimals;
    int64_t *whole = packer_room(&p->mapped, n * sizeof(*whole));
    if (unpack_byte(u, &decimals) < 0 || decimals > DECIMALS_MAX || unpack_ints(p, u, whole, n) < 0)
        return -1;
    double power = power_of_ten(decimals);
    for (size_t i = 0; i < n; i++)
        ret[i] = (double)whole[i] / power;
    return 0;
}

static int unpack_bits(struct packer *p, struct unpack *u, bool single, double *ret, size_t n)
{
    int64_t *bits = packer_room(&p->mapped, n * sizeof(*bits));
    if (unpack_ints(p, u, bits, n) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        ret[i] = single ? (double)single_of(bits[i]) : double_of(bits[i]);
    return 0;
}

int unpack_doubles(struct packer *p, struct unpack *u, double *ret, size_t n)
{
    uint8_t form;
    if (n == 0)
        return 0;
    if (unpack_byte(u, &form) < 0)
        return -1;
    switch (form) {
    case FORM_TABLE:
        return unpack_table(p, u, ret, n);
    case FORM_DECIMAL:
        return unpack_decimal(p, u, ret, n);
    case FORM_SINGLE:
    case FORM_DOUBLE:
        return unpack_bits(p, u, form == FORM_SINGLE, ret, n);
    default:
        return -1;
    }
}
