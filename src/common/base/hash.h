/* Hash tables: uthash with the allocator of common/base/must.h, so that HASH_ADD… cannot fail. */
#ifndef DET_COMMON_BASE_HASH_H
#define DET_COMMON_BASE_HASH_H

#include "common/base/must.h"

#define uthash_malloc(n) must_malloc(n)
#include <uthash.h>

#endif
