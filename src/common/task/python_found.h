/* The result of `determined-task --look-for-python`, and the form in which it is written to standard output: binary
 * (common/base/bytes.h). */
#ifndef DET_COMMON_TASK_PYTHON_FOUND_H
#define DET_COMMON_TASK_PYTHON_FOUND_H

#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/strbuf.h"

#define PYTHON_FOUND_BYTES_MAX (4 * 1024 * 1024) /* the agent reads no more */

struct python_found {
    const char *executable; /* "" if there is none */
    const char *version;    /* "3.11.2", "3.11" where it does not say more, "" where it says nothing */
    struct python_package {
        const char *name, *version;
    } *package;
    size_t package_n;
};

void python_found_encode(const struct python_found *f, struct strbuf *out);
/* Strings and arrays live in the arena. Returns -1 if the data are damaged or incomplete. */
int python_found_decode(const void *data, size_t n, struct arena *a, struct python_found *ret);

#endif
