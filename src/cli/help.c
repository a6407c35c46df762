/* Prints --help of every command from the table of commands, in lines that fit the terminal. */
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/terminal/terminal.h"
#include "common/base/strbuf.h"

enum { HELP_COLUMN = 30, HELP_COLUMN_NARROW = 24, NARROW = 90, HELP_WIDTH = 100 };

/* Where help is printed, and the widths. */
struct page {
    FILE *to;
    size_t width, column; /* of the line; and the column where explanations begin */
};

static struct page page_of(struct cli *cli, FILE *to)
{
    size_t width = cli->out_width && cli->out_width < HELP_WIDTH ? cli->out_width : HELP_WIDTH;
    return (struct page){to, width, width < NARROW ? HELP_COLUMN_NARROW : HELP_COLUMN};
}

static const char *value_name(const struct cli_param *p, struct arena *a)
{
    if (p->metavar)
        return p->metavar;
    if (p->choice) {
        struct strbuf all = STRBUF_INIT;
        for (const char *const *c = p->choice; *c; c++)
            strbuf_addf(&all, "%s%s", all.n ? "," : "", *c);
        const char *ret = arena_printf(a, "{%s}", strbuf_str(&all));
        strbuf_release(&all);
        return ret;
    }
    char *upper = arena_strdup(a, p->name);
    for (char *c = upper; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return upper;
}

static void print_row(const struct page *page, const char *left, const char *right)
{
    int n = fprintf(page->to, "  %s", left);
    if (n >= (int)page->column - 1)
        fprintf(page->to, "\n%*s", (int)page->column, "");
    else
        fprintf(page->to, "%*s", (int)page->column - n, "");
    terminal_wrap(page->to, right, page->column, page->width);
}

static void print_usage(FILE *to, const struct cli_command *c)
{
    struct arena a = ARENA_INIT;
    bool options = false;
    fprintf(to, "usage: det%s%s", *c->path ? " " : "", c->path);
    for (size_t i = 0; i < c->param_n; i++)
        options = options || !cli_param_is_positional(&c->param[i]);
    fputs(options ? " [options]" : "", to);
    for (size_t i = 0; i < c->param_n; i++) {
        const struct cli_param *p = &c->param[i];
        if (!cli_param_is_positional(p))
            continue;
        bool optional = p->attr & CLI_OPTIONAL;
        fprintf(to, " %s%s%s%s", optional ? "[" : "", value_name(p, &a), p->attr & CLI_LIST ? " ..." : "",
                optional ? "]" : "");
    }
    fputs(c->group ? " COMMAND ...\n" : "\n", to);
    arena_release(&a);
}

void usage_print(struct cli *cli, const struct cli_command *c)
{
    print_usage(cli->err, c);
}

static void print_params(const struct page *page, const struct cli_command *c, bool positional)
{
    struct arena a = ARENA_INIT;
    bool titled = false;
    for (size_t i = 0; i < c->param_n; i++) {
        const struct cli_param *p = &c->param[i];
        if (cli_param_is_positional(p) != positional)
            continue;
        if (!titled)
            fputs(positional ? "\narguments:\n" : "\noptions:\n", page->to);
        titled = true;
        const char *left = positional ? value_name(p, &a)
                                      : arena_printf(&a, "%s%s%s%s%s", p->flag[0], p->flag[1] ? ", " : "",
                                                     p->flag[1] ? p->flag[1] : "", p->type == CLI_FLAG ? "" : " ",
                                                     p->type == CLI_FLAG ? "" : value_name(p, &a));
        bool def = p->def && p->type != CLI_FLAG;
        print_row(page, left,
                  arena_printf(&a, "%s%s%s%s", p->help, def ? " (default: " : "", def ? p->def : "", def ? ")" : ""));
    }
    if (!positional && !titled)
        fputs("\noptions:\n", page->to);
    if (!positional)
        print_row(page, "-h, --help", "print this help");
    arena_release(&a);
}

static void print_child(const struct page *page, const struct cli_command *child)
{
    struct strbuf left = STRBUF_INIT, right = STRBUF_INIT;
    strbuf_adds(&left, cli_command_word(child));
    for (size_t k = 0; k < sizeof(child->alias) / sizeof(child->alias[0]) && child->alias[k]; k++)
        strbuf_addf(&left, "%s%s", k ? ", " : " (", child->alias[k]);
    strbuf_adds(&left, child->alias[0] ? ")" : "");
    strbuf_addf(&right, "%s%s", child->help, cli_command_is_planned(child) ? " (planned)" : "");
    print_row(page, strbuf_str(&left), strbuf_str(&right));
    strbuf_release(&left);
    strbuf_release(&right);
}

static void print_children(const struct page *page, const struct cli_command *c)
{
    fputs("\ncommands:\n", page->to);
    /* what can be used comes first */
    for (int planned = 0; planned < 2; planned++)
        for (size_t i = 0; i < cli_command_n; i++) {
            const struct cli_command *child = &cli_commands[i];
            if (cli_command_is_child(c, child) && !child->hidden && cli_command_is_planned(child) == planned)
                print_child(page, child);
        }
    if (c->default_subcommand)
        fprintf(page->to, "\nWithout a COMMAND, 'det %s %s' runs.\n", c->path, c->default_subcommand);
    fprintf(page->to, "\n'det help%s%s COMMAND' prints the help of a command.\n", *c->path ? " " : "", c->path);
}

static void print_examples(const struct page *page, const struct cli_command *c)
{
    if (!c->example)
        return;
    fprintf(page->to, "\nexample%s:\n", c->example[1] ? "s" : "");
    for (const char *const *e = c->example; *e; e++)
        fprintf(page->to, "  det %s\n", *e);
}

static void print_exit_statuses(const struct page *page, const struct cli_command *c)
{
    if (!c->exit_status)
        return;
    fputs("\nexit status:\n", page->to);
    for (const char *const *pair = c->exit_status; *pair; pair += 2)
        print_row(page, pair[0], pair[1]);
}

void help_print(struct cli *cli, const struct cli_command *c)
{
    struct page page = page_of(cli, cli->out);
    struct arena a = ARENA_INIT;
    print_usage(page.to, c);
    fputc('\n', page.to);
    terminal_wrap(page.to,
                  arena_printf(&a, "%c%s.%s%s", toupper((unsigned char)c->help[0]), c->help + 1, c->note ? " " : "",
                               c->note ? c->note : ""),
                  0, page.width);
    if (cli_command_is_planned(c))
        fputs("Planned, not part of this version.\n", page.to);
    print_params(&page, c, true);
    print_params(&page, c, false);
    print_examples(&page, c);
    print_exit_statuses(&page, c);
    if (c->group)
        print_children(&page, c);
    arena_release(&a);
}
