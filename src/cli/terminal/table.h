/* Tables as `det` has always printed them: the "presto" format of Python's tabulate, or CSV with CRLF.
 *
 * table_show() prints for whoever looks: a terminal gets a table that fits its width (table_fit.c), anything else gets
 * the whole table (table_print). Scripts cut these tables into columns, so the form is kept to the blank: a column whose cells are all numbers stands
 * to the right (on the decimal point if there are fractions, which print with six digits), all others to the left;
 * cells may have several lines; a column is as wide as its widest cell or its title plus two. A NULL cell is empty. */
#ifndef DET_CLI_TABLE_H
#define DET_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/arena.h"

struct table {
    struct arena arena;
    const char **title;
    size_t column_n;
    const char **cell;  /* row after row */
    const char **brief; /* what a terminal shows instead; NULL: the cell itself */
    size_t cell_n, cell_cap;
};

#define TABLE_INIT {0}

void table_column(struct table *t, const char *title); /* all columns before the first cell */
void table_columns(struct table *t, const char *const *title /* NULL-terminated */);
void table_text(struct table *t, const char *text);
void table_brief(struct table *t, const char *text, const char *brief); /* on a terminal, `brief` stands for it */
void table_int(struct table *t, int64_t v);
void table_bool(struct table *t, bool v); /* True, False */
/* Times are written out, such as 2026-11-21 07:12:01+0000; on a terminal they are relative: "5m ago". */
void table_time(struct table *t, bool has, int64_t us);
void table_time_iso(struct table *t, bool has, int64_t us); /* 2026-11-21 07:12:01+00:00, as few commands have it */
void table_percent(struct table *t, bool has, double fraction); /* 12.3% */
/* For whoever looks at cli->out. A record is a table of one row: a terminal gets a line for each of its cells. */
struct cli;
void table_show(struct cli *cli, const struct table *t, bool csv);
void table_show_record(struct cli *cli, const struct table *t, bool csv);
void table_print(const struct table *t, bool csv, FILE *to);
void table_print_grid(const struct table *t, FILE *to); /* with a frame around every cell: the "grid" format */
void table_release(struct table *t);

#define cleanup_table __attribute__((cleanup(table_release)))

const char *format_time(struct arena *a, bool has, int64_t us); /* NULL if it has none */
const char *format_ago(struct arena *a, int64_t us, int64_t now_us);     /* "5m ago", "in 2h", beyond 60 days the date */

#endif
