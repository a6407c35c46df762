/* Within the store: a set of texts. Each text is kept once and has a number, from 1 on; 0 means no text. A condition
 * on a text is then evaluated once for all rows that have this text, and texts are ordered by comparing small
 * numbers. */
#ifndef DET_STORE_LOOKUP_TEXTS_H
#define DET_STORE_LOOKUP_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct texts {
    char *bytes; /* the texts one after the other, each with its NUL */
    size_t bytes_n, bytes_cap;
    size_t *start; /* where text i begins in `bytes` */
    uint32_t n, cap;
    uint32_t *table; /* a hash table of the texts' numbers; 0: the entry is free */
    size_t table_n;
    /* for the first `ranked` texts: their numbers in the order of their bytes, and the rank of each text in that
     * order */
    uint32_t *order, *rank;
    uint32_t ranked, order_cap;
};

uint32_t texts_add(struct texts *t, const char *text, size_t n); /* returns the text's number; a new text is added */
uint32_t texts_find(const struct texts *t, const char *text);    /* 0: the set does not have the text */
const char *texts_get(const struct texts *t, uint32_t number, size_t *ret_n);
/* Returns the ranks by the texts' numbers: texts compare as their ranks do. The ranks are valid until the next text
 * is added; new texts are then sorted in. */
const uint32_t *texts_ranks(struct texts *t);
size_t texts_bytes(const struct texts *t); /* the memory that the set takes */
void texts_release(struct texts *t);

#endif
