/* Asks the person at the terminal, and shows progress there. */
#ifndef DET_CLI_TERMINAL_TERMINAL_H
#define DET_CLI_TERMINAL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"

/* Reads a line from the terminal without echo, or from standard input if there is no terminal. The result is in the
 * arena. */
int terminal_ask_password(struct cli *cli, const char *prompt, const char **ret, struct error *err);
int terminal_ask_line(struct cli *cli, const char *prompt, const char **ret, struct error *err);
bool terminal_ask_yes(struct cli *cli, const char *question);

/* "Uploading [#####     ]  50% of 8.4MB", in one line that is drawn again and again. Drawn on err if that is a
 * terminal, and only when there is something new; a pipe gets nothing. */
struct progress {
    struct cli *cli;
    const char *what;
    bool drawn;
    size_t tenths;  /* of a percent, as drawn */
    char shown[80]; /* the text behind the bar, as drawn */
};
void progress_draw(struct progress *p, size_t done, size_t total); /* in bytes */
/* fraction: 0 to 1; text stands behind the bar. */
void progress_show(struct progress *p, double fraction, const char *text);
void progress_end(struct progress *p); /* removes the line */

/* Sets out_terminal, out_width and out_height of cli. */
void terminal_measure(struct cli *cli);
bool terminal_is_utf8(void); /* as the environment says: LC_ALL, LC_CTYPE, LANG */
/* Prints the text in lines of at most `width` columns (0: in one line). The first line is expected to begin at
 * `column`; the others are indented to it. Newlines in the text are kept. */
void terminal_wrap(FILE *to, const char *text, size_t column, size_t width);

/* A command that is interrupted, or ended by a signal, leaves the terminal as it was: what is typed is shown again, and
 * no bar is left.
 *
 * The message that Ctrl-C prints before it ends the command, which says how to go on; NULL: no message. The text
 * must stay valid. */
void interrupt_install(void);
void interrupt_hint(const char *text);
/* Prints that message and ends det; for handlers of Ctrl-C that have something to do before. */
void interrupt_end(void) __attribute__((noreturn));

/* "[####    ]", with room for `width` signs between the brackets. The result is in the arena. */
const char *format_bar(struct arena *a, double fraction, size_t width);
/* Such as 1.5MB, in the released client's form. The result is in the arena. */
const char *format_size(struct arena *a, double bytes);

#endif
