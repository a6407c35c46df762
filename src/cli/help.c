/* --help of every level, from the command table. */
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"
#include "common/strbuf.h"

enum { HELP_COLUMN = 30, HELP_WIDTH = 100 };

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

static void wrap(FILE *to, const char *text, int column)
{
    while (*text) {
        size_t n = strlen(text), room = (size_t)(HELP_WIDTH - column);
        if (n > room) {
            n = room;
            while (n > 0 && text[n] != ' ')
                n--;
            n = n ? n : room;
        }
        fprintf(to, "%.*s\n", (int)n, text);
        text += n;
        text += strspn(text, " ");
        if (*text)
            fprintf(to, "%*s", column, "");
    }
}

static void row(FILE *to, const char *left, const char *right)
{
    int n = fprintf(to, "  %s", left);
    if (n >= HELP_COLUMN)
        fprintf(to, "\n%*s", HELP_COLUMN, "");
    else
        fprintf(to, "%*s", HELP_COLUMN - n, "");
    wrap(to, right, HELP_COLUMN);
}

void usage_print(FILE *to, const struct cli_command *c)
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

static void print_params(FILE *to, const struct cli_command *c, bool positional)
{
    struct arena a = ARENA_INIT;
    bool titled = false;
    for (size_t i = 0; i < c->param_n; i++) {
        const struct cli_param *p = &c->param[i];
        if (cli_param_is_positional(p) != positional)
            continue;
        if (!titled)
            fputs(positional ? "\narguments:\n" : "\noptions:\n", to);
        titled = true;
        const char *left = positional ? value_name(p, &a)
                                      : arena_printf(&a, "%s%s%s%s%s", p->flag[0], p->flag[1] ? ", " : "",
                                                     p->flag[1] ? p->flag[1] : "", p->type == CLI_FLAG ? "" : " ",
                                                     p->type == CLI_FLAG ? "" : value_name(p, &a));
        bool def = p->def && p->type != CLI_FLAG;
        row(to, left,
            arena_printf(&a, "%s%s%s%s", p->help, def ? " (default: " : "", def ? p->def : "", def ? ")" : ""));
    }
    if (!positional)
        row(to, "-h, --help", "print this help");
    arena_release(&a);
}

static void print_children(FILE *to, const struct cli_command *c)
{
    fputs("\ncommands:\n", to);
    for (size_t i = 0; i < cli_command_n; i++) {
        const struct cli_command *child = &cli_commands[i];
        if (!cli_command_is_child(c, child))
            continue;
        struct strbuf left = STRBUF_INIT;
        strbuf_adds(&left, cli_command_word(child));
        for (size_t k = 0; k < sizeof(child->alias) / sizeof(child->alias[0]) && child->alias[k]; k++)
            strbuf_addf(&left, "%s%s", k ? ", " : " (", child->alias[k]);
        strbuf_adds(&left, child->alias[0] ? ")" : "");
        struct strbuf right = STRBUF_INIT;
        strbuf_addf(&right, "%s%s", child->help, !child->group && !child->run ? " (planned)" : "");
        row(to, strbuf_str(&left), strbuf_str(&right));
        strbuf_release(&left);
        strbuf_release(&right);
    }
    if (c->default_subcommand)
        fprintf(to, "\nWithout a command: %s.\n", c->default_subcommand);
}

void help_print(FILE *to, const struct cli_command *c)
{
    usage_print(to, c);
    fprintf(to, "\n%c%s.\n", toupper((unsigned char)c->help[0]), c->help + 1);
    if (!c->group && !c->run)
        fputs("Planned, not part of this version.\n", to);
    bool options = false;
    for (size_t i = 0; i < c->param_n; i++)
        options = options || !cli_param_is_positional(&c->param[i]);
    print_params(to, c, true);
    if (options)
        print_params(to, c, false);
    else
        fputs("\noptions:\n  -h, --help                  print this help\n", to);
    if (c->group)
        print_children(to, c);
}
