#include "common/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

enum { ALIGN = 16, CHUNK_MIN = 4096 - 64, CHUNK_MAX = 256 * 1024 };

/* A list, newest first; memory is taken from the newest chunk only. */
struct arena_chunk {
    struct arena_chunk *next;
    size_t used, cap;
    _Alignas(ALIGN) char data[];
};

/* Chunks double in size, so that a big message costs few of them and a small one little memory. */
static void arena_grow(struct arena *a, size_t n)
{
    size_t cap = !a->head ? CHUNK_MIN : a->head->cap * 2;
    if (cap > CHUNK_MAX)
        cap = CHUNK_MAX;
    if (cap < n)
        cap = n;
    struct arena_chunk *chunk = must_malloc(sizeof(*chunk) + cap);
    *chunk = (struct arena_chunk){.next = a->head, .cap = cap};
    a->head = chunk;
}

static void *arena_take(struct arena *a, size_t n)
{
    if (n > SIZE_MAX / 4)
        abort();
    n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!a->head || a->head->cap - a->head->used < n)
        arena_grow(a, n);
    void *p = a->head->data + a->head->used;
    a->head->used += n;
    a->total += n;
    return p;
}

void *arena_alloc(struct arena *a, size_t n)
{
    return memset(arena_take(a, n), 0, n);
}

void *arena_dup(struct arena *a, const void *data, size_t n)
{
    void *p = arena_take(a, n);
    if (n > 0)
        memcpy(p, data, n);
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return !s ? NULL : arena_dup(a, s, strlen(s) + 1);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_take(a, n + 1);
    if (n > 0)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort(); /* only an invalid format gets here */
    char *s = arena_take(a, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(s, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return s;
}

void arena_release(struct arena *a)
{
    struct arena_chunk *next;
    for (struct arena_chunk *chunk = a->head; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *a = (struct arena)ARENA_INIT;
}
