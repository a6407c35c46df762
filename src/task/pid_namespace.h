/* Process ids of the task's own (a process id namespace).
 *
 * Its first process does nothing but take over the orphans of the task. The kernel ends every process of the namespace
 * when the first process ends, and the first process ends with the supervisor: so nothing of a task outlives its
 * supervisor, however that ends. The entrypoint is the supervisor's own child, and has a number other than 1, because
 * the kernel withholds signals from the first process of a namespace.
 *
 * Making a namespace needs the rights of root. */
#ifndef DET_TASK_PID_NAMESPACE_H
#define DET_TASK_PID_NAMESPACE_H

#include <sys/types.h>

#include "common/base/error.h"

struct pid_namespace {
    pid_t first; /* the namespace's first process, as the supervisor sees it; 0: there is no namespace */
    int outside; /* the supervisor's own namespace; -1 without a namespace */
};
#define PID_NAMESPACE_NONE {.first = 0, .outside = -1}

/* Makes a namespace. From here to pid_namespace_leave(), processes that the caller starts are in it. */
int pid_namespace_enter(struct pid_namespace *ret, struct error *err);
void pid_namespace_leave(struct pid_namespace *n);
/* Ends the namespace of a task that did not start, with everything that is in it. */
void pid_namespace_end(struct pid_namespace *n);

#endif
