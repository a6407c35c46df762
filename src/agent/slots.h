/* The slots of this machine: what the agent offers to the scheduler. */
#ifndef DET_AGENT_SLOTS_H
#define DET_AGENT_SLOTS_H

#include <stddef.h>

#include "common/arena.h"
#include "common/error.h"
#include "gen/wire.h"

/* slot_type: auto, none, cpu; gpu, cuda and rocm are an error as long as this build finds no such devices. artificial >
 * 0 gives so many CPU slots, whatever the machine has. The processor's name is read from `cpuinfo` (/proc/cpuinfo). */
int slots_find(const char *slot_type, int artificial, const char *cpuinfo, struct arena *a,
               struct wire_link_device **ret, size_t *ret_n, struct error *err);

#endif
