/* Within the store: packs lists of numbers into few bytes, without loss.
 *
 * Integers become differences of order 0, 1 or 2 (a constant step, a clock, a slope), are lowered by their least, cut
 * into planes (all lowest bytes, then all second ones …), and each plane is one byte, zstd or plain, whatever is
 * smallest: noise costs exactly its own bytes, everything above it next to nothing. All three orders are tried.
 *
 * Floating point becomes integers first, by the first of these that holds for every number of the list, or is smaller:
 *   table    few different values: their numbers in a table
 *   decimal  whole multiples of 10^-p: rounded values
 *   single   values of float32, which is what most networks report: 32 bits, in the order of the numbers
 *   double   64 bits, in the order of the numbers
 * When a list is packed it is also unpacked, and compared bit by bit, so that nothing is ever stored that does not come
 * back as it was. docs/decisions/0003-metric-columns.md has the numbers behind these choices.
 *
 * A packer holds the buffers of zstd: one for as long as one thread packs or unpacks. What is read is not trusted. */
#ifndef DET_STORE_METRICS_PACK_H
#define DET_STORE_METRICS_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

struct packer;
int packer_new(struct packer **ret, struct error *err);
void packer_free(struct packer *p); /* NULL is fine */

void pack_varint(struct strbuf *out, uint64_t v);
void pack_bytes(struct packer *p, const uint8_t *v, size_t n, struct strbuf *out);
void pack_ints(struct packer *p, const int64_t *v, size_t n, struct strbuf *out);
void pack_doubles(struct packer *p, const double *v, size_t n, struct strbuf *out);

/* The other way. Each takes what its counterpart wrote, n as it was, and moves on; -1 when that cannot be. The callers
 * say what is damaged. */
struct unpack {
    const uint8_t *p, *end;
};
int unpack_varint(struct unpack *u, uint64_t *ret);
/* Whether the bytes that come next can be n at all: asked before memory is taken for them. */
bool unpack_holds(const struct unpack *u, uint64_t n);
int unpack_bytes(struct packer *p, struct unpack *u, uint8_t *ret, size_t n);
int unpack_ints(struct packer *p, struct unpack *u, int64_t *ret, size_t n);
int unpack_doubles(struct packer *p, struct unpack *u, double *ret, size_t n);

#endif
