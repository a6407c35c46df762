/* usage: context_list DIRECTORY: prints the files that would be sent, for tests that compare them with git's
 * opinion. */
#include <stdio.h>

#include "cli/files/context.h"

int main(int argc, char **argv)
{
    struct context c = CONTEXT_INIT;
    struct error err = ERROR_INIT;
    if (argc != 2 || context_read(&c, argv[1], NULL, 0, CONTEXT_SIZE_MAX, &err) < 0) {
        fprintf(stderr, "%s\n", error_msg(&err));
        error_release(&err);
        return 1;
    }
    for (size_t i = 0; i < c.n; i++)
        if (c.entry[i].source)
            printf("%s%c", c.entry[i].path, '\0');
    context_release(&c);
    return 0;
}
