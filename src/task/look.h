/* determined-task --look-for-python DIRECTORY: which Python the task would run with, found by looking at files.
 *
 * The task's user owns much of what is looked at, and may have made a FIFO, an endless directory or a link to a secret of it.
 * Therefore a process of its own looks, with that user's rights and within limits of time, memory and entries, and the agent
 * waits for it no longer than it likes to. */
#ifndef DET_TASK_LOOK_H
#define DET_TASK_LOOK_H

#include "common/base/error.h"
#include "common/task/taskspec.h"
#include "task/missing_module.h"

/* Reads the order in the supervisor's directory `dir`, becomes the task's user, looks, and writes what it has found to its
 * standard output (common/task/python_found.h). */
int look_for_python(const char *dir, struct error *err);

/* In a process of its own: becomes the task's user, looks which Python the task would start, and writes to `fd` what is to be
 * said of a module that was not found. Does not return. */
void __attribute__((noreturn)) look_and_explain_missing(const struct taskspec *s, const struct missing_module *m, int fd);

#endif
