#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"

/* Ctrl-C ends a command at once, with a word and the exit code that scripts know. */
static void on_interrupt(int signo)
{
    static const char word[] = "\nInterrupted.\n";
    ssize_t ignored = write(STDERR_FILENO, word, sizeof(word) - 1);
    (void)ignored;
    _exit(CLI_EXIT_INTERRUPTED);
}

int main(int argc, char **argv)
{
    struct cli cli = {.in = stdin, .out = stdout, .err = stderr};
    cli.out_terminal = isatty(STDOUT_FILENO);
    cli.err_terminal = isatty(STDERR_FILENO);
    signal(SIGINT, on_interrupt); /* SIGPIPE stays as it is: `det … | head` ends quietly */
    int code = cli_main(&cli, argc, (const char *const *)argv);
    cli_release(&cli);
    return code;
}
