/* The port registry: a trial's processes on one machine need ports that no other trial uses. Lowest free number from
 * each base, unique in the whole cluster, free again when the allocation ends. */
#ifndef DET_CORE_PORTS_H
#define DET_CORE_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rows.h"

struct ports {
    uint64_t used[65536 / 64];
};

void ports_init(struct ports *p, const int32_t *reserved, size_t n);
void ports_take(struct ports *p, int32_t ret[CORE_PORTS]);            /* 0 where none is left */
void ports_restore(struct ports *p, const int32_t port[CORE_PORTS]);  /* taken in an earlier life */
void ports_give_back(struct ports *p, const int32_t port[CORE_PORTS]);

#endif
