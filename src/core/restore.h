/* Rebuilding the core from the store's rows. The store is the truth about intentions, the agents are the
 * truth about processes: containers are taken to run on until their agents come back and say so, or do not. */
#ifndef DET_CORE_RESTORE_H
#define DET_CORE_RESTORE_H

#include "core/objects.h"

void restore_all(struct core *c, const struct core_rows *rows);

#endif
