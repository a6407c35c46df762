/* Makes tables fit a terminal: no empty columns, no line wider than the terminal.
 *
 * Room is made in steps, and only as much as needed. First titles are broken into several lines. Then the widest
 * columns of text are shortened, then ids. Then up to two columns on the right are left out (a line below the table
 * names them). Only then columns of text become so short that they say little. */
#include "cli/terminal/table_internal.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/terminal/formats.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "common/base/strbuf.h"

enum { BETWEEN = 3, EDGES = 2 }; /* widths of " | ", and of the blanks at both ends */
/* TEXT_…: how short a column of text may become; FEW: how many columns may be left out before that */
enum { TEXT_GOOD = 14, TEXT_MIN = 8, TEXT_STEP = 2, FEW = 2 };

static const char *shown_cell(const struct table *t, size_t i)
{
    return t->brief[i] ? t->brief[i] : t->cell[i];
}

static bool column_is_empty(const struct table *t, size_t column)
{
    size_t row_n = t->cell_n / t->column_n;
    for (size_t r = 0; r < row_n; r++) {
        const char *s = shown_cell(t, r * t->column_n + column);
        if (s && *s)
            return false;
    }
    return row_n > 0;
}

/* Makes the grid of the columns that are not empty, with the widths that they have without a limit. */
static void grid_from(struct grid *g, const struct table *t)
{
    size_t row_n = t->cell_n / t->column_n, n = 0;
    struct arena scratch = ARENA_INIT;
    size_t *from = arena_array(&scratch, size_t, t->column_n + 1);
    for (size_t c = 0; c < t->column_n; c++)
        if (!column_is_empty(t, c))
            from[n++] = c;
    grid_init(g, n, row_n);
    for (size_t c = 0; c < n; c++) {
        g->title[c] = t->title[from[c]];
        for (size_t r = 0; r < row_n; r++)
            g->cell[r * n + c] = shown_cell(t, r * t->column_n + from[c]);
    }
    for (size_t c = 0; c < n; c++)
        grid_column(g, c);
    arena_release(&scratch);
}

static size_t longest_word(const char *s)
{
    size_t longest = 0;
    while (*s) {
        size_t n = strcspn(s, " "), w = text_width(s, n);
        longest = w > longest ? w : longest;
        s += n + (s[n] == ' ');
    }
    return longest;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t total_width(const struct grid *g, size_t n)
{
    size_t total = EDGES + (n ? BETWEEN * (n - 1) : 0);
    for (size_t c = 0; c < n; c++)
        total += g->width[c];
    return total;
}

static bool is_id(const char *title)
{
    size_t n = strlen(title);
    return n >= 2 && (strcmp(title + n - 2, "ID") == 0 || strcmp(title + n - 2, "Id") == 0);
}

/* Takes `too_much` columns away from the widest columns of text (or of ids), evenly. No column becomes narrower than
 * `least`. */
static size_t shrink_columns(struct grid *g, size_t too_much, bool ids, size_t least)
{
    while (too_much > 0) {
        size_t widest = g->column_n;
        for (size_t c = 0; c < g->column_n; c++) {
            if (g->right[c] || is_id(g->title[c]) != ids || g->width[c] <= max_size(least, longest_word(g->title[c])))
                continue;
            if (widest == g->column_n || g->width[c] > g->width[widest])
                widest = c;
        }
        if (widest == g->column_n)
            break;
        g->width[widest]--;
        too_much--;
    }
    return too_much;
}

static const char *shortened_cell(struct arena *a, const char *s, size_t width)
{
    const char *dots = terminal_is_utf8() ? "\u2026" : "..";
    size_t room = width - text_width(dots, strlen(dots));
    struct strbuf b = STRBUF_INIT;
    for (;;) {
        size_t n = strcspn(s, "\n");
        if (text_width(s, n) > width) {
            strbuf_add(&b, s, text_fitting(s, n, room));
            strbuf_adds(&b, dots);
        } else {
            strbuf_add(&b, s, n);
        }
        if (!s[n])
            break;
        strbuf_addc(&b, '\n');
        s += n + 1;
    }
    const char *ret = arena_strdup(a, strbuf_str(&b));
    strbuf_release(&b);
    return ret;
}

/* Breaks a title such as "Resource Pool" into two lines if it is wider than its column. */
static const char *broken_title(struct arena *a, const char *title, size_t width)
{
    char *out = arena_strdup(a, title), *line = out;
    for (char *space = strchr(out, ' '); space; space = strchr(space + 1, ' ')) {
        size_t word_n = strcspn(space + 1, " ");
        if (text_width(line, (size_t)(space - line) + 1 + word_n) > width) {
            *space = '\n';
            line = space + 1;
        }
    }
    return out;
}

/* Sets the widths of the first `n` columns. Titles are broken into several lines if there is no room. True: the
 * columns fit. */
static bool set_widths(struct grid *g, const size_t *cells, size_t n, size_t width, size_t least)
{
    size_t all = g->column_n, total;
    g->column_n = n;
    for (size_t c = 0; c < n; c++)
        g->width[c] = max_size(cells[c], text_width(g->title[c], strlen(g->title[c])));
    for (size_t c = 0; c < n && total_width(g, n) > width; c++)
        g->width[c] = max_size(cells[c], longest_word(g->title[c]));
    total = total_width(g, n);
    if (total > width)
        total = width + shrink_columns(g, total - width, /* ids= */ false, least);
    if (total > width)
        total = width + shrink_columns(g, total - width, /* ids= */ true, TEXT_MIN);
    g->column_n = all;
    return total <= width;
}

/* Returns how many columns there is room for, and sets their widths. */
static size_t fit_columns(struct grid *g, size_t width)
{
    size_t *cells = arena_array(&g->arena, size_t, g->column_n + 1), few = g->column_n > FEW ? g->column_n - FEW : 1;
    memcpy(cells, g->width, g->column_n * sizeof(*cells));
    for (size_t least = TEXT_GOOD; least > TEXT_MIN; least -= TEXT_STEP)
        for (size_t n = g->column_n; n >= few; n--)
            if (set_widths(g, cells, n, width, least))
                return n;
    for (size_t n = g->column_n; n > 1; n--)
        if (set_widths(g, cells, n, width, TEXT_MIN))
            return n;
    return 1;
}

/* Keeps the first `n` columns. Returns the names of the others; NULL: there are none. */
static const char *leave_out(struct grid *g, size_t n)
{
    struct strbuf names = STRBUF_INIT;
    if (n == g->column_n)
        return NULL;
    for (size_t c = n; c < g->column_n; c++)
        strbuf_addf(&names, "%s%s", c > n ? ", " : "", g->title[c]);
    for (size_t r = 0; r < g->row_n; r++)
        for (size_t c = 0; c < n; c++)
            g->cell[r * n + c] = g->cell[r * g->column_n + c];
    g->column_n = n;
    const char *ret = arena_strdup(&g->arena, strbuf_str(&names));
    strbuf_release(&names);
    return ret;
}

static void cut_cells(struct grid *g)
{
    for (size_t c = 0; c < g->column_n; c++) {
        const char *title = g->title[c];
        g->title[c] = broken_title(&g->arena, title, g->width[c]);
        for (size_t r = 0; r < g->row_n; r++) {
            const char **cell = &g->cell[r * g->column_n + c];
            if (text_widest_line(*cell) > g->width[c])
                /* an id may be cut off, since commands accept the beginning of an id */
                *cell = is_id(title) ? arena_strndup(&g->arena, *cell, g->width[c])
                                     : shortened_cell(&g->arena, *cell, g->width[c]);
        }
    }
}

void table_show(struct cli *cli, const struct table *t, bool csv)
{
    struct grid g = {0};
    if (cli->format == CLI_FORMAT_JSON || cli->format == CLI_FORMAT_YAML) {
        cleanup_json struct json_object *document = document_of_table(t);
        output_json(cli, document);
        return;
    }
    csv = csv || cli->format == CLI_FORMAT_CSV;
    if (!cli->out_width || csv) {
        table_print(t, csv, cli->out);
        return;
    }
    if (t->cell_n == 0) {
        fputs("Nothing to list.\n", cli->out);
        return;
    }
    grid_from(&g, t);
    const char *missing = leave_out(&g, fit_columns(&g, cli->out_width));
    cut_cells(&g);
    grid_print(&g, cli->out);
    if (missing)
        terminal_wrap(cli->out, arena_printf(&g.arena, "(Left out: %s. A wider terminal or --csv shows all.)", missing),
                      0, cli->out_width);
    arena_release(&g.arena);
}

/* A time is shown both as the time that has passed and as the date. */
static const char *record_value(struct arena *a, const struct table *t, size_t i)
{
    const char *text = t->cell[i], *brief = t->brief[i];
    bool time = text && brief && strlen(text) > 19 && text[4] == '-' && text[13] == ':';
    return time ? arena_printf(a, "%s (%s)", brief, text) : brief ? brief : text;
}

void table_show_record(struct cli *cli, const struct table *t, bool csv)
{
    struct arena a = ARENA_INIT;
    size_t label = 0;
    if (!cli->out_width || csv || cli->format || t->cell_n != t->column_n) {
        table_show(cli, t, csv);
        return;
    }
    for (size_t c = 0; c < t->column_n; c++)
        if (!column_is_empty(t, c))
            label = max_size(label, text_width(t->title[c], strlen(t->title[c])));
    for (size_t c = 0; c < t->column_n; c++) {
        if (column_is_empty(t, c))
            continue;
        fprintf(cli->out, "%s:%*s", t->title[c], (int)(label + 2 - text_width(t->title[c], strlen(t->title[c]))), "");
        terminal_wrap(cli->out, record_value(&a, t, c), label + 3, cli->out_width);
    }
    arena_release(&a);
}
