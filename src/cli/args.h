/* Parses the command line: finds the command in the table that is made from contract/cli.json, and fills the
 * command's options struct.
 *
 * The rules are those of Python's argparse, on which users' scripts rely: options and arguments in any order,
 * `--name=value` or `--name value`, short flags joined (`-fq`, `-ofile`), long options abbreviated to any unique
 * beginning, and `--` ends the options. A group without a subcommand runs its default subcommand. Mistakes are
 * errors of kind ERR_USAGE. */
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
    CLI_LIST = 1 << 0,     /* may be given several times; the values are a list */
    CLI_SEVERAL = 1 << 1,  /* an option that is followed by one or more values */
    CLI_OPTIONAL = 1 << 2, /* an argument that may be missing */
    CLI_REST = 1 << 3,     /* takes all remaining words, even those that look like options */
    CLI_REQUIRED = 1 << 4,
    CLI_EXCLUSIVE_REQUIRED = 1 << 5, /* one option of the exclusive group must be given */
};

struct cli_param {
    const char *name;
    const char *flag[2]; /* both NULL for a positional argument */
    enum cli_type type;
    unsigned attr;
    unsigned exclusive; /* at most one option of each exclusive group may be given; 0: the option is in no group */
    bool value;         /* the value that a flag sets */
    size_t offset;
    /* offset of the list's length, or of the bool that says whether the option was given; 0: neither */
    size_t second;
    const char *def;
    const char *const *choice; /* NULL-terminated */
    const char *metavar, *help;
    /* what a shell completes the value with: "experiment", "agent" and so on, as the master has them; NULL: nothing */
    const char *live;
    int32_t min; /* smallest whole number allowed; INT32_MIN: no limit */
};

struct cli_command {
    const char *path; /* "experiment create"; "" is det itself */
    const char *alias[3];
    const char *help;
    const char *note;           /* more sentences; NULL: none */
    const char *const *example; /* command lines without their "det", NULL-terminated; NULL: none */
    /* Pairs of an exit status and what it says, NULL-terminated. NULL: those of det itself, which every command has. */
    const char *const *exit_status;
    const char *default_subcommand;
    bool group, deprecated;
    bool offline;   /* whether the command needs no master */
    bool paged;     /* whether long results go to a pager on a terminal */
    bool hidden;    /* not shown in help, man pages and completion, and asks nothing: for programs that call det */
    bool impatient; /* gives up after three seconds, since somebody has pressed a key and waits */
    const struct cli_param *param;
    size_t param_n;
    size_t args_size;
    int (*run)(struct cli *cli, const void *args, struct error *err); /* NULL for planned commands and for groups */
};

extern const struct cli_command cli_commands[]; /* sorted by path; [0] is det itself */
extern const size_t cli_command_n;

struct cli_parsed {
    const struct cli_command
        *command;     /* also set after an error, as far as the line was understood: its usage is shown */
    void *args;       /* the command's options struct; NULL if it has none */
    const void *root; /* struct args_root */
    bool help;        /* print the help of `command` */
};

/* argv[0] is the program. All results are in the arena or in argv. */
int args_parse(int argc, const char *const *argv, struct arena *a, struct cli_parsed *ret, struct error *err);

/* whether child is directly below parent */
bool cli_command_is_child(const struct cli_command *parent, const struct cli_command *child);
/* the path's last word */
const char *cli_command_word(const struct cli_command *c);
/* Whether neither the command nor any command below it is served. */
bool cli_command_is_planned(const struct cli_command *c);
bool cli_param_is_positional(const struct cli_param *p);

#endif
