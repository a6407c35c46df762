/* Which Python a task's program would run with, for the record of what it ran in: found by looking at files, nothing is
 * executed. A program that uses our library tells it better, and then that counts. */
#ifndef DET_TASK_PYTHON_FACTS_H
#define DET_TASK_PYTHON_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/task/python_found.h"

/* Of the task. Paths of the environment may be NULL. */
struct python_search {
    const char *const *argv; /* the user's command; one element is a shell command */
    size_t argv_n;
    const char *path, *python_path, *user_base; /* PATH, PYTHONPATH, PYTHONUSERBASE */
    const char *work_dir;
};

/* The first interpreter that the command names, else python3 of PATH; NULL: there is none. */
const char *python_facts_interpreter(const struct python_search *s, struct arena *a);

/* What there is to know of it; false: there is none. What cannot be found out about it
 * stays empty. Looks at directories, some of them the user's own: in a process that nobody waits for (task/look.h). */
bool python_facts_find(const struct python_search *s, struct arena *a, struct python_found *ret);

#endif
