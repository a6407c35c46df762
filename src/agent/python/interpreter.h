/* The interpreter that a task names, and what it says about itself. */
#ifndef DET_AGENT_PYTHON_INTERPRETER_H
#define DET_AGENT_PYTHON_INTERPRETER_H

#include "agent/python/python_order.h"

/* Finds the interpreter: at `named`, which is a file or the directory of a conda or virtual environment; if `named` is
 * "", the first python3 on `path`. ERR_INVALID with a sentence if there is none. */
int interpreter_find(const char *named, const char *path, struct arena *a, const char **ret, struct error *err);
/* The directory of the virtual or conda environment that the interpreter belongs to; "" if there is none. */
const char *interpreter_environment(const char *interpreter, struct arena *a);

struct interpreter_facts {
    const char *version, *tag, *machine, *prefix;
    const char **site; /* directories of its packages */
    size_t site_n;
    const char **found; /* of the modules that were asked for, those that it can import */
    size_t found_n;
};

/* Asks the interpreter, which runs as the account that makes environments. */
int interpreter_ask(const char *interpreter, const char *const *module, size_t module_n,
                    const struct python_settings *settings, struct arena *a, struct interpreter_facts *ret,
                    struct error *err);
/* Reads what the interpreter has answered. */
int interpreter_facts_decode(const char *text, size_t n, struct arena *a, struct interpreter_facts *ret,
                             struct error *err);

#endif
