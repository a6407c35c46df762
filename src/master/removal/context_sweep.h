/* Removes the files that were sent with launched tasks from the store, some days after the last task that has them
 * ended (retention_policy.context_days): at the master's start, and every hour. Until then generic tasks can be forked
 * with them.
 *
 * Each job of the writer looks at some hundred archives and deletes one, which may have 95 MiB. These functions are for
 * the loop only. */
#ifndef DET_MASTER_REMOVAL_CONTEXT_SWEEP_H
#define DET_MASTER_REMOVAL_CONTEXT_SWEEP_H

struct context_sweep;
struct master;

struct context_sweep *context_sweep_new(struct master *m);
void context_sweep_free(struct context_sweep *s); /* s may be NULL; the writer must have no job of it any more */

#endif
