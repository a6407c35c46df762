/* The interpreter that a task names, and what it says about itself. */
#ifndef DET_AGENT_PYTHON_INTERPRETER_H
#define DET_AGENT_PYTHON_INTERPRETER_H

#include "agent/python/python_order.h"

/* Whether the account that makes environments can use `path`: `want` is R_OK, X_OK or both. */
bool python_builder_reaches(const struct python_settings *s, const char *path, int want);

/* Finds the interpreter that the task names: a file, or the directory of a conda or virtual environment. ERR_INVALID
 * with a sentence if there is none. */
int interpreter_find(const char *named, struct arena *a, const char **ret, struct error *err);
/* Finds the first python3 on `path`. Of `builder`, which may be NULL, it finds the first one that the account that
 * makes environments may run; *ret_passed then is the one before it that the account may not run, or NULL. If the
 * account may run none, it is the first one after all: interpreter_ask() tells what is wrong with it. ERR_INVALID if
 * there is none. */
int interpreter_find_on_path(const char *path, const struct python_settings *builder, struct arena *a, const char **ret,
                             const char **ret_passed, struct error *err);
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
