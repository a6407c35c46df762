#include "cli/terminal/table_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/base/utf8.h"

void table_column(struct table *t, const char *title)
{
    const char **longer = arena_array(&t->arena, const char *, t->column_n + 1);
    if (t->column_n)
        memcpy(longer, t->title, t->column_n * sizeof(*longer));
    longer[t->column_n++] = arena_strdup(&t->arena, title);
    t->title = longer;
}

void table_columns(struct table *t, const char *const *title)
{
    for (; *title; title++)
        table_column(t, *title);
}

static const char **longer_cells(struct table *t, const char **cell, size_t cap)
{
    const char **longer = arena_array(&t->arena, const char *, cap);
    if (t->cell_n)
        memcpy(longer, cell, t->cell_n * sizeof(*longer));
    return longer;
}

void table_brief(struct table *t, const char *text, const char *brief)
{
    if (t->cell_n == t->cell_cap) {
        size_t cap = t->cell_cap ? t->cell_cap * 2 : 64;
        t->cell = longer_cells(t, t->cell, cap);
        t->brief = longer_cells(t, t->brief, cap);
        t->cell_cap = cap;
    }
    t->brief[t->cell_n] = arena_strdup(&t->arena, brief);
    t->cell[t->cell_n++] = arena_strdup(&t->arena, text);
}

void table_text(struct table *t, const char *text)
{
    table_brief(t, text, NULL);
}

void table_int(struct table *t, int64_t v)
{
    table_text(t, arena_printf(&t->arena, "%" PRId64, v));
}

void table_bool(struct table *t, bool v)
{
    table_text(t, v ? "True" : "False");
}

static const char *format_time_in(struct arena *a, bool has, int64_t us, const char *zone)
{
    char text[CLOCK_TEXT_MAX];
    if (!has)
        return NULL;
    clock_format(us, text); /* 2026-11-21T07:12:01.123456Z */
    text[10] = ' ';
    return arena_printf(a, "%.19s%s", text, zone);
}

const char *format_time(struct arena *a, bool has, int64_t us)
{
    return format_time_in(a, has, us, "+0000");
}

const char *format_ago(struct arena *a, int64_t us, int64_t now_us)
{
    static const struct {
        int64_t s;
        const char *unit;
    } step[] = {{60, "s"}, {3600, "m"}, {48 * 3600, "h"}, {60 * 86400, "d"}};
    int64_t s = (now_us - us) / 1000000, away = s < 0 ? -s : s;
    if (away < 2)
        return "now";
    for (size_t i = 0, n = sizeof(step) / sizeof(step[0]); i < n; i++) {
        int64_t count = i == 0 ? away : i == 1 ? away / 60 : i == 2 ? away / 3600 : away / 86400;
        if (away < step[i].s)
            return arena_printf(a, s < 0 ? "in %" PRId64 "%s" : "%" PRId64 "%s ago", count, step[i].unit);
    }
    return arena_strndup(a, format_time(a, true, us), strlen("2026-11-21"));
}

static void time_cell(struct table *t, bool has, int64_t us, const char *zone)
{
    table_brief(t, format_time_in(&t->arena, has, us, zone), has ? format_ago(&t->arena, us, clock_now_us()) : NULL);
}

void table_time(struct table *t, bool has, int64_t us)
{
    time_cell(t, has, us, "+0000");
}

void table_time_iso(struct table *t, bool has, int64_t us)
{
    time_cell(t, has, us, "+00:00");
}

void table_percent(struct table *t, bool has, double fraction)
{
    table_text(t, has ? arena_printf(&t->arena, "%.1f%%", fraction * 100) : NULL);
}

void table_release(struct table *t)
{
    arena_release(&t->arena);
    *t = (struct table)TABLE_INIT;
}

static bool is_printable_ascii(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' || (unsigned char)s[i] > '~')
            return false;
    return true;
}

/* The number of columns that the text takes on a terminal. */
size_t text_width(const char *s, size_t n)
{
    static bool utf8;
    if (is_printable_ascii(s, n)) /* nearly all text is ASCII; for that det need not load a locale */
        return n;
    if (!utf8)
        utf8 = setlocale(LC_CTYPE, "C.UTF-8") != NULL;
    mbstate_t state = {0};
    size_t width = 0;
    for (size_t i = 0; i < n;) {
        wchar_t c;
        size_t taken = mbrtowc(&c, s + i, n - i, &state);
        if (taken == (size_t)-1 || taken == (size_t)-2 || taken == 0) {
            state = (mbstate_t){0};
            taken = 1;
            width++;
        } else {
            int w = wcwidth(c);
            width += w > 0 ? (size_t)w : 0;
        }
        i += taken;
    }
    return width;
}

size_t text_fitting(const char *s, size_t n, size_t width)
{
    while (n > 0 && (text_width(s, n) > width || utf8_is_tail(s[n])))
        n--;
    return n;
}

size_t text_character(const char *s, size_t n)
{
    size_t i = 1;
    while (i < n && utf8_is_tail(s[i]))
        i++;
    return i;
}

/* What Python would take a cell for. A column has the most general kind among its cells. */
enum kind { KIND_NONE, KIND_INT, KIND_FLOAT, KIND_TEXT };

static bool is_int_text(const char *s)
{
    s += strspn(s, " \t\n");
    s += *s == '+' || *s == '-';
    if (!isdigit((unsigned char)*s))
        return false;
    while (isdigit((unsigned char)*s) || (*s == '_' && isdigit((unsigned char)s[1])))
        s++;
    s += strspn(s, " \t\n");
    return *s == '\0';
}

/* 1,234,567 counts as a whole number, 1,234.5 as a fraction. */
static bool has_thousands(const char *s, bool *ret_fraction)
{
    s += *s == '+' || *s == '-';
    size_t head = strspn(s, "0123456789");
    if (head < 1 || head > 3 || s[head] != ',')
        return false;
    for (s += head; *s == ','; s += 4)
        if (strspn(s + 1, "0123456789") != 3)
            return false;
    *ret_fraction = *s == '.';
    s += *ret_fraction ? 1 + strspn(s + 1, "0123456789") : 0;
    return *s == '\0';
}

static bool is_float_text(const char *s, double *ret)
{
    char *end;
    if (strpbrk(s, "xXpP(")) /* strtod accepts forms that Python's float() does not */
        return false;
    double v = strtod(s, &end);
    if (end == s)
        return false;
    end += strspn(end, " \t\n");
    if (*end || (isinf(v) && strpbrk(s, "0123456789")))
        return false;
    *ret = v;
    return true;
}

static enum kind cell_kind(const char *s)
{
    bool fraction = false;
    double v;
    if (!s || !*s)
        return KIND_NONE;
    if (is_int_text(s))
        return KIND_INT;
    if (has_thousands(s, &fraction))
        return fraction ? KIND_FLOAT : KIND_INT;
    return is_float_text(s, &v) ? KIND_FLOAT : KIND_TEXT;
}

static const char *float_text(struct arena *a, const char *s)
{
    char *plain = arena_strdup(a, s), *to = plain;
    double v;
    for (const char *c = s; *c; c++)
        if (*c != ',')
            *to++ = *c;
    *to = '\0';
    if (!is_float_text(plain, &v))
        return s;
    return isnan(v) ? "nan" : arena_printf(a, "%g", v);
}

static const char *trimmed_text(struct arena *a, const char *s)
{
    size_t n;
    while (isspace((unsigned char)*s))
        s++;
    for (n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]); n--)
        ;
    return arena_strndup(a, s, n);
}

/* The number of characters after the decimal point, or after the e of an exponent; -1 for whole numbers and for
 * text. */
static int after_point(const char *s)
{
    double v;
    if (is_int_text(s) || !is_float_text(s, &v))
        return -1;
    const char *mark = strrchr(s, '.');
    if (!mark)
        mark = strpbrk(s, "eE");
    return mark ? (int)strlen(mark + 1) : -1;
}

static void align_decimals(struct grid *g, size_t column)
{
    int most = -1;
    for (size_t r = 0; r < g->row_n; r++) {
        int n = after_point(g->cell[r * g->column_n + column]);
        most = n > most ? n : most;
    }
    for (size_t r = 0; r < g->row_n; r++) {
        const char **cell = &g->cell[r * g->column_n + column];
        *cell = arena_printf(&g->arena, "%s%*s", *cell, most - after_point(*cell), "");
    }
}

size_t text_widest_line(const char *s)
{
    size_t widest = 0;
    for (;;) {
        size_t n = strcspn(s, "\n"), w = text_width(s, n);
        widest = w > widest ? w : widest;
        if (!s[n])
            return widest;
        s += n + 1;
    }
}

void grid_column(struct grid *g, size_t column)
{
    enum kind kind = KIND_NONE;
    for (size_t r = 0; r < g->row_n; r++) {
        enum kind k = cell_kind(g->cell[r * g->column_n + column]);
        kind = k > kind ? k : kind;
    }
    g->right[column] = kind == KIND_INT || kind == KIND_FLOAT;
    for (size_t r = 0; r < g->row_n; r++) {
        const char *s = g->cell[r * g->column_n + column];
        s = s ? s : "";
        if (kind == KIND_FLOAT)
            s = float_text(&g->arena, s);
        g->cell[r * g->column_n + column] = g->right[column] ? s : trimmed_text(&g->arena, s);
    }
    if (g->right[column])
        align_decimals(g, column);
    g->width[column] = 0;
    for (size_t r = 0; r < g->row_n; r++) {
        size_t w = text_widest_line(g->cell[r * g->column_n + column]);
        g->width[column] = w > g->width[column] ? w : g->width[column];
    }
}

static void put_cell(struct strbuf *line, const char *s, size_t n, size_t width, bool right)
{
    size_t w = text_width(s, n);
    int pad = width > w ? (int)(width - w) : 0;
    if (right)
        strbuf_addf(line, " %*s", pad, "");
    else
        strbuf_addc(line, ' ');
    strbuf_add(line, s, n);
    if (right)
        strbuf_addc(line, ' ');
    else
        strbuf_addf(line, "%*s ", pad, "");
}

static void end_line(const struct grid *g, struct strbuf *line, FILE *to)
{
    if (g->framed)
        strbuf_addc(line, '|');
    while (line->n && line->s[line->n - 1] == ' ')
        strbuf_truncate(line, line->n - 1);
    fwrite(strbuf_str(line), 1, line->n, to);
    fputc('\n', to);
    strbuf_reset(line);
}

/* Prints a row. It takes as many lines as its cell with the most lines. */
static void print_row(const struct grid *g, const char *const *cell, FILE *to)
{
    size_t column_n = g->column_n;
    struct strbuf line = STRBUF_INIT;
    const char **rest = must_malloc(column_n * sizeof(*rest));
    memcpy(rest, cell, column_n * sizeof(*rest));
    for (bool more = true; more;) {
        more = false;
        for (size_t c = 0; c < column_n; c++) {
            size_t n = rest[c] ? strcspn(rest[c], "\n") : 0;
            if (c || g->framed)
                strbuf_addc(&line, '|');
            put_cell(&line, rest[c] ? rest[c] : "", n, g->width[c], g->right[c]);
            rest[c] = rest[c] && rest[c][n] ? rest[c] + n + 1 : NULL;
            more = more || rest[c];
        }
        end_line(g, &line, to);
    }
    free(rest);
    strbuf_release(&line);
}

static void print_rule(const struct grid *g, char c, FILE *to)
{
    for (size_t column = 0; column < g->column_n; column++) {
        if (column || g->framed)
            fputc('+', to);
        for (size_t i = 0; i < g->width[column] + 2; i++)
            fputc(c, to);
    }
    fputs(g->framed ? "+\n" : "\n", to);
}

void grid_init(struct grid *g, size_t column_n, size_t row_n)
{
    *g = (struct grid){.column_n = column_n, .row_n = row_n};
    g->title = arena_array(&g->arena, const char *, column_n + 1);
    g->cell = arena_array(&g->arena, const char *, column_n *row_n + 1);
    g->right = arena_array(&g->arena, bool, column_n + 1);
    g->width = arena_array(&g->arena, size_t, column_n + 1);
}

void grid_print(const struct grid *g, FILE *to)
{
    if (g->framed)
        print_rule(g, '-', to);
    print_row(g, g->title, to);
    print_rule(g, g->framed ? '=' : '-', to);
    for (size_t r = 0; r < g->row_n; r++) {
        print_row(g, &g->cell[r * g->column_n], to);
        if (g->framed)
            print_rule(g, '-', to);
    }
}

static void print_grid(const struct table *t, bool framed, FILE *to)
{
    struct grid g;
    size_t row_n = t->cell_n / t->column_n;
    grid_init(&g, t->column_n, row_n);
    g.framed = framed;
    memcpy(g.title, t->title, t->column_n * sizeof(*g.title));
    if (row_n)
        memcpy(g.cell, t->cell, row_n * t->column_n * sizeof(*g.cell));
    for (size_t c = 0; c < t->column_n; c++) {
        size_t title = text_width(t->title[c], strlen(t->title[c])) + 2;
        grid_column(&g, c);
        g.width[c] = g.width[c] > title ? g.width[c] : title;
    }
    grid_print(&g, to);
    arena_release(&g.arena);
}

void table_print_grid(const struct table *t, FILE *to)
{
    print_grid(t, /* framed= */ true, to);
}

static void print_csv_field(const char *s, FILE *to)
{
    if (!s)
        return;
    if (!strpbrk(s, ",\"\r\n")) {
        fputs(s, to);
        return;
    }
    fputc('"', to);
    for (; *s; s++) {
        if (*s == '"')
            fputc('"', to);
        fputc(*s, to);
    }
    fputc('"', to);
}

static void print_csv_row(const char *const *cell, size_t n, FILE *to)
{
    for (size_t c = 0; c < n; c++) {
        if (c)
            fputc(',', to);
        print_csv_field(cell[c], to);
    }
    fputs("\r\n", to);
}

void table_print_csv(const struct table *t, bool titles, FILE *to)
{
    if (titles)
        print_csv_row(t->title, t->column_n, to);
    for (size_t i = 0; i + t->column_n <= t->cell_n; i += t->column_n)
        print_csv_row(&t->cell[i], t->column_n, to);
}

void table_print(const struct table *t, bool csv, FILE *to)
{
    if (csv)
        table_print_csv(t, /* titles= */ true, to);
    else
        print_grid(t, /* framed= */ false, to);
}
