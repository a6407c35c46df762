#include "cli/cli.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connection/address.h"
#include "cli/connection/api.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

bool cli_colors(bool terminal)
{
    const char *no = getenv("NO_COLOR");
    return terminal && !(no && *no);
}

/* Prints text for people in lines of at most `width` columns, broken between words. width 0 prints it unbroken, as
 * results must be. */
__attribute__((format(printf, 5, 0))) static void print_message(FILE *to, bool terminal, size_t width,
                                                                enum cli_color color, const char *fmt, va_list ap)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    static const char *const start[] = {"", "\x1b[31m", "\x1b[32m", "\x1b[33m"};
    bool colored = color != CLI_PLAIN && cli_colors(terminal);
    if (colored)
        fputs(start[color], to);
    strbuf_vaddf(&text, fmt, ap);
    if (width)
        terminal_wrap(to, strbuf_str(&text), 0, width);
    else
        fputs(strbuf_str(&text), to);
    fputs(colored ? "\x1b[0m" : "", to);
    fputs(width ? "" : "\n", to);
}

void cli_say(struct cli *cli, enum cli_color color, const char *fmt, ...)
{
    va_list ap;
    bool paged = cli->paged && cli->err_terminal;
    fflush(cli->out); /* so that what was printed before this also appears before it on the terminal */
    va_start(ap, fmt);
    print_message(paged ? cli->out : cli->err, cli->err_terminal, cli->err_terminal ? cli->out_width : 0, color, fmt,
                  ap);
    va_end(ap);
}

void cli_print(struct cli *cli, enum cli_color color, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_message(cli->out, cli->out_terminal, 0, color, fmt, ap);
    va_end(ap);
}

static void give_up(int signo)
{
    (void)signo;
    _exit(1);
}

static void hurry(void)
{
    enum { PATIENCE_S = 3 };
    signal(SIGALRM, give_up);
    alarm(PATIENCE_S);
}

static int run_command(struct cli *cli, const struct cli_parsed *p, struct error *err)
{
    const struct args_root *root = p->root;
    if (!p->command->run)
        return error_set(err, ERR_UNIMPLEMENTED, "'det %s' is planned, but not part of this version", p->command->path);
    cli->command = p->command;
    cli->user = root->user;
    cli->silent = p->command->hidden;
    if (p->command->impatient)
        hurry();
    if (!p->command->offline) {
        if (address_canonical(address_choose(root->master, &cli->master_source), &cli->arena, &cli->master, err) < 0) {
            error_set(err, ERR_USAGE, "%s (from %s)", error_msg(err), cli->master_source);
            return -1;
        }
        /* `version` reports a difference of versions itself */
        if (strcmp(p->command->path, "version") != 0 && api_greet(cli, err) < 0)
            return -1;
    }
    if (p->command->deprecated)
        cli_say(cli, CLI_YELLOW, "'det %s' is deprecated.", p->command->path);
    struct pager pager = {0};
    if (p->command->paged && !root->no_pager)
        pager_begin(&pager, cli);
    int rc = p->command->run(cli, p->args, err);
    pager_end(&pager, cli);
    return rc;
}

static int report_error(struct cli *cli, const struct cli_parsed *p, const struct error *err)
{
    fflush(cli->out);
    /* the command line could not be understood: show how the command is used */
    if (err->kind == ERR_USAGE && !cli->command) {
        usage_print(cli, p->command);
        cli_say(cli, CLI_RED, "det%s%s: error: %s", *p->command->path ? " " : "", p->command->path, error_msg(err));
    } else {
        cli_say(cli, CLI_RED, "%s", error_msg(err));
    }
    return error_exit_code(err->kind);
}

int cli_main(struct cli *cli, int argc, const char *const *argv)
{
    struct cli_parsed p;
    cleanup_error struct error err = ERROR_INIT;
    int rc = args_parse(argc, argv, &cli->arena, &p, &err);
    cli->program = argv[0];
    if (rc == 0 && p.root && ((const struct args_root *)p.root)->version) {
        fprintf(cli->out, "det %s\n", DET_VERSION);
        return 0;
    }
    if (rc == 0 && p.help) {
        help_print(cli, p.command);
        return 0;
    }
    if (rc == 0)
        rc = run_command(cli, &p, &err);
    if (rc < 0)
        return report_error(cli, &p, &err);
    if (fflush(cli->out) == EOF)
        return 1;
    return cli->exit_code;
}

const char *cli_python_path(struct cli *cli)
{
    const char *ours = path_of_library(&cli->arena), *users = getenv("PYTHONPATH");
    return *ours && users && *users ? arena_printf(&cli->arena, "%s:%s", ours, users)
           : *ours                  ? ours
           : users                  ? users
                                    : "";
}

void cli_release(struct cli *cli)
{
    session_free(cli->session);
    cli->session = NULL;
    arena_release(&cli->arena);
}
