/* The machine's cores, and their division into slots (cpu_slots). */
#ifndef DET_AGENT_MACHINE_CORES_H
#define DET_AGENT_MACHINE_CORES_H

#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct cores {
    int *id; /* as the kernel numbers them, ascending */
    size_t n;
};

/* The cores that this process may run on. */
int cores_read(struct arena *a, struct cores *ret, struct error *err);
/* Divides the cores into n slots of neighbours. Each slot has as many as the others, or one more. ret has room for n.
 * ERR_INVALID if there are fewer cores than slots. */
int cores_divide(const struct cores *all, size_t n, struct cores *ret, struct error *err);
/* "0-3,8", as the kernel reads it, of the cores of n slots together. */
const char *cores_text(const struct cores *slot, size_t n, struct arena *a);

#endif
