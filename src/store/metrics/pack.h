/* Within the store: packs lists of numbers into few bytes, without loss.
 *
 * Integers become differences of order 0, 1 or 2 (for example of a constant step, a clock or a slope). The least is
 * subtracted from all. The result is cut into planes (all lowest bytes, then all second ones …). A plane is stored as
 * one byte, as zstd or plain, whichever is smallest. So bytes that are noise are stored as they are, and the bytes
 * above them take almost no space. All three orders are tried.
 *
 * Floating point becomes integers first, in the smallest of these forms that holds every number of the list:
 *   table    few different values: their numbers in a table
 *   decimal  whole multiples of 10^-p: rounded values
 *   single   values of float32, which is what most networks report: 32 bits, in the order of the numbers
 *   double   64 bits, in the order of the numbers
 * When a list is packed it is also unpacked, and compared bit by bit, so that nothing is stored that does not come back
 * exactly. docs/decisions/0003-metric-columns.md has the measurements behind these choices.
 *
 * A packer holds the buffers of zstd. Only one thread at a time may use a packer. Stored bytes are not trusted. */
#ifndef DET_STORE_METRICS_PACK_H
#define DET_STORE_METRICS_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

struct packer;
int packer_new(struct packer **ret, struct error *err);
void packer_free(struct packer *p); /* NULL is allowed */

void pack_varint(struct strbuf *out, uint64_t v);
void pack_bytes(struct packer *p, const uint8_t *v, size_t n, struct strbuf *out);
void pack_ints(struct packer *p, const int64_t *v, size_t n, struct strbuf *out);
void pack_doubles(struct packer *p, const double *v, size_t n, struct strbuf *out);

/* The functions unpack_…() unpack what their counterparts have packed. Each needs the same n, and moves on to the next
 * byte after it. They return -1 for damaged bytes; the callers write the message. */
struct unpack {
    const uint8_t *p, *end;
};
int unpack_varint(struct unpack *u, uint64_t *ret);
/* Whether the next bytes can stand for n values at all. It is asked before memory is taken for the values. */
bool unpack_holds(const struct unpack *u, uint64_t n);
int unpack_bytes(struct packer *p, struct unpack *u, uint8_t *ret, size_t n);
int unpack_ints(struct packer *p, struct unpack *u, int64_t *ret, size_t n);
int unpack_doubles(struct packer *p, struct unpack *u, double *ret, size_t n);

#endif
