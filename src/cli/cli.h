/* What every command of `det` is given: streams, the master's address, and a session that opens itself when it is
 * first used.
 *
 * Results are printed to `out`, messages about them to `err`. cli_main() parses the command line (args.h), finds the
 * master, and calls the command's function (src/cli/cmd). That function calls the API (connection/api.h) and prints
 * (terminal/table.h, terminal/output.h). */
#ifndef DET_CLI_CLI_H
#define DET_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "common/base/arena.h"
#include "common/base/error.h"

struct session;

struct cli {
    FILE *in, *out, *err;
    bool in_terminal, out_terminal, err_terminal;
    size_t out_width, out_height; /* size of the terminal that `out` is; 0: `out` is not a terminal */
    bool silent;                  /* ask no questions: a program has called det and waits for the result */
    /* `out` collects text for the pager (terminal/pager.h); messages are collected with it */
    bool paged;
    struct arena arena; /* lives as long as the command */
    const struct cli_command *command;
    const char *program;       /* argv[0] */
    const char *master;        /* in canonical form; NULL for commands that need no master */
    const char *master_source; /* where the address was found: "-m", "DET_MASTER", "the default" */
    const char *user;          /* -u; NULL if not given */
    struct session *session;   /* NULL until the first call */
    /* for `deploy local`: the password of the first accounts; NULL if the master chose it */
    const char *initial_password;
    int exit_code; /* the exit code of a command that succeeded, for `experiment wait` */
};

#define CLI_EXIT_INTERRUPTED 3

/* Runs the whole program: parses the command line, runs the command, reports errors. Returns the exit code. */
int cli_main(struct cli *cli, int argc, const char *const *argv);
void cli_release(struct cli *cli);

/* Colours of messages on a terminal. */
enum cli_color { CLI_PLAIN, CLI_RED, CLI_GREEN, CLI_YELLOW };
/* Whether what goes to a stream may have colours: on a terminal, unless NO_COLOR is set to something
 * (https://no-color.org). */
bool cli_colors(bool terminal);
/* cli_say() prints messages to err, cli_print() prints results to out. */
void cli_say(struct cli *cli, enum cli_color color, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void cli_print(struct cli *cli, enum cli_color color, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* PYTHONPATH for Python programs that det starts: det's own library comes before the user's entries. */
const char *cli_python_path(struct cli *cli);

/* help.c */
void help_print(struct cli *cli, const struct cli_command *c);
void usage_print(struct cli *cli, const struct cli_command *c);

#endif
