/* Within the store: a set of texts. Each text is kept once and has a number from 1 on; 0 is no text. So a condition on
 * a text is evaluated once for all rows that have this text, and texts are ordered by comparing small numbers. */
#ifndef DET_STORE_LOOKUP_TEXTS_H
#define DET_STORE_LOOKUP_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct texts {
    char *bytes; /* one after the other, each with its NUL */
    size_t bytes_n, bytes_cap;
    size_t *start; /* of text i within them */
    uint32_t n, cap;
    uint32_t *table; /* by hash: numbers, 0 where it is free */
    size_t table_n;
    uint32_t *order, *rank; /* of the first `ranked`: in the order of their bytes, and where each stands there */
    uint32_t ranked, order_cap;
};

uint32_t texts_add(struct texts *t, const char *text, size_t n); /* its number, old or new */
uint32_t texts_find(const struct texts *t, const char *text);    /* 0: nobody has it */
const char *texts_get(const struct texts *t, uint32_t number, size_t *ret_n);
/* rank[number]: texts compare as their ranks do. Valid until the next text comes; new ones are sorted in. */
const uint32_t *texts_ranks(struct texts *t);
size_t texts_bytes(const struct texts *t); /* of memory */
void texts_release(struct texts *t);

#endif
