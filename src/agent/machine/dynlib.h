/* A shared library that may or may not be on this machine: loaded while the program runs, by name, with the functions
 * that are asked for. */
#ifndef DET_AGENT_DYNLIB_H
#define DET_AGENT_DYNLIB_H

#include <stdbool.h>

#include "common/base/error.h"

struct dynlib_function {
    const char *name;
    void **to;
    bool optional; /* else a library without it is too old */
};

/* `name` is what its makers call it in error messages, `file` what is loaded ("libnvidia-ml.so.1"). ERR_NOT_FOUND: there
 * is no such library here; any other kind: there is, but it is of no use. `function` ends with a NULL name. */
int dynlib_open(const char *name, const char *file, const struct dynlib_function *function, void **ret,
                struct error *err);
void dynlib_close(void *library); /* NULL is fine */

#endif
