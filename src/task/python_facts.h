/* Which Python a task's program would run with. It is recorded with the task. It is found by looking at files; nothing
 * is executed. A program that uses our library reports it more exactly, and its report replaces this one. */
#ifndef DET_TASK_PYTHON_FACTS_H
#define DET_TASK_PYTHON_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/task/python_found.h"

/* What the task's order says. Members that come from the environment may be NULL. */
struct python_search {
    const char *const *argv; /* the user's command; a command of one element is run by a shell */
    size_t argv_n;
    const char *path, *python_path, *user_base; /* PATH, PYTHONPATH, PYTHONUSERBASE */
    const char *work_dir;
};

/* The first Python interpreter that the command names, else the python3 of PATH; NULL if there is neither. */
const char *python_facts_interpreter(const struct python_search *s, struct arena *a);

/* Fills *ret with that interpreter, its version and its packages; returns false if there is no interpreter. What cannot
 * be found out stays empty. Reads directories that the task's user may own, so it must be called in a process that
 * nobody waits for (task/find_python.h). */
bool python_facts_find(const struct python_search *s, struct arena *a, struct python_found *ret);

#endif
