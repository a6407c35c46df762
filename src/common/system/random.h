/* Random bytes from the system, for keys, tokens and ids. The domain draws its numbers from common/base/rng.h. */
#ifndef DET_COMMON_SYSTEM_RANDOM_H
#define DET_COMMON_SYSTEM_RANDOM_H

#include <stddef.h>

#include "common/base/error.h"
#include "common/base/hex.h"

enum { RANDOM_MAX = 256 }; /* bytes; so many the system gives at once, whatever happens meanwhile */

int random_bytes(void *ret, size_t n, struct error *err);
/* A UUID of version 4. */
int random_uuid(char ret[UUID_TEXT_MAX], struct error *err);

#endif
