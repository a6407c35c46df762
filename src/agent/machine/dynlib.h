/* A shared library that need not be on this machine. It is loaded by name while the program runs, with the functions
 * that the caller lists. */
#ifndef DET_AGENT_MACHINE_DYNLIB_H
#define DET_AGENT_MACHINE_DYNLIB_H

#include <stdbool.h>

#include "common/base/error.h"

struct dynlib_function {
    const char *name;
    void **to;
    bool optional; /* if not optional, a library without the function is refused as too old */
};

/* Loads a library. `name` is its name in error messages, `file` the file to load ("libnvidia-ml.so.1"). The list
 * `function` ends with a NULL name. ERR_NOT_FOUND: this machine has no such library; any other kind: it has one that
 * cannot be used. */
int dynlib_open(const char *name, const char *file, const struct dynlib_function *function, void **ret,
                struct error *err);
void dynlib_close(void *library); /* NULL is fine */

#endif
