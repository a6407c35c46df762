#include "store/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LEVEL = 3 /* of zstd; planes hold nothing for longer searches to find */ };
enum { PLANE_PLAIN, PLANE_CONSTANT, PLANE_ZSTD };
enum { ORDERS = 3, WIDTH_MAX = 8 };
enum { TABLE_MAX = 256, DECIMALS_MAX = 9 };
enum { FORM_TABLE = 1, FORM_DECIMAL, FORM_SINGLE, FORM_DOUBLE };

struct packer {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    struct strbuf frame;    /* one plane, compressed */
    struct strbuf scratch;  /* one plane, plain */
    struct strbuf trial[2]; /* the best candidate and the one that is being tried */
    struct strbuf work, mapped;
};

int packer_new(struct packer **ret, struct error *err)
{
    struct packer *p = calloc(1, sizeof(*p));
    if (p)
        *p = (struct packer){.compress = ZSTD_createCCtx(), .decompress = ZSTD_createDCtx()};
    if (p && p->compress && p->decompress) {
        *ret = p;
        return 0;
    }
    packer_free(p);
    return error_set(err, ERR_NO_MEMORY, "out of memory");
}

void packer_free(struct packer *p)
{
    if (!p)
        return;
    ZSTD_freeCCtx(p->compress);
    ZSTD_freeDCtx(p->decompress);
    strbuf_release(&p->frame);
    strbuf_release(&p->scratch);
    strbuf_release(&p->trial[0]);
    strbuf_release(&p->trial[1]);
    strbuf_release(&p->work);
    strbuf_release(&p->mapped);
    free(p);
}

static void *room(struct strbuf *b, size_t n)
{
    strbuf_reset(b);
    strbuf_reserve(b, n);
    return b->s;
}

/* ---- varints ---- */

void pack_varint(struct strbuf *out, uint64_t v)
{
    while (v >= 0x80) {
        strbuf_addc(out, (char)(v | 0x80));
        v >>= 7;
    }
    strbuf_addc(out, (char)v);
}

int unpack_varint(struct unpack *u, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && u->p < u->end; shift += 7) {
        uint8_t byte = *u->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = v;
            return 0;
        }
    }
    return -1;
}

static int unpack_byte(struct unpack *u, uint8_t *ret)
{
    if (u->p == u->end)
        return -1;
    *ret = *u->p++;
    return 0;
}

/* ---- a plane of bytes ---- */

static bool all_equal(const uint8_t *v, size_t n)
{
    return n == 0 || memcmp(v, v + 1, n - 1) == 0;
}

void pack_bytes(struct packer *p, const uint8_t *v, size_t n, struct strbuf *out)
{
    if (n == 0)
        return;
    if (all_equal(v, n)) {
        strbuf_addc(out, PLANE_CONSTANT);
        strbuf_addc(out, (char)v[0]);
        return;
    }
    size_t bound = ZSTD_compressBound(n);
    void *frame = room(&p->frame, bound);
    size_t size = ZSTD_compressCCtx(p->compress, frame, bound, v, n, LEVEL);
    if (ZSTD_isError(size) || size >= n) {
        strbuf_addc(out, PLANE_PLAIN);
        strbuf_add(out, v, n);
        return;
    }
    strbuf_addc(out, PLANE_ZSTD);
    pack_varint(out, size);
    strbuf_add(out, frame, size);
}

static int unpack_frame(struct packer *p, struct unpack *u, uint8_t *ret, size_t n)
{
    uint64_t size;
    if (unpack_varint(u, &size) < 0 || size > (uint64_t)(u->end - u->p))
        return -1;
    const uint8_t *frame = u->p;
    u->p += size;
    return ZSTD_decompressDCtx(p->decompress, ret, n, frame, size) == n ? 0 : -1;
}

/* A plane of one byte may be any number of them. What is said of a frame is what zstd itself would believe. */
enum { CONSTANT_MAX = 1 << 16 };
bool unpack_holds(const struct unpack *u, uint64_t n)
{
    struct unpack at = *u;
    uint8_t how;
    uint64_t size;
    if (n == 0)
        return true;
    if (unpack_byte(&at, &how) < 0)
        return false;
    if (how == PLANE_ZSTD)
        return unpack_varint(&at, &size) == 0 && size <= (uint64_t)(at.end - at.p) &&
               ZSTD_getFrameContentSize(at.p, size) == n;
    return n <= (how == PLANE_PLAIN ? (uint64_t)(at.end - at.p) : CONSTANT_MAX);
}

int unpack_bytes(struct packer *p, struct unpack *u, uint8_t *ret, size_t n)
{
    uint8_t how, byte;
    if (n == 0)
        return 0;
    if (unpack_byte(u, &how) < 0)
        return -1;
    switch (how) {
    case PLANE_PLAIN:
        if (n > (size_t)(u->end - u->p))
            return -1;
        memcpy(ret, u->p, n);
        u->p += n;
        return 0;
    case PLANE_CONSTANT:
        if (unpack_byte(u, &byte) < 0)
            return -1;
        memset(ret, byte, n);
        return 0;
    case PLANE_ZSTD:
        return unpack_frame(p, u, ret, n);
    default:
        return -1;
    }
}

/* ---- integers ---- */

static uint64_t zigzag(int64_t v) { return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63); }
static int64_t unzigzag(uint64_t v) { return (int64_t)((v >> 1) ^ (0 - (v & 1))); }

/* Differences wrap around, and back again on the way out. The first `order` numbers stay as they are. */
static void differences(const int64_t *v, size_t n, size_t order, uint64_t *ret)
{
    memcpy(ret, v, n * sizeof(*v));
    for (size_t k = 0; k < order; k++)
        for (size_t i = n - 1; i > k; i--)
            ret[i] -= ret[i - 1];
}

static void sums(uint64_t *v, size_t n, size_t order)
{
    for (size_t k = order; k-- > 0;)
        for (size_t i = k + 1; i < n; i++)
            v[i] += v[i - 1];
}

static int width_of(uint64_t span)
{
    int width = 0;
    for (; span; span >>= 8)
        width++;
    return width;
}

/* The least as a signed number, so that small differences of either sign stay small. */
static int64_t least_of(const uint64_t *v, size_t n, uint64_t *ret_span)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        least = (int64_t)v[i] < least ? (int64_t)v[i] : least;
        most = (int64_t)v[i] > most ? (int64_t)v[i] : most;
    }
    *ret_span = n ? (uint64_t)most - (uint64_t)least : 0;
    return n ? least : 0;
}

static void pack_planes(struct packer *p, const uint64_t *v, size_t n, struct strbuf *out)
{
    uint64_t span;
    int64_t least = least_of(v, n, &span);
    int width = width_of(span);
    pack_varint(out, zigzag(least));
    strbuf_addc(out, (char)width);
    uint8_t *plane = room(&p->scratch, n);
    for (int b = 0; b < width; b++) {
        for (size_t i = 0; i < n; i++)
            plane[i] = (uint8_t)((v[i] - (uint64_t)least) >> (8 * b));
        pack_bytes(p, plane, n, out);
    }
}

static void pack_order(struct packer *p, const int64_t *v, size_t n, size_t order, struct strbuf *out)
{
    uint64_t *d = room(&p->work, n * sizeof(*d));
    differences(v, n, order, d);
    strbuf_addc(out, (char)order);
    for (size_t i = 0; i < order; i++)
        pack_varint(out, zigzag((int64_t)d[i]));
    pack_planes(p, d + order, n - order, out);
}

void pack_ints(struct packer *p, const int64_t *v, size_t n, struct strbuf *out)
{
    struct strbuf *best = &p->trial[0], *next = &p->trial[1];
    if (n == 0)
        return;
    strbuf_reset(best);
    pack_order(p, v, n, 0, best);
    for (size_t order = 1; order < ORDERS && order < n; order++) {
        strbuf_reset(next);
        pack_order(p, v, n, order, next);
        if (next->n < best->n) {
            struct strbuf *worse = best;
            best = next;
            next = worse;
        }
    }
    strbuf_add(out, best->s, best->n);
}

static int unpack_planes(struct packer *p, struct unpack *u, uint64_t *ret, size_t n)
{
    uint64_t least;
    uint8_t width;
    if (unpack_varint(u, &least) < 0 || unpack_byte(u, &width) < 0 || width > WIDTH_MAX)
        return -1;
    for (size_t i = 0; i < n; i++)
        ret[i] = (uint64_t)unzigzag(least);
    uint8_t *plane = room(&p->scratch, n);
    for (int b = 0; b < width; b++) {
        if (unpack_bytes(p, u, plane, n) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            ret[i] += (uint64_t)plane[i] << (8 * b);
    }
    return 0;
}

int unpack_ints(struct packer *p, struct unpack *u, int64_t *ret, size_t n)
{
    uint64_t *v = (uint64_t *)ret, first;
    uint8_t order;
    if (n == 0)
        return 0;
    if (unpack_byte(u, &order) < 0 || order >= ORDERS || order > n)
        return -1;
    for (size_t i = 0; i < order; i++) {
        if (unpack_varint(u, &first) < 0)
            return -1;
        v[i] = (uint64_t)unzigzag(first);
    }
    if (unpack_planes(p, u, v + order, n - order) < 0)
        return -1;
    sums(v, n, order);
    return 0;
}

/* ---- floating point ---- */

/* Bits whose order as integers is the order of the numbers, so that numbers that are near have bits that are. */
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

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof(a)) == 0; }

static double power_of_ten(int p)
{
    double power = 1;
    while (p-- > 0)
        power *= 10;
    return power;
}

/* The different values of a list, found by their bits. */
enum { SLOTS = 4 * TABLE_MAX };
struct table {
    double value[TABLE_MAX];
    size_t n;
    uint16_t slot[SLOTS]; /* 0: free, else a place in `value` plus 1 */
};

/* -1 when v would be one too many. */
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
    uint8_t *at = room(&p->mapped, n);
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
    int64_t *whole = room(&p->mapped, n * sizeof(*whole));
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
    int64_t *bits = room(&p->mapped, n * sizeof(*bits));
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
    int64_t *bits = room(&p->mapped, n * sizeof(*bits));
    for (size_t i = 0; i < n; i++)
        bits[i] = ordered_double(v[i]);
    strbuf_addc(out, FORM_DOUBLE);
    pack_ints(p, bits, n, out);
    return true;
}

void pack_doubles(struct packer *p, const double *v, size_t n, struct strbuf *out)
{
    typedef bool form_fn(struct packer *p, const double *v, size_t n, struct strbuf *out);
    static form_fn *const form[] = {pack_table, pack_decimal, pack_singles, pack_bits};
    cleanup_strbuf struct strbuf best = STRBUF_INIT, next = STRBUF_INIT;
    if (n == 0)
        return;
    /* Whatever is a decimal or a single is no smaller as a double, but a table may lose against either. */
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
    uint8_t *at = room(&p->mapped, n);
    if (unpack_bytes(p, u, at, n) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        ret[i] = table[at[i]];
    return 0;
}

static int unpack_decimal(struct packer *p, struct unpack *u, double *ret, size_t n)
{
    uint8_t decimals;
    int64_t *whole = room(&p->mapped, n * sizeof(*whole));
    if (unpack_byte(u, &decimals) < 0 || decimals > DECIMALS_MAX || unpack_ints(p, u, whole, n) < 0)
        return -1;
    double power = power_of_ten(decimals);
    for (size_t i = 0; i < n; i++)
        ret[i] = (double)whole[i] / power;
    return 0;
}

static int unpack_bits(struct packer *p, struct unpack *u, bool single, double *ret, size_t n)
{
    int64_t *bits = room(&p->mapped, n * sizeof(*bits));
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
