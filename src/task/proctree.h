/* The processes of a task, found in /proc. The supervisor is their subreaper, so whatever they fork, and however they
 * detach themselves (setsid, double fork), stays below it until it is reaped: killing the descendants again and again
 * until there are none ends the task, whole. */
#ifndef DET_TASK_PROCTREE_H
#define DET_TASK_PROCTREE_H

#include <sys/types.h>

/* Sends SIGKILL to every living descendant of `root`, not to itself. Returns how many there were. */
int proctree_kill_descendants(pid_t root);
/* The same for what a dead supervisor has left behind: processes whose environment holds the entry `mark` ("NAME=value"),
 * and those that see the task's own directory `run_dir` mounted (NULL: none do), whatever became of their environment. */
int proctree_kill_marked(const char *mark, const char *run_dir);

#endif
