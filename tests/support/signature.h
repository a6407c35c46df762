/* The signature that web hooks of the predecessor carry, which the case files have: HMAC-SHA256 of "<unix
 * seconds>,<body>" in lower-case hexadecimal digits. The platform has no web hooks yet; when it gets them, this moves
 * into src. */
#ifndef DET_TESTS_SUPPORT_SIGNATURE_H
#define DET_TESTS_SUPPORT_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { SIGNATURE_TEXT_MAX = 65 };

/* time_s is in seconds since the epoch; the text written to `ret` ends with a NUL byte. */
int signature_of(const char *key, int64_t time_s, const char *body, size_t body_n, char ret[SIGNATURE_TEXT_MAX],
                 struct error *err);

#endif
