/* SHA-256 as a name: the same text has the same digits, and two texts have different ones. For names of files and for
 * what people compare by eye; what is kept secret has other functions. Whoever links this links OpenSSL. */
#ifndef DET_COMMON_SYSTEM_SHA256_DIGITS_H
#define DET_COMMON_SYSTEM_SHA256_DIGITS_H

#include <stddef.h>

/* Writes the first `bytes` of the digest (at most 32), two lower-case hexadecimal digits for each, and a NUL. */
void sha256_digits(const void *data, size_t n, size_t bytes, char *ret);

#endif
