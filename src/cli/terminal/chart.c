#include "cli/terminal/chart.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal/table_internal.h"
#include "common/base/arena.h"

/* Numbers beyond this are not drawn, so that differences of two numbers are finite. */
static const double too_great = 1e300;
/* Fractions of a step, and of a number, that only come from rounding. */
static const double rounding = 1e-9, too_close = 1e-12;

enum { DOTS_WIDE = 2, DOTS_HIGH = 4 }; /* dots of a braille pattern */
enum { COLUMNS_MIN = 10, ROWS_MIN = 3 };

/* ---- what a line consists of ------------------------------------------------------------------------------------- */

struct extent {
    size_t drawn_n; /* points that can be drawn */
    double least_x, greatest_x, lowest, highest;
    double last_x, last_y;
};

static bool is_drawn(const struct chart_point *p)
{
    return isfinite(p->x) && isfinite(p->y) && fabs(p->y) < too_great;
}

static struct extent extent_of(const struct chart_line *l)
{
    struct extent e = {.least_x = INFINITY, .greatest_x = -INFINITY, .lowest = INFINITY, .highest = -INFINITY};
    for (size_t i = 0; i < l->point_n; i++) {
        const struct chart_point *p = &l->point[i];
        if (!is_drawn(p))
            continue;
        e.drawn_n++;
        e.least_x = fmin(e.least_x, p->x);
        e.greatest_x = fmax(e.greatest_x, p->x);
        e.lowest = fmin(e.lowest, p->y);
        e.highest = fmax(e.highest, p->y);
        e.last_x = p->x;
        e.last_y = p->y;
    }
    return e;
}

static struct extent extent_of_all(const struct chart *c)
{
    struct extent all = {.least_x = INFINITY, .greatest_x = -INFINITY, .lowest = INFINITY, .highest = -INFINITY};
    for (size_t i = 0; i < c->line_n; i++) {
        struct extent e = extent_of(&c->line[i]);
        all.drawn_n += e.drawn_n;
        all.least_x = fmin(all.least_x, e.least_x);
        all.greatest_x = fmax(all.greatest_x, e.greatest_x);
        all.lowest = fmin(all.lowest, e.lowest);
        all.highest = fmax(all.highest, e.highest);
    }
    return all;
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

struct axis {
    double low, high; /* numbers at both ends */
    double step;      /* between two numbers that are written beside the axis: 1, 2 or 5 times a power of ten */
};

static double round_step(double range, size_t step_n)
{
    double rough = range / (double)step_n, unit = pow(10, floor(log10(rough))), times = rough / unit;
    return unit * (times <= 1 + rounding ? 1 : times <= 2 + rounding ? 2 : times <= 5 + rounding ? 5 : 10);
}

/* Both ends are multiples of the step. */
static struct axis value_axis(double lowest, double highest, size_t row_n)
{
    enum { ROWS_A_STEP = 3, STEPS_MAX = 8 };
    double magnitude = fmax(fabs(lowest), fabs(highest));
    size_t step_n = row_n / ROWS_A_STEP < 1 ? 1 : row_n / ROWS_A_STEP > STEPS_MAX ? STEPS_MAX : row_n / ROWS_A_STEP;
    if (magnitude < 1 / too_great) { /* all are zero */
        lowest = -1;
        highest = 1;
    } else if (highest - lowest <= magnitude * too_close) { /* all are the same */
        lowest -= magnitude / 10;
        highest += magnitude / 10;
    }
    double step = round_step(highest - lowest, step_n);
    return (struct axis){.step = step,
                         .low = floor(lowest / step + rounding) * step,
                         .high = ceil(highest / step - rounding) * step};
}

static struct axis count_axis(double least, double greatest, size_t column_n)
{
    enum { COLUMNS_A_STEP = 12 };
    double step = round_step(greatest - least, column_n / COLUMNS_A_STEP + 1);
    return (struct axis){.step = step < 1 ? 1 : step, .low = least, .high = greatest};
}

static size_t place_on(const struct axis *a, double v, size_t place_n)
{
    double at = round((v - a->low) / (a->high - a->low) * (double)(place_n - 1));
    return at <= 0 ? 0 : at >= (double)(place_n - 1) ? place_n - 1 : (size_t)at;
}

enum { TICK_CHARS = 40 };

/* Writes a number beside an axis: as many decimals as the step needs, and thousands as "20k". */
static void format_tick(const struct axis *a, double v, char ret[TICK_CHARS])
{
    static const struct {
        double unit;
        const char *name;
    } scale[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
    const double least_scaled = 1e4, greatest_scaled = 1e15, least_fixed = 1e-4, least_part = 0.01;
    double magnitude = fmax(fabs(a->low), fabs(a->high));
    size_t i = 0;
    if (fabs(v) < a->step / 2) {
        snprintf(ret, TICK_CHARS, "0");
        return;
    }
    if (magnitude < least_fixed || magnitude >= greatest_scaled) {
        snprintf(ret, TICK_CHARS, "%.6g", v);
        return;
    }
    while (scale[i].unit > 1 &&
           (magnitude < least_scaled || magnitude < scale[i].unit || a->step < scale[i].unit * least_part))
        i++;
    double step = a->step / scale[i].unit;
    int decimals = step < 1 ? (int)ceil(-log10(step) - rounding) : 0;
    snprintf(ret, TICK_CHARS, "%.*f%s", decimals, v / scale[i].unit, scale[i].name);
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

struct picture {
    const struct chart *chart;
    size_t column_n, row_n;
    struct axis x, y;
    uint8_t *dots;  /* of each character, row by row from the top: the bits of the braille pattern */
    uint8_t *owner; /* the line that the character belongs to, counted from 1; 0: none */
};

static void put_dot(struct picture *p, size_t x, size_t y, size_t line)
{
    static const uint8_t bit[DOTS_HIGH][DOTS_WIDE] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    size_t down = p->row_n * DOTS_HIGH - 1 - y, at = down / DOTS_HIGH * p->column_n + x / DOTS_WIDE;
    p->dots[at] |= bit[down % DOTS_HIGH][x % DOTS_WIDE];
    p->owner[at] = (uint8_t)(line + 1);
}

static size_t dot_x(const struct picture *p, double x)
{
    return place_on(&p->x, x, p->column_n * DOTS_WIDE);
}

static size_t dot_y(const struct picture *p, double y)
{
    return place_on(&p->y, y, p->row_n * DOTS_HIGH);
}

static size_t row_of(const struct picture *p, double y)
{
    return p->row_n - 1 - dot_y(p, y) / DOTS_HIGH;
}

static void draw_stretch(struct picture *p, const struct chart_point *from, const struct chart_point *to, size_t line)
{
    double x = (double)dot_x(p, from->x), y = (double)dot_y(p, from->y);
    double wide = (double)dot_x(p, to->x) - x, high = (double)dot_y(p, to->y) - y;
    size_t dot_n = (size_t)fmax(fabs(wide), fabs(high));
    for (size_t i = 0; i <= dot_n; i++) {
        double part = dot_n ? (double)i / (double)dot_n : 0;
        put_dot(p, (size_t)lround(x + wide * part), (size_t)lround(y + high * part), line);
    }
}

/* A point that is not drawn interrupts the line. */
static void draw_line(struct picture *p, size_t line)
{
    const struct chart_line *l = &p->chart->line[line];
    const struct chart_point *before = NULL;
    for (size_t i = 0; i < l->point_n; i++) {
        const struct chart_point *at = is_drawn(&l->point[i]) ? &l->point[i] : NULL;
        if (at)
            draw_stretch(p, before ? before : at, at, line);
        before = at;
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Writes text without blanks at the ends of lines, and changes the colour only where it must. */
struct pen {
    struct strbuf *to;
    bool colored;
    size_t blank_n; /* blanks that are written before the next text */
    size_t owner;   /* whose colour is on; 0: no colour */
};

static void pen_color(struct pen *p, size_t owner)
{
    static const char *const color[] = {"36", "33", "35", "32", "34", "31"};
    if (!p->colored || p->owner == owner)
        return;
    if (owner)
        strbuf_addf(p->to, "\x1b[%sm", color[(owner - 1) % (sizeof(color) / sizeof(color[0]))]);
    else
        strbuf_adds(p->to, "\x1b[0m");
    p->owner = owner;
}

static void pen_text(struct pen *p, const char *text, size_t owner)
{
    strbuf_addf(p->to, "%*s", (int)p->blank_n, "");
    p->blank_n = 0;
    pen_color(p, owner);
    strbuf_adds(p->to, text);
}

static void pen_end_line(struct pen *p)
{
    pen_color(p, 0);
    p->blank_n = 0;
    strbuf_addc(p->to, '\n');
}

static void letter_of(size_t line, char ret[2])
{
    ret[0] = (char)('a' + line % CHART_LINES_MAX);
    ret[1] = '\0';
}

static void draw_cell(const struct picture *p, size_t at, struct pen *pen)
{
    enum { UTF8_CHARS = 4 };
    char text[UTF8_CHARS] = {(char)0xe2, (char)(0xa0 | p->dots[at] >> 6), (char)(0x80 | (p->dots[at] & 0x3f)), '\0'};
    if (p->owner[at] == 0) {
        pen->blank_n++;
        return;
    }
    if (!p->chart->utf8 && p->chart->line_n > 1)
        letter_of(p->owner[at] - 1u, text);
    else if (!p->chart->utf8)
        memcpy(text, "*", sizeof("*"));
    pen_text(pen, text, p->owner[at]);
}

/* Finds beside which row the letter of each line stands: the row where the line ends, or the nearest one that is free.
 * ret[row] is the line, counted from 1; 0: no letter. */
static void place_letters(const struct picture *p, size_t *ret)
{
    for (size_t i = 0; i < p->chart->line_n; i++) {
        struct extent e = extent_of(&p->chart->line[i]);
        size_t row = e.drawn_n ? row_of(p, e.last_y) : 0;
        for (size_t away = 0; e.drawn_n && away < p->row_n; away++) {
            size_t below = row + away < p->row_n ? row + away : row, above = row >= away ? row - away : row;
            size_t found = ret[below] == 0 ? below : above;
            if (ret[found])
                continue;
            ret[found] = i + 1;
            break;
        }
    }
}

/* The numbers beside the rows: ret[row] is the number's text; "": none. */
typedef char tick_text[TICK_CHARS];

static size_t place_values(const struct picture *p, tick_text *ret)
{
    size_t widest = 0;
    double step_n = round((p->y.high - p->y.low) / p->y.step);
    for (double i = 0; i <= step_n; i++) {
        double v = (round(p->y.low / p->y.step) + i) * p->y.step;
        char *text = ret[row_of(p, v)];
        format_tick(&p->y, v, text);
        widest = strlen(text) > widest ? strlen(text) : widest;
    }
    return widest;
}

static void write_rows(const struct picture *p, tick_text *value, size_t margin, struct pen *pen)
{
    struct arena scratch = ARENA_INIT;
    size_t *letter = arena_array(&scratch, size_t, p->row_n);
    if (p->chart->line_n > 1)
        place_letters(p, letter);
    for (size_t row = 0; row < p->row_n; row++) {
        bool tick = *value[row];
        pen->blank_n += margin - strlen(value[row]);
        pen_text(pen, value[row], 0);
        pen->blank_n++;
        pen_text(pen, p->chart->utf8 ? tick ? "┤" : "│" : tick ? "+" : "|", 0);
        for (size_t column = 0; column < p->column_n; column++)
            draw_cell(p, row * p->column_n + column, pen);
        if (letter[row]) {
            char text[2];
            letter_of(letter[row] - 1, text);
            pen->blank_n++;
            pen_text(pen, text, letter[row]);
        }
        pen_end_line(pen);
    }
    arena_release(&scratch);
}

/* Writes the axis at the bottom, and its numbers below it, each under its tick. */
static void write_count_axis(const struct picture *p, size_t margin, struct pen *pen)
{
    struct arena scratch = ARENA_INIT;
    size_t name_n = strlen(p->chart->x_name), end = 0;
    size_t room = p->column_n > name_n + 1 ? p->column_n - name_n - 1 : 0; /* the name stands at the right end */
    bool *tick = arena_array(&scratch, bool, p->column_n);
    char *number = arena_alloc(&scratch, p->column_n + TICK_CHARS + 1), text[TICK_CHARS];
    memset(number, ' ', p->column_n);
    for (double i = ceil(p->x.low / p->x.step - rounding); i * p->x.step <= p->x.high; i++) {
        size_t column = dot_x(p, i * p->x.step) / DOTS_WIDE;
        format_tick(&p->x, i * p->x.step, text);
        size_t n = strlen(text), from = column > n / 2 ? column - n / 2 : 0;
        tick[column] = true;
        if (from + n > room || (end && from < end + 1))
            continue;
        memcpy(number + from, text, n);
        end = from + n;
    }
    if (room)
        memcpy(number + p->column_n - name_n, p->chart->x_name, name_n + 1);
    pen->blank_n += margin + 1;
    pen_text(pen, p->chart->utf8 ? "└" : "+", 0);
    for (size_t column = 0; column < p->column_n; column++)
        pen_text(pen, p->chart->utf8 ? tick[column] ? "┬" : "─" : tick[column] ? "+" : "-", 0);
    pen_end_line(pen);
    pen->blank_n += margin + 2;
    pen_text(pen, number, 0);
    pen_end_line(pen);
    arena_release(&scratch);
}

/* ---- the legend -------------------------------------------------------------------------------------------------- */

enum { LETTER_WIDTH = 2 }; /* a letter and a blank */

/* Writes one line of text, cut to the width. Control characters, which a metric's name may have, become '?'. */
static void write_text(const struct strbuf *text, size_t width, struct pen *pen)
{
    struct strbuf shown = STRBUF_INIT;
    size_t n = text_fitting(strbuf_str(text), text->n, width);
    strbuf_add(&shown, strbuf_str(text), n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)shown.s[i] < ' ' || shown.s[i] == 0x7f)
            shown.s[i] = '?';
    pen_text(pen, strbuf_str(&shown), 0);
    pen_end_line(pen);
    strbuf_release(&shown);
}

static void say_what_there_is(const struct chart *c, const struct chart_line *l, struct strbuf *text)
{
    struct extent e = extent_of(l);
    if (l->point_n == 0)
        strbuf_addf(text, "%s has no points yet.", l->name);
    else if (e.drawn_n == 0)
        strbuf_addf(text, "%s has nothing to draw: none of its values is a finite number (%zu).", l->name, l->point_n);
    else if (e.drawn_n == 1)
        strbuf_addf(text, "%s has one point: %.6g after %.0f %s.", l->name, e.last_y, e.last_x, c->x_name);
    else if (e.least_x == e.greatest_x)
        strbuf_addf(text, "%s has %zu points, all after %.0f %s: the last one is %.6g.", l->name, e.drawn_n, e.last_x,
                    c->x_name, e.last_y);
    else
        strbuf_addf(text, "%s: last %.6g, lowest %.6g, highest %.6g", l->name, e.last_y, e.lowest, e.highest);
}

static size_t hidden_points(const struct chart_line *l)
{
    size_t drawn_n = extent_of(l).drawn_n;
    return drawn_n ? l->point_n - drawn_n : 0; /* where none is drawn, say_what_there_is() has said it */
}

static void write_legend(const struct chart *c, struct pen *pen)
{
    for (size_t i = 0; i < c->line_n; i++) {
        struct strbuf text = STRBUF_INIT;
        const struct chart_line *l = &c->line[i];
        if (c->line_n > 1) {
            char letter[2];
            letter_of(i, letter);
            pen_text(pen, letter, i + 1);
            pen_color(pen, 0);
            pen->blank_n++;
        }
        say_what_there_is(c, l, &text);
        write_text(&text, c->width - (c->line_n > 1 ? LETTER_WIDTH : 0), pen);
        strbuf_reset(&text);
        size_t hidden_n = hidden_points(l);
        if (hidden_n) {
            strbuf_addf(&text, "%zu of %zu values of %s %s not drawn: not %s.", hidden_n, l->point_n, l->name,
                        hidden_n == 1 ? "is" : "are", hidden_n == 1 ? "a finite number" : "finite numbers");
            write_text(&text, c->width, pen);
        }
        strbuf_release(&text);
    }
}

static size_t legend_lines(const struct chart *c)
{
    size_t n = c->line_n;
    for (size_t i = 0; i < c->line_n; i++)
        n += hidden_points(&c->line[i]) > 0;
    return n;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void draw_picture(const struct chart *c, const struct extent *all, struct pen *pen)
{
    enum { AXIS_LINES = 2, AXIS_COLUMNS = 2 };
    struct arena scratch = ARENA_INIT;
    size_t below = legend_lines(c) + AXIS_LINES, letters = c->line_n > 1 ? LETTER_WIDTH : 0;
    struct picture p = {.chart = c, .row_n = c->height > below + ROWS_MIN ? c->height - below : ROWS_MIN};
    tick_text *value = arena_array(&scratch, tick_text, p.row_n);
    p.y = value_axis(all->lowest, all->highest, p.row_n);
    size_t margin = place_values(&p, value), beside = margin + AXIS_COLUMNS + letters;
    p.column_n = c->width > beside + COLUMNS_MIN ? c->width - beside : COLUMNS_MIN;
    p.x = count_axis(all->least_x, all->greatest_x, p.column_n);
    p.dots = arena_alloc(&scratch, p.column_n * p.row_n);
    p.owner = arena_alloc(&scratch, p.column_n * p.row_n);
    for (size_t i = 0; i < c->line_n; i++)
        draw_line(&p, i);
    write_rows(&p, value, margin, pen);
    write_count_axis(&p, margin, pen);
    arena_release(&scratch);
}

void chart_draw(const struct chart *c, struct strbuf *to)
{
    struct extent all = extent_of_all(c);
    struct pen pen = {.to = to, .colored = c->colored};
    if (all.drawn_n > 0 && all.least_x < all.greatest_x)
        draw_picture(c, &all, &pen);
    write_legend(c, &pen);
}
