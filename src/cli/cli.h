/* What every command of `det` is given: streams, the master's address, the session that opens itself when first used.
 *
 * Results go to `out`, words about them to `err`. cli_main() parses the line (args.h), finds the master, and calls the
 * command's function (src/cli/cmd). That calls the API (api.h) and prints (table.h, output.h). */
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
    size_t out_width, out_height;     /* of the terminal that `out` is; 0: it is none */
    bool silent;                      /* nobody is asked anything: a shell's completion waits for the result */
    bool paged;                       /* `out` gathers text for the pager (pager.h); words about it go there, too */
    struct arena arena;               /* lives as long as the command */
    const struct cli_command *command;
    const char *program;              /* argv[0] */
    const char *master;               /* canonical address; NULL for commands that need none */
    const char *master_source;        /* who named it: "-m", "DET_MASTER", "the default" */
    const char *user;                 /* -u; NULL if not given */
    struct session *session;          /* NULL until the first call */
    const char *initial_password;     /* deploy local: what the first accounts were given; NULL if the master chose */
    int exit_code;                    /* what a command that succeeded exits with: `experiment wait` */
};

#define CLI_EXIT_INTERRUPTED 3

/* The whole program but for its environment: parses, runs, reports errors. Returns the exit code. */
int cli_main(struct cli *cli, int argc, const char *const *argv);
void cli_release(struct cli *cli);

/* Words about the results, in colour on a terminal. */
enum cli_color { CLI_PLAIN, CLI_RED, CLI_GREEN, CLI_YELLOW };
/* cli_say() writes words to err, cli_print() results to out. */
void cli_say(struct cli *cli, enum cli_color color, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void cli_print(struct cli *cli, enum cli_color color, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* PYTHONPATH for Python that det starts: our own library, before whatever the user has there. */
const char *cli_python_path(struct cli *cli);

/* help.c */
void help_print(struct cli *cli, const struct cli_command *c);
void usage_print(struct cli *cli, const struct cli_command *c);

#endif
