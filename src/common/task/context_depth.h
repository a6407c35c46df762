/* How deep the tree of a model definition may be. Agents open every directory above each member when they unpack it,
 * and refuse what lies deeper; `det` and the master refuse it before that, so that nobody waits for a trial that cannot
 * start. */
#ifndef DET_COMMON_TASK_CONTEXT_DEPTH_H
#define DET_COMMON_TASK_CONTEXT_DEPTH_H

#define CONTEXT_DEPTH_MAX 100 /* number of names in a path; "a/b/model.py" has three */

#endif
