/* The signature of an outgoing delivery (web hooks), by which its receiver knows that it is ours:
 * HMAC-SHA256 of "<unix seconds>,<body>" in lower-case hexadecimal digits. */
#ifndef DET_NET_SIGNATURE_H
#define DET_NET_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { SIGNATURE_TEXT_MAX = 65 };

int signature_of(const char *key, int64_t time_s, const char *body, size_t body_n, char ret[SIGNATURE_TEXT_MAX],
                 struct error *err);

#endif
