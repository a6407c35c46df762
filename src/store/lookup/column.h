/* Within the store: one column of a table in memory. Each row has a number, a text, or nothing in it. */
#ifndef DET_STORE_LOOKUP_COLUMN_H
#define DET_STORE_LOOKUP_COLUMN_H

#include <stdbool.h>

#include "store/lookup/texts.h"

struct column {
    size_t first, n, cap; /* rows first … first + n − 1 have a place in the arrays; all other rows have no value */
    double *number;       /* NAN: the row has no number; NULL: no row has one */
    uint32_t *text;       /* numbers of texts, 0: the row has no text; NULL: no row has one */
    struct texts texts;
    bool worded;  /* some row may have had a text that is no number */
    bool spelled; /* numbers are there as texts, too (column_spell()) */
};

void column_set_number(struct column *c, size_t row, double v);
void column_set_text(struct column *c, size_t row, const char *text, size_t n);
void column_clear(struct column *c, size_t row);
/* Adds the text of each number, as JSON writes it, for comparisons of numbers as texts. */
void column_spell(struct column *c);
/* column_numbers() and column_texts() copy the values of rows 0 … n − 1. Rows beyond the column's end have no value. */
void column_numbers(const struct column *c, size_t n, double *ret);
void column_texts(const struct column *c, size_t n, uint32_t *ret);
size_t column_bytes(const struct column *c);
void column_release(struct column *c);

#endif
