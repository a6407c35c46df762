/* Notices in a task's output that Python did not find a module, and explains at the task's end what to do.
 *
 * Which Python runs the task's code is what people get wrong most often here, because there are no images. */
#ifndef DET_TASK_MISSING_MODULE_H
#define DET_TASK_MISSING_MODULE_H

#include <stddef.h>

#include "common/base/strbuf.h"

enum { MODULE_NAME_MAX = 100 };

struct missing_module {
    char name[MODULE_NAME_MAX + 1]; /* the first module that was not found; "" if none */
};

/* Scans one line of the task's standard error. */
void missing_module_scan(struct missing_module *m, const char *line, size_t n);

/* python: the interpreter that the task would start as python3; NULL if there is none */
void missing_module_explain(const struct missing_module *m, const char *python, struct strbuf *ret);

#endif
