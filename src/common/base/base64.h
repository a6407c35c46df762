/* Base64 (RFC 4648). Read in the standard or the URL-safe alphabet, with or without padding. */
#ifndef DET_COMMON_BASE_BASE64_H
#define DET_COMMON_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/strbuf.h"

/* The most bytes to which n encoded characters decode. */
static inline size_t base64_decoded_max(size_t n)
{
    return n / 4 * 3 + 3;
}

/* The standard alphabet with padding. */
void base64_encode(const void *data, size_t n, struct strbuf *out);
/* The URL-safe alphabet without padding. */
void base64_url_encode(const void *data, size_t n, struct strbuf *out);
/* Decodes n characters; `out` has room for base64_decoded_max(n) bytes. Returns -1 if a character (white space
 * included) or the length is invalid. */
int base64_decode(const char *s, size_t n, uint8_t *out, size_t *ret_n);

#endif
