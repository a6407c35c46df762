/* GPUs of one maker, through the maker's own library, which is loaded if the machine has it. Each maker has one table
 * of functions. The functions may block for seconds, since the driver may have to wake the cards: call them at the
 * start, or on a worker thread. */
#ifndef DET_AGENT_MACHINE_GPU_H
#define DET_AGENT_MACHINE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"

struct gpu {
    int index; /* as the maker's tools number them */
    const char *uuid, *model;
    uint64_t memory_bytes; /* 0: unknown */
    void *handle;          /* the library's handle */
    void *card;      /* the library's handle of the card whose health counts: for a part of a card, the whole card */
    uint64_t errors; /* uncorrected errors of its memory when it was found */
};

struct gpu_usage {
    bool busy_known; /* false: the GPU does not tell how busy it is, as an instance of a card that is cut (MIG) */
    unsigned busy_percent;
    uint64_t memory_bytes;
};

/* What is kept of one GPU from one check of its health to the next; zero at first, with the errors of struct gpu. */
struct gpu_health {
    void *events; /* the library's, for errors of the driver */
    uint64_t errors;
    bool hot, begun;
};

struct gpu_maker {
    const char *name; /* "NVIDIA" */
    enum wire_device_type type;
    const char *visible_variable; /* the environment variable that lists, by uuid, the GPUs that a process may use */
    /* Loads the library. ERR_NOT_FOUND: there is none, hence there are no GPUs. The driver's version lives in the
     * arena. */
    int (*open)(struct arena *a, const char **ret_driver, struct error *err);
    void (*close)(void);
    /* Lists the GPUs that answer. One that does not answer is logged and left out. */
    int (*list)(struct arena *a, struct gpu **ret, size_t *ret_n, struct error *err);
    /* -1: the GPU does not answer any more */
    int (*usage)(const struct gpu *g, struct gpu_usage *ret, struct error *err);
    /* -1: the GPU answers, but has failed since the last check; *err says how. Each failure is told once. NULL: the
     * library tells nothing of health. */
    int (*health)(const struct gpu *g, struct gpu_health *h, struct error *err);
    void (*health_end)(struct gpu_health *h); /* gives back what checks have taken from the library; NULL: nothing */
};

extern const struct gpu_maker gpu_nvidia, gpu_amd;

#endif
