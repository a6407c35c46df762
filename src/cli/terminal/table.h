/* Prints tables in the form that `det` has always had: the "presto" format of Python's tabulate, or CSV with CRLF.
 *
 * table_show() prints a table that fits the width of the terminal (table_fit.c), or the whole table if the output is
 * not a terminal (table_print). Scripts cut these tables into columns, so the form is kept exactly: a column whose
 * cells are all numbers is aligned to the right (to the decimal point if there are fractions, which are printed with
 * six digits), every other column to the left. Cells may have several lines. A column is as wide as its widest cell,
 * or as its title plus two. A NULL cell is empty. */
#ifndef DET_CLI_TERMINAL_TABLE_H
#define DET_CLI_TERMINAL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/arena.h"

struct table {
    struct arena arena;
    const char **title;
    size_t column_n;
    const char **cell;  /* row by row */
    const char **brief; /* what a terminal shows instead of the cell; NULL: the cell itself */
    size_t cell_n, cell_cap;
};

#define TABLE_INIT {0}

void table_column(struct table *t, const char *title); /* add all columns before the first cell */
void table_columns(struct table *t, const char *const *title /* NULL-terminated */);
void table_text(struct table *t, const char *text);
void table_brief(struct table *t, const char *text,
                 const char *brief); /* a terminal shows `brief` instead of the text */
void table_int(struct table *t, int64_t v);
void table_bool(struct table *t, bool v); /* True, False */
/* A time such as 2026-11-21 07:12:01+0000; on a terminal it is relative: "5m ago". */
void table_time(struct table *t, bool has, int64_t us);
void table_time_iso(struct table *t, bool has, int64_t us); /* 2026-11-21 07:12:01+00:00, the form of a few commands */
void table_percent(struct table *t, bool has, double fraction); /* 12.3% */
/* Prints to cli->out: with `csv` or the command's --csv as CSV, with its --json or --yaml as a list of objects. A
 * record is a table with one row: a terminal shows each of its cells on a line. */
struct cli;
void table_show(struct cli *cli, const struct table *t, bool csv);
void table_show_record(struct cli *cli, const struct table *t, bool csv);
void table_print(const struct table *t, bool csv, FILE *to);
void table_print_csv(const struct table *t, bool titles, FILE *to); /* without titles: only the rows */
void table_print_grid(const struct table *t, FILE *to); /* with a frame around every cell: tabulate's "grid" format */
void table_release(struct table *t);

#define cleanup_table __attribute__((cleanup(table_release)))

const char *format_time(struct arena *a, bool has, int64_t us); /* NULL if `has` is false */
/* "5m ago", "in 2h"; for times more than 60 days away, the date */
const char *format_ago(struct arena *a, int64_t us, int64_t now_us);

#endif
