/* Finds and kills the processes of a task, through /proc. The supervisor is their subreaper: whatever they fork, and
 * however they detach themselves (setsid, double fork), they stay its descendants until they are reaped. To end the
 * task, the supervisor kills the descendants again and again until none is left. */
#ifndef DET_TASK_PROCTREE_H
#define DET_TASK_PROCTREE_H

#include <sys/types.h>

/* Sends SIGKILL to every living descendant of `root`, but not to `root`. Returns how many processes there were. */
int proctree_kill_descendants(pid_t root);
/* The same for processes that a dead supervisor has left: those whose environment holds the entry `mark`
 * ("NAME=value"), and those that see the task's own directory `run_dir` mounted, whatever their environment says.
 * run_dir is NULL if the task had no mounts. */
int proctree_kill_marked(const char *mark, const char *run_dir);

#endif
