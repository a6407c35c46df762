#include "cli/terminal/pager.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/terminal/table_internal.h"

static const char *pager_program(void)
{
    const char *choice[] = {getenv("DET_PAGER"), getenv("PAGER"), "less"};
    size_t i = 0;
    while (!choice[i])
        i++;
    return *choice[i] && strcmp(choice[i], "cat") != 0 ? choice[i] : NULL;
}

void pager_begin(struct pager *p, struct cli *cli)
{
    *p = (struct pager){0};
    if (!cli->out_height || !pager_program())
        return;
    FILE *gathering = open_memstream(&p->text, &p->n);
    if (!gathering)
        return;
    p->terminal = cli->out;
    cli->out = gathering;
    cli->paged = true;
}

/* The number of lines that the text takes on the terminal. */
static size_t lines_of(const char *text, size_t width)
{
    size_t lines = 0;
    while (*text) {
        size_t n = strcspn(text, "\n"), w = text_width(text, n);
        lines += w > width ? (w + width - 1) / width : 1;
        text += n + (text[n] == '\n');
    }
    return lines;
}

/* Shows the text in the pager. False: there is no such program, and nothing was shown. */
static bool show_in_pager(const char *program, const char *text, size_t n)
{
    enum { SHELL_FOUND_NO_PROGRAM = 127 };
    /* the options that git uses: leave at once if all fits, keep colours, do not clear the screen */
    setenv("LESS", "FRX", /* overwrite= */ 0);
    setenv("LV", "-c", 0);
    signal(SIGPIPE, SIG_IGN); /* the user may leave the pager before it has read everything */
    signal(SIGINT, SIG_IGN);  /* Ctrl-C is for the pager */
    FILE *to = popen(program, "w");
    if (!to)
        return false;
    fwrite(text, 1, n, to);
    int status = pclose(to);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == SHELL_FOUND_NO_PROGRAM);
}

void pager_end(struct pager *p, struct cli *cli)
{
    if (!p->terminal)
        return;
    fclose(cli->out);
    cli->out = p->terminal;
    cli->paged = false;
    bool fits = lines_of(p->text, cli->out_width) < cli->out_height;
    if (fits || !show_in_pager(pager_program(), p->text, p->n))
        fwrite(p->text, 1, p->n, cli->out);
    free(p->text);
    *p = (struct pager){0};
}
