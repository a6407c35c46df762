/* Draws lines over whole numbers, such as a metric over batches, as text: each character of the picture holds 2×4 dots
 * of a braille pattern. Below the picture a legend says what each line is. Pure: points in, lines of text out. */
#ifndef DET_CLI_TERMINAL_CHART_H
#define DET_CLI_TERMINAL_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/strbuf.h"

struct chart_point {
    double x; /* a whole number */
    double y; /* NaN or infinite: it is not drawn, and the legend says so */
};

struct chart_line {
    const char *name;
    const struct chart_point *point; /* in the order of x */
    size_t point_n;
};

enum { CHART_LINES_MAX = 26 }; /* lines are told apart by the letters a to z */

struct chart {
    const struct chart_line *line;
    size_t line_n;        /* at most CHART_LINES_MAX */
    const char *x_name;   /* what x counts: "batches" */
    size_t width, height; /* of the whole: picture, axes and legend. A very small picture is drawn larger than that. */
    bool utf8;            /* false: letters instead of braille patterns */
    bool colored;         /* with the escape codes of colours */
};

/* Appends the lines. Where there is nothing to draw (no point, or one only), a sentence says what there is. */
void chart_draw(const struct chart *c, struct strbuf *to);

#endif
