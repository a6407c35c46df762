/* Carries out the orders of elastic pools: each has a provider (provider.h) and a thread that calls it. What a provider
 * lists goes to the core, which decides; orders come back as effects. */
#ifndef DET_MASTER_POOLS_PROVISIONER_H
#define DET_MASTER_POOLS_PROVISIONER_H

#include <stdint.h>

#include "core/core.h"

struct master;
struct provisioner;

int provisioner_new(struct master *m, struct provisioner **ret, struct error *err);
void provisioner_order(struct provisioner *p, const struct core_effect *order); /* carries out a CORE_ORDER_INSTANCES */
void provisioner_stop(struct provisioner *p); /* no further turn begins after this; the machines go on running */
void provisioner_free(struct provisioner *p);

/* Counts since the start of the master, for metrics. provisioner_counts() returns false if the pool is not elastic. */
struct provisioner_counts {
    int64_t launched, launch_failures, terminated;
};
bool provisioner_counts(const struct provisioner *p, const char *pool, struct provisioner_counts *ret);

#endif
