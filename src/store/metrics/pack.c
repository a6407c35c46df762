#include "common/base/must.h"
#include "store/metrics/pack_internal.h"

#include <stdlib.h>
#include <string.h>

enum { LEVEL = 3 /* of zstd; in these planes a longer search would find nothing more */ };
enum { PLANE_PLAIN, PLANE_CONSTANT, PLANE_ZSTD };
enum { ORDERS = 3, WIDTH_MAX = 8 };

int packer_new(struct packer **ret, struct error *err)
{
    struct packer *p = must_calloc(1, sizeof(*p));
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

void *packer_room(struct strbuf *b, size_t n)
{
    strbuf_reset(b);
    strbuf_reserve(b, n);
    return b->s;
}

/* ---- varints ----------------------------------------------------------------------------------------------------- */

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

int unpack_byte(struct unpack *u, uint8_t *ret)
{
    if (u->p == u->end)
        return -1;
    *ret = *u->p++;
    return 0;
}

/* ---- a plane of bytes -------------------------------------------------------------------------------------------- */

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
    void *frame = packer_room(&p->frame, bound);
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

/* Whether the bytes can hold n values. A plane that repeats one byte can stand for any number of values, so it is
 * limited. For a compressed plane the size that its zstd frame names is compared, since zstd itself relies on it. */
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

/* ---- integers ---------------------------------------------------------------------------------------------------- */

static uint64_t zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
static int64_t unzigzag(uint64_t v)
{
    return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

/* Computes differences of the given order. They may wrap around; sums() wraps back. The first `order` numbers are
 * not changed. */
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

/* Returns the least value, compared as signed numbers, so that small differences of either sign stay small. */
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
    uint8_t *plane = packer_room(&p->scratch, n);
    for (int b = 0; b < width; b++) {
        for (size_t i = 0; i < n; i++)
            plane[i] = (uint8_t)((v[i] - (uint64_t)least) >> (8 * b));
        pack_bytes(p, plane, n, out);
    }
}

static void pack_order(struct packer *p, const int64_t *v, size_t n, size_t order, struct strbuf *out)
{
    uint64_t *d = packer_room(&p->work, n * sizeof(*d));
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
    uint8_t *plane = packer_room(&p->scratch, n);
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
