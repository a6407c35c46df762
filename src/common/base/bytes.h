/* Little-endian binary fields: written to a strbuf, read back by a bounded cursor that never runs past its end.
 *
 * A cursor remembers that something was missing (`bad`), and from then on returns zeros and empty strings. So a
 * decoder reads all its fields in a row and checks once, at the end. A count is read by cursor_count(), which
 * refuses a number of elements that the remaining bytes cannot hold, so no allocation is larger than the input
 * justifies. */
#ifndef DET_COMMON_BASE_BYTES_H
#define DET_COMMON_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/strbuf.h"

void bytes_u8(struct strbuf *b, uint8_t v);
void bytes_u32(struct strbuf *b, uint32_t v);
void bytes_u64(struct strbuf *b, uint64_t v);
void bytes_string(struct strbuf *b, const char *s, size_t n); /* u32 length, bytes, NUL: readable in place */
/* overwrites the number at offset `at`, for a length that was not known before */
void bytes_set_u32(struct strbuf *b, size_t at, uint32_t v);

struct cursor {
    const uint8_t *p;
    size_t n;
    bool bad;
};

static inline struct cursor cursor_of(const void *data, size_t n)
{
    return (struct cursor){.p = data, .n = n};
}

uint8_t cursor_u8(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
/* A string within the input, NUL-terminated there. ret_n may be NULL; a NUL byte within the string then makes the
 * cursor bad. */
const char *cursor_string(struct cursor *c, size_t *ret_n);
/* a number of elements that have at least elem_min bytes each */
uint32_t cursor_count(struct cursor *c, size_t elem_min);
/* everything was read, and nothing was missing or is left over */
bool cursor_done(const struct cursor *c);

#endif
