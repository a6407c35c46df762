/* The process that finds or makes the Python of one task: `determined-agent python-environment`, which the agent starts
 * (environment_job.h). It may wait, for a lock or for a program, as long as it likes, and everything that it holds is
 * released when it ends.
 *
 *   standard input    the order, one line (python_order.h); its end cancels the build, or gives the environment up
 *   standard output   lines: 'L' and a line for the task's log; at last 'R' and the place (python_order.h), or
 *                     'I' or 'F' and a sentence: the task is refused, or this machine failed
 *
 * After 'R' it goes on to hold the locks of the environment until its input ends: by then the task's supervisor holds
 * them. */
#ifndef DET_AGENT_PYTHON_ENVIRONMENT_PROGRAM_H
#define DET_AGENT_PYTHON_ENVIRONMENT_PROGRAM_H

#define ENVIRONMENT_PROGRAM_COMMAND "python-environment"

enum {
    ENVIRONMENT_SAYS_LINE = 'L',
    ENVIRONMENT_SAYS_READY = 'R',
    ENVIRONMENT_SAYS_REFUSED = 'I',
    ENVIRONMENT_SAYS_FAILED = 'F',
};

int environment_program(void); /* returns the exit status */

#endif
