/* A program of the task did not find a module of Python: noticed in what it writes, and told at the end with the way out.
 *
 * Which Python runs a task's code is the first thing that people get wrong here, where there are no images. */
#ifndef DET_TASK_MISSING_MODULE_H
#define DET_TASK_MISSING_MODULE_H

#include <stddef.h>

#include "common/base/strbuf.h"

enum { MODULE_NAME_MAX = 100 };

struct missing_module {
    char name[MODULE_NAME_MAX + 1]; /* the first one that was missed; "": none */
};

/* One line of the task's standard error. */
void missing_module_look(struct missing_module *m, const char *line, size_t n);

/* python: the interpreter that the task would start as python3; NULL: there is none */
void missing_module_explain(const struct missing_module *m, const char *python, struct strbuf *ret);

#endif
