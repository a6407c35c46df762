/* Behind cli/terminal/table.h: table.c prints grids, table_fit.c makes grids that fit a terminal. */
#ifndef DET_CLI_TABLE_INTERNAL_H
#define DET_CLI_TABLE_INTERNAL_H

#include "cli/terminal/table.h"

/* The table cut into lines: the text of each cell as it is printed. */
struct grid {
    struct arena arena;
    bool framed;
    size_t column_n, row_n;
    const char **title, **cell;
    bool *right;   /* by column: its cells stand to the right */
    size_t *width; /* by column, without the blank on each side */
};

void grid_init(struct grid *g, size_t column_n, size_t row_n);
void grid_column(struct grid *g, size_t column); /* aligns the column's cells and finds the width that they need */
void grid_print(const struct grid *g, FILE *to);

size_t text_width(const char *s, size_t n); /* columns that the text takes on a terminal */
size_t text_widest_line(const char *s);

#endif
