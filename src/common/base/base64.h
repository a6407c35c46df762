/* Base64 of RFC 4648: written with padding in the standard alphabet; read in that or the URL-safe one, padded or
 * not. */
#ifndef DET_COMMON_BASE64_H
#define DET_COMMON_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/strbuf.h"

/* Room that n encoded characters need at most. */
static inline size_t base64_decoded_max(size_t n) { return n / 4 * 3 + 3; }

void base64_encode(const void *data, size_t n, struct strbuf *out);
/* `out` has base64_decoded_max(n) bytes. -1 if a character or the length is wrong; white space is, too. */
int base64_decode(const char *s, size_t n, uint8_t *out, size_t *ret_n);

#endif
