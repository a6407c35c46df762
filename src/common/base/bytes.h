/* Little-endian binary fields: written to a strbuf, read back by a bounded cursor that never runs past its end.
 *
 * A cursor remembers that something was missing (`bad`) and from then on gives zeros and empty strings, so that a
 * decoder reads all its fields in a row and asks once, at the end. Whoever reads a count asks cursor_count(), which
 * refuses what the remaining bytes cannot hold: no allocation is ever larger than the input warrants. */
#ifndef DET_COMMON_BYTES_H
#define DET_COMMON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/strbuf.h"

void bytes_u8(struct strbuf *b, uint8_t v);
void bytes_u32(struct strbuf *b, uint32_t v);
void bytes_u64(struct strbuf *b, uint64_t v);
void bytes_string(struct strbuf *b, const char *s, size_t n); /* u32 length, bytes, NUL: readable in place */
void bytes_set_u32(struct strbuf *b, size_t at, uint32_t v);  /* fills in a length that was left open */

struct cursor {
    const uint8_t *p;
    size_t n;
    bool bad;
};

static inline struct cursor cursor_of(const void *data, size_t n) { return (struct cursor){.p = data, .n = n}; }

uint8_t cursor_u8(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
/* Points into the input, NUL-terminated there; ret_n may be NULL, in which case a NUL within the string makes it
 * bad. */
const char *cursor_string(struct cursor *c, size_t *ret_n);
uint32_t cursor_count(struct cursor *c, size_t elem_min); /* a number of elements of at least elem_min bytes each */
bool cursor_done(const struct cursor *c);                 /* everything read, nothing missing, nothing left over */

#endif
