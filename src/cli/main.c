#include "cli/cli.h"
#include "cli/terminal/terminal.h"

int main(int argc, char **argv)
{
    struct cli cli = {.in = stdin, .out = stdout, .err = stderr};
    terminal_measure(&cli);
    interrupt_install(); /* SIGPIPE stays as it is: `det … | head` ends quietly */
    int code = cli_main(&cli, argc, (const char *const *)argv);
    cli_release(&cli);
    return code;
}
