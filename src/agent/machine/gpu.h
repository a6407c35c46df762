/* GPUs of one maker, seen through the maker's own library, which is loaded if the machine has it. One table of functions
 * for each maker. May block for seconds (the driver may have to wake the cards): at the start, or on a worker thread. */
#ifndef DET_AGENT_GPU_H
#define DET_AGENT_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"

struct gpu {
    int index;               /* as the maker's tools number them */
    const char *uuid, *model;
    uint64_t memory_bytes;   /* 0: unknown */
    void *handle;            /* the library's */
};

struct gpu_usage {
    unsigned busy_percent;
    uint64_t memory_bytes;
};

struct gpu_maker {
    const char *name;               /* "NVIDIA" */
    enum wire_device_type type;
    const char *visible_variable;   /* what tells a process which GPUs are its own, by uuid */
    /* ERR_NOT_FOUND: no library, hence no GPUs. The driver's version lives in the arena. */
    int (*open)(struct arena *a, const char **ret_driver, struct error *err);
    void (*close)(void);
    /* Those that answer; one that does not is logged and left out. */
    int (*list)(struct arena *a, struct gpu **ret, size_t *ret_n, struct error *err);
    int (*usage)(const struct gpu *g, struct gpu_usage *ret, struct error *err); /* -1: it does not answer any more */
};

extern const struct gpu_maker gpu_nvidia, gpu_amd;

#endif
