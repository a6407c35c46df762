/* Shows results that are longer than the terminal in a pager, as git does: DET_PAGER, PAGER, or less.
 *
 * Between begin and end, cli->out collects the text, so that a short result is shown without a pager. */
#ifndef DET_CLI_TERMINAL_PAGER_H
#define DET_CLI_TERMINAL_PAGER_H

#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"

struct pager {
    FILE *terminal; /* what cli->out was before; NULL: pager_begin() did nothing */
    char *text;
    size_t n;
};

/* Does nothing unless cli->out is a terminal and there is a pager (none if DET_PAGER is empty or "cat"). */
void pager_begin(struct pager *p, struct cli *cli);
void pager_end(struct pager *p, struct cli *cli);

#endif
