/* The probe of a gang: before a trial's program starts on several machines, its containers try whether their machines
 * reach each other well enough (docs/decisions/0022). One of them reports what they have found. If the probe has
 * failed, the allocation ends as one that its agents could not start, so the trial is placed anew and nothing counts
 * against max_restarts; a machine that is to blame has failed its task, which counts for quarantine (quarantine.h). */
#ifndef DET_CORE_RESOURCES_GANG_PROBE_H
#define DET_CORE_RESOURCES_GANG_PROBE_H

#include "core/state/objects.h"

int gang_probed(struct core *c, const struct core_event *ev, struct error *err);

#endif
