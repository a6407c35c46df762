/* When memory runs out, the program says so and ends, here and nowhere else, whoever asked for the memory.
 *
 * malloc, calloc and realloc of our programs never return NULL, neither to our code nor to a library. A library
 * (json-c, libyaml, SQLite, OpenSSL) that carries on after half an answer is a greater risk than a restart, which
 * recovers everything durable (docs/decisions/0007-out-of-memory.md). These definitions replace those of the C
 * library in a program that links this file; the memory itself still comes from the C library and goes back there.
 * Memory for one request is bounded long before. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sanitizers have allocators of their own under these names. In a program that is linked statically the linker
 * redirects every call (--wrap, src/task/meson.build), because it cannot replace a function that lies in the same
 * archive as free(). */
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

#if defined(MEMORY_SANITIZED)
/* LeakSanitizer takes memory of the dynamic loader for reachable if the loader itself has called malloc. Here this file
 * has called it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:_dl_\n";
}
#endif

void *REAL(malloc)(size_t n);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *p, size_t n);
void *HERE(malloc)(size_t n);
void *HERE(calloc)(size_t n, size_t size);
void *HERE(realloc)(void *p, size_t n);

/* Ends the program. It allocates nothing, and uses no stdio stream, since the caller may hold the lock of one. */
static _Noreturn void out_of_memory(size_t n)
{
    char text[256], *end = text + sizeof(text), *p = end;
    static const char what[] = ": out of memory: ", unit[] = " bytes more can't be had\n";
    size_t name_n = strnlen(program_invocation_short_name, 64);
    p = memcpy(p - (sizeof(unit) - 1), unit, sizeof(unit) - 1);
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    p = memcpy(p - (sizeof(what) - 1), what, sizeof(what) - 1);
    p = memcpy(p - name_n, program_invocation_short_name, name_n);
    ssize_t ignored = write(STDERR_FILENO, p, (size_t)(end - p));
    (void)ignored;
    abort();
}

void *HERE(malloc)(size_t n)
{
    void *p = REAL(malloc)(n);
    if (!p)
        out_of_memory(n);
    return p;
}

void *HERE(calloc)(size_t n, size_t size)
{
    void *p = REAL(calloc)(n, size);
    if (!p) {
        size_t total;
        out_of_memory(__builtin_mul_overflow(n, size, &total) ? SIZE_MAX : total);
    }
    return p;
}

/* For a size of 0, NULL is no failure: the memory was freed. */
void *HERE(realloc)(void *old, size_t n)
{
    void *p = REAL(realloc)(old, n);
    if (!p && n > 0)
        out_of_memory(n);
    return p;
}
