/* determined-task --look-for-python DIRECTORY: which Python the task would run with, found by looking at files.
 *
 * The task's user owns many of these files, and may have put a FIFO, an endless directory or a link to somebody's
 * secret among them. Therefore a process of its own looks at them, with the rights of the task's user and within
 * limits of time, memory and entries; the agent waits for that process a limited time
 * (agent/machine/python_probe.h). */
#ifndef DET_TASK_FIND_PYTHON_H
#define DET_TASK_FIND_PYTHON_H

#include "common/base/error.h"
#include "common/task/taskspec.h"
#include "task/missing_module.h"

/* Reads the order in the supervisor's directory `dir`, becomes the task's user for good, finds Python, and writes the
 * result to standard output (common/task/python_found.h). */
int find_python(const char *dir, struct error *err);

/* Called in a process of its own. Becomes the task's user, finds which Python the task would start, and writes to `fd`
 * the sentence about a module that was not found. Does not return. */
void __attribute__((noreturn)) find_python_and_explain_missing(const struct taskspec *s, const struct missing_module *m,
                                                               int fd);

#endif
