/* What machine this is; recorded with the trials that run on it. */
#ifndef DET_AGENT_MACHINE_HOST_FACTS_H
#define DET_AGENT_MACHINE_HOST_FACTS_H

#include "common/base/arena.h"
#include "gen/wire.h"

struct host_facts_places {
    const char *os_release, *cpuinfo; /* "/etc/os-release", "/proc/cpuinfo"; tests have their own */
};

/* Fills in everything but devices and image. What cannot be found out stays empty; nothing depends on it. */
void host_facts_read(const struct host_facts_places *places, const char *hostname, struct arena *a,
                     struct wire_host_environment *ret);

#endif
