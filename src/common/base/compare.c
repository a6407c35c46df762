#include "common/base/compare.h"

#include <stdint.h>
#include <string.h>

int compare_int32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int compare_paths(const char *first, const char *second)
{
    const unsigned char *a = (const unsigned char *)first, *b = (const unsigned char *)second;
    while (*a && *a == *b)
        a++, b++;
    int p = *a == '/' ? 1 : *a ? *a + 1 : 0, q = *b == '/' ? 1 : *b ? *b + 1 : 0;
    return p - q;
}

bool text_is_one_of(const char *s, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(s, *words) == 0)
            return true;
    return false;
}
