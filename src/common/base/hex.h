/* Bytes as lower-case hexadecimal digits. */
#ifndef DET_COMMON_BASE_HEX_H
#define DET_COMMON_BASE_HEX_H

#include <stddef.h>

#include "common/base/arena.h"

/* Writes two digits for each byte, and a NUL. */
void hex_encode(const void *data, size_t n, char *ret);
/* The value of a hexadecimal digit of either case; -1: the character is none. */
int hex_digit(char c);
const char *hex_in_arena(const void *data, size_t n, struct arena *a);

enum { UUID_BYTES = 16, UUID_TEXT_MAX = 37 };
/* Writes random bytes as a version 4 UUID (RFC 4122), which has room for 122 random bits. */
void uuid_encode(const unsigned char random[UUID_BYTES], char ret[UUID_TEXT_MAX]);

#endif
