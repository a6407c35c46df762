/* Allocation that cannot fail. These functions never return NULL, because a program whose memory runs out ends
 * (docs/decisions/0007); so nobody checks their results. All of our code allocates through them;
 * tools/check-allocations finds what does not. The result of a library function that is NULL only for lack of memory is
 * passed through must(). */
#ifndef DET_COMMON_BASE_MUST_H
#define DET_COMMON_BASE_MUST_H

#include <stddef.h>

void *must(void *p) __attribute__((returns_nonnull)); /* returns p; ends the program if p is NULL */

void *must_malloc(size_t n) __attribute__((malloc, alloc_size(1), returns_nonnull, warn_unused_result));
void *must_calloc(size_t n, size_t size) __attribute__((malloc, alloc_size(1, 2), returns_nonnull, warn_unused_result));
/* With a size of 0 the memory may be freed, as by realloc(). */
void *must_realloc(void *p, size_t n) __attribute__((alloc_size(2), warn_unused_result));
void *must_reallocarray(void *p, size_t n, size_t size) __attribute__((alloc_size(2, 3), warn_unused_result));
char *must_strdup(const char *s) __attribute__((malloc, returns_nonnull, warn_unused_result));
char *must_strndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull, warn_unused_result));
char *must_asprintf(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), malloc, returns_nonnull, warn_unused_result));

#endif
