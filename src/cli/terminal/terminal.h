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

/* "[#####     ]  50% 4.2 of 8.4 MB". Drawn on err if that is a terminal, and at most a few times a second. */
struct progress {
    struct cli *cli;
    const char *what;
    size_t drawn_tenths;
};
void progress_draw(struct progress *p, size_t done, size_t total);
void progress_end(struct progress *p); /* removes the bar */

/* Sets out_terminal, out_width and out_height of cli. */
void terminal_measure(struct cli *cli);
bool terminal_is_utf8(void); /* as the environment says: LC_ALL, LC_CTYPE, LANG */
/* Prints the text in lines of at most `width` columns (0: in one line). The first line is expected to begin at
 * `column`; the others are indented to it. Newlines in the text are kept. */
void terminal_wrap(FILE *to, const char *text, size_t column, size_t width);

/* The message that Ctrl-C prints before it ends the command, which says how to go on; NULL: no message. The text
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
