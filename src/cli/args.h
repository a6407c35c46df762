/* The command line: finds the command in the table made from contract/cli.json and fills its options struct.
 *
 * The rules are those of Python's argparse, which users' scripts rely on: options and arguments in any order,
 * `--name=value` or `--name value`, short flags joined (`-fq`, `-ofile`), long options by any unique beginning, `--`
 * ends the options. A group without a subcommand runs its default one. What is wrong is ERR_USAGE. */
#ifndef DET_CLI_ARGS_H
#define DET_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct cli;

enum cli_type { CLI_STRING, CLI_PATH, CLI_FILE, CLI_INT, CLI_FLOAT, CLI_BOOL, CLI_FLAG };

enum cli_attr {
    CLI_LIST = 1 << 0,     /* may be given again: a list of texts */
    CLI_SEVERAL = 1 << 1,  /* an option followed by one or more values */
    CLI_OPTIONAL = 1 << 2, /* an argument that may be missing */
    CLI_REST = 1 << 3,     /* takes all words that are left, also those that look like options */
    CLI_REQUIRED = 1 << 4,
    CLI_EXCLUSIVE_REQUIRED = 1 << 5, /* one option of the exclusive group must be given */
};

struct cli_param {
    const char *name;
    const char *flag[2]; /* none: a positional argument */
    enum cli_type type;
    unsigned attr;
    unsigned exclusive;  /* number of the group of which at most one is given; 0: none */
    bool value;          /* what a flag sets */
    size_t offset;
    size_t second;       /* offset of the list's length, or of the bool that says "given"; 0: neither */
    const char *def;
    const char *const *choice; /* NULL-terminated */
    const char *metavar, *help;
    const char *live; /* "experiment", "agent" …: a shell completes it with those that the master has; NULL: with nothing */
    int32_t min; /* of a whole number; INT32_MIN: none */
};

struct cli_command {
    const char *path; /* "experiment create"; "" is det itself */
    const char *alias[3];
    const char *help;
    const char *note;           /* more sentences; NULL: none */
    const char *const *example; /* command lines without their "det", NULL-terminated; NULL: none */
    const char *default_subcommand;
    bool group, deprecated;
    bool offline; /* needs no master */
    bool paged;   /* on a terminal, a long result goes to a pager */
    bool hidden;  /* no help, page or completion names it: programs of ours call it */
    const struct cli_param *param;
    size_t param_n;
    size_t args_size;
    int (*run)(struct cli *cli, const void *args, struct error *err); /* NULL: planned, or a group */
};

extern const struct cli_command cli_commands[]; /* sorted by path; [0] is det itself */
extern const size_t cli_command_n;

struct cli_parsed {
    const struct cli_command *command; /* as far as it was understood, also after an error: whose usage to show */
    void *args;                        /* the command's options struct; NULL if it has none */
    const void *root;                  /* struct args_root */
    bool help;                         /* print the help of `command` */
};

/* argv[0] is the program. Everything lives in the arena, or in argv. */
int args_parse(int argc, const char *const *argv, struct arena *a, struct cli_parsed *ret, struct error *err);

bool cli_command_is_child(const struct cli_command *parent, const struct cli_command *child); /* directly below */
/* the path's last word */
const char *cli_command_word(const struct cli_command *c);
/* Neither served itself, nor anything below it. */
bool cli_command_is_planned(const struct cli_command *c);
bool cli_param_is_positional(const struct cli_param *p);

#endif
