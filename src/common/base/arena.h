/* Memory of one request (or one decoded message): allocated piece by piece, released at once.
 *
 * Everything a decoder or a handler makes for a reply lives here. Never store an arena pointer in an object that
 * outlives the request. An arena belongs to one thread at a time. Zeroed memory, aligned to 16 bytes; aborts when out
 * of memory. */
#ifndef DET_COMMON_BASE_ARENA_H
#define DET_COMMON_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *head;
    size_t total;       /* bytes that were allocated, for limits and tests */
    size_t decoded_max; /* limit of `total` for decoders (common/codec/codec.h); 0: they have only their own budget */
};

#define ARENA_INIT {0}

void *arena_alloc(struct arena *a, size_t n);
void *arena_dup(struct arena *a, const void *data, size_t n);
char *arena_strdup(struct arena *a, const char *s); /* s may be NULL: the result is NULL then */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_release(struct arena *a); /* the arena is usable again afterwards */

#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (n)))
#define cleanup_arena __attribute__((cleanup(arena_release)))

#endif
