/* Implements cli/terminal/table.h: table.c prints grids, table_fit.c makes grids that fit a terminal. */
#ifndef DET_CLI_TERMINAL_TABLE_INTERNAL_H
#define DET_CLI_TERMINAL_TABLE_INTERNAL_H

#include "cli/terminal/table.h"

/* A table as it is printed: the text of each cell. */
struct grid {
    struct arena arena;
    bool framed;
    size_t column_n, row_n;
    const char **title, **cell;
    bool *right;   /* by column: whether its cells are aligned to the right */
    size_t *width; /* by column: width without the blank on each side */
};

void grid_init(struct grid *g, size_t column_n, size_t row_n);
void grid_column(struct grid *g, size_t column); /* aligns the column's cells and sets the width that they need */
void grid_print(const struct grid *g, FILE *to);

size_t text_width(const char *s, size_t n); /* number of columns that the text takes on a terminal */
size_t text_widest_line(const char *s);
/* How many bytes of s[0 … n) fit into so many columns: the text is cut between two characters. */
size_t text_fitting(const char *s, size_t n, size_t width);
/* The number of bytes of the character that s[0 … n) begins with, of which there is at least one. */
size_t text_character(const char *s, size_t n);

#endif
