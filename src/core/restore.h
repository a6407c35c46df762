/* Rebuilds the core from the store's rows (docs/spec/lifecycle.md#restart-of-the-master). The store knows what should
 * run, the agents know what does: a container is taken to run on until its agent comes back and says what became of it,
 * or is lost. */
#ifndef DET_CORE_RESTORE_H
#define DET_CORE_RESTORE_H

#include "core/state/objects.h"

void restore_all(struct core *c, const struct core_rows *rows);

#endif
