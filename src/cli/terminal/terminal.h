/* Asking the person at the terminal, and showing progress there. */
#ifndef DET_CLI_TERMINAL_H
#define DET_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"

/* Reads a line without echo from the terminal (or from standard input where there is none). Lives in the arena. */
int terminal_ask_password(struct cli *cli, const char *prompt, const char **ret, struct error *err);
int terminal_ask_line(struct cli *cli, const char *prompt, const char **ret, struct error *err);
bool terminal_ask_yes(struct cli *cli, const char *question);

/* "[#####     ]  50% 4.2 of 8.4 MB"; draws on err if that is a terminal, and at most a few times a second. */
struct progress {
    struct cli *cli;
    const char *what;
    size_t drawn_tenths;
};
void progress_draw(struct progress *p, size_t done, size_t total);
void progress_end(struct progress *p); /* takes the bar away */

/* Finds out what cli->out is: out_terminal, out_width and out_height. */
void terminal_measure(struct cli *cli);
bool terminal_is_utf8(void); /* by the environment: LC_ALL, LC_CTYPE, LANG */
/* Prints the text in lines no wider than `width` (0: one line); its first line begins at `column`, and so do the others.
 * Newlines of the text stay. */
void terminal_wrap(FILE *to, const char *text, size_t column, size_t width);

/* What Ctrl-C says before it ends the command: how to go on. NULL: nothing. The text must stay where it is. */
void interrupt_install(void);
void interrupt_hint(const char *text);

/* 1.5MB, as the released client writes sizes. Lives in the arena. */
const char *format_size(struct arena *a, double bytes);

#endif
