/* Results that are longer than the terminal go to a pager, as git's do: DET_PAGER, PAGER, or less.
 *
 * Between begin and end cli->out gathers the text, so that a short result needs no pager. */
#ifndef DET_CLI_PAGER_H
#define DET_CLI_PAGER_H

#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"

struct pager {
    FILE *terminal; /* what cli->out was; NULL: not begun */
    char *text;
    size_t n;
};

/* Does nothing unless cli->out is a terminal and there is a pager (DET_PAGER empty or "cat": there is none). */
void pager_begin(struct pager *p, struct cli *cli);
void pager_end(struct pager *p, struct cli *cli);

#endif
