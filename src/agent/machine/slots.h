/* The slots of this machine: what the agent offers to the scheduler. */
#ifndef DET_AGENT_MACHINE_SLOTS_H
#define DET_AGENT_MACHINE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/machine/cores.h"
#include "agent/machine/gpu.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"

struct slots_request {
    const char *slot_type;    /* auto, none, cpu, gpu (cuda or rocm), cuda, rocm */
    int artificial;           /* if > 0, the agent offers this many CPU slots, whatever the machine has */
    int cpu_slots;            /* number of slots that the cores are divided into; 0: all processors are one slot */
    int per_device;           /* slots that share one GPU; 0 counts as 1 */
    const char *visible_gpus; /* indices or uuids, separated by commas; "" or "-1": none; NULL: all */
    const char *cpuinfo;      /* "/proc/cpuinfo": has the processor's name */
};

struct slots {
    struct wire_link_device *device;
    size_t n;
    const struct gpu_maker *maker; /* the maker of the GPUs that the slots are; NULL if the slots are no GPUs */
    struct gpu *gpu;
    size_t gpu_n, per_device; /* slot i is a part of GPU i / per_device */
    struct cores *cores;      /* of each slot; NULL if the slots are not parts of the machine's cores */
    const char *driver;       /* version of the driver; "" without GPUs */
};

/* Finds the slots. `auto` takes the GPUs if there are any, else the processors, as one slot or divided. If GPUs were
 * asked for and are not there, the error says why. Everything lives in the arena; the maker's library stays open until
 * slots_release(). */
int slots_find(const struct slots_request *q, struct arena *a, struct slots *ret, struct error *err);
void slots_release(struct slots *s);
/* The machine's processors by model, "Xeon x 8 cores"; "" if the file can't be read. */
const char *slots_processor(const char *cpuinfo, struct arena *a);
/* The index in `gpu` of the GPU that slot i is (a part of). */
size_t slots_gpu(const struct slots *s, size_t i);
struct slots_share {
    const struct gpu *gpu;
    uint64_t memory_bytes; /* the part of its memory that these slots stand for */
};
/* The GPUs of these slots, each once, in the order of the slots; none if the slots are no GPUs. */
size_t slots_shares(const struct slots *s, const int32_t *id, size_t n, struct arena *a, struct slots_share **ret);
/* Whether this GPU is in a list of uuids, separated by commas, such as a task has of its GPUs. */
bool slots_gpu_is_listed(const char *uuids, const struct gpu *g);
/* The cores of these slots together, as "0-3,8"; NULL if they are not parts of the machine's cores. */
const char *slots_cores(const struct slots *s, const int32_t *id, size_t n, struct arena *a);
/* The device with this id; NULL if there is none. */
const struct wire_link_device *slots_device(const struct slots *s, int32_t id);

#endif
