#include "common/base/must.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Programs that link memory.c have ended before p is NULL here, with a message. This covers programs without memory.c
 * (tests), and sizes that no memory can have. */
void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

void *must_malloc(size_t n)
{
    return must(malloc(n));
}

void *must_calloc(size_t n, size_t size)
{
    return must(calloc(n, size));
}

void *must_realloc(void *p, size_t n)
{
    void *moved = realloc(p, n);
    return n == 0 ? moved : must(moved);
}

void *must_reallocarray(void *p, size_t n, size_t size)
{
    void *moved = reallocarray(p, n, size);
    return n == 0 || size == 0 ? moved : must(moved);
}

char *must_strdup(const char *s)
{
    return must(strdup(s));
}

char *must_strndup(const char *s, size_t n)
{
    return must(strndup(s, n));
}

char *must_asprintf(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    return must(text);
}
