/* One line at the bottom of a terminal that says what is going on, and is drawn again and again. It is drawn on
 * standard error, and only if that is a terminal. */
#ifndef DET_CLI_TERMINAL_STATUS_LINE_H
#define DET_CLI_TERMINAL_STATUS_LINE_H

#include "cli/cli.h"

struct status_line {
    struct cli *cli;
    bool drawn;
};

/* The text is cut to the terminal's width, and control characters in it are left out. */
void status_line_draw(struct status_line *l, const char *text);
void status_line_end(struct status_line *l); /* removes the line */

#endif
