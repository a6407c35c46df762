/* What a StartTask message says for a task that runs in a container, beyond its image. */
#ifndef DET_MASTER_START_CONTAINER_H
#define DET_MASTER_START_CONTAINER_H

#include "core/config/expconf.h"
#include "gen/wire.h"

struct start_container_order {
    const struct exp_environment *environment;
    const struct exp_device *device;
    size_t device_n;
    const char *device_kind;  /* of the task's first slot, which decides the image */
    const char *network_mode; /* of task_container_defaults */
    int32_t container_n;      /* containers of the allocation */
};

const struct wire_link_task_container *start_container_fill(const struct start_container_order *o, struct arena *a);

#endif
