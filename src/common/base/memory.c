/* Out of memory: the program says so and ends, in this one place, whoever asked.
 *
 * malloc, calloc and realloc of our programs never return NULL, to our code or to a library: json-c, libyaml, SQLite or
 * OpenSSL that carry on after half an answer are a worse risk than a start that recovers what was durable
 * (docs/decisions/0007-out-of-memory.md). These definitions take the C library's place in a program that links this
 * file; memory itself still comes from there, and goes back there. What belongs to one request is bounded long before. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sanitizers have allocators of their own under these names; of a program that is linked statically, the linker wraps
 * every call (--wrap, src/task/meson.build), since it can't replace a function that is in the same archive as free(). */
#if defined(MEMORY_SANITIZED)
#define HERE(function) function
#define REAL(function) __interceptor_##function
#elif defined(MEMORY_WRAPPED)
#define HERE(function) __wrap_##function
#define REAL(function) __real_##function
#else
#define HERE(function) function
#define REAL(function) __libc_##function
#endif

void *REAL(malloc)(size_t n);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *p, size_t n);
void *HERE(malloc)(size_t n);
void *HERE(calloc)(size_t n, size_t size);
void *HERE(realloc)(void *p, size_t n);

/* Allocates nothing, and touches no stream, whose lock the caller may hold. */
static _Noreturn void out_of_memory(size_t n)
{
    char text[256], *end = text + sizeof text, *p = end;
    static const char what[] = ": out of memory: ", unit[] = " bytes more can't be had\n";
    size_t name_n = strnlen(program_invocation_short_name, 64);
    p = memcpy(p - (sizeof unit - 1), unit, sizeof unit - 1);
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    p = memcpy(p - (sizeof what - 1), what, sizeof what - 1);
    p = memcpy(p - name_n, program_invocation_short_name, name_n);
    ssize_t ignored = write(STDERR_FILENO, p, (size_t)(end - p));
    (void)ignored;
    abort();
}

void *HERE(malloc)(size_t n)
{
    void *p = REAL(malloc)(n);
    if (p == NULL)
        out_of_memory(n);
    return p;
}

void *HERE(calloc)(size_t n, size_t size)
{
    void *p = REAL(calloc)(n, size);
    if (p == NULL) {
        size_t total;
        out_of_memory(__builtin_mul_overflow(n, size, &total) ? SIZE_MAX : total);
    }
    return p;
}

/* Of a size of 0 NULL is no failure: the memory is freed. */
void *HERE(realloc)(void *old, size_t n)
{
    void *p = REAL(realloc)(old, n);
    if (p == NULL && n > 0)
        out_of_memory(n);
    return p;
}
