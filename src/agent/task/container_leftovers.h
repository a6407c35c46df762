/* Containers that nobody takes care of any more: those of tasks that this agent does not know, because it was killed
 * between two steps, or because the engine was away when they were to be removed. They are recognised by their labels:
 * only those of this agent's own run_root are touched. They are looked for when the agent starts, and again some time
 * after a removal that has failed. */
#ifndef DET_AGENT_TASK_CONTAINER_LEFTOVERS_H
#define DET_AGENT_TASK_CONTAINER_LEFTOVERS_H

struct agent;
struct container_leftovers;
struct container_leftovers *container_leftovers_new(struct agent *a);
void container_leftovers_look_again(struct container_leftovers *l);
void container_leftovers_free(struct container_leftovers *l);

#endif
