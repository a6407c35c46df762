/* Asking the person at the terminal, and showing progress there. */
#ifndef DET_CLI_TERMINAL_H
#define DET_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

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

/* 1.5MB, as the released client writes sizes. Lives in the arena. */
const char *format_size(struct arena *a, double bytes);

#endif
