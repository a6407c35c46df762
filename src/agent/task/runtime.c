#include "agent/task/runtime.h"

#include <string.h>

int runtime_choose(const char *name, const struct runtime **ret, struct error *err)
{
    static const char *const planned[] = {"docker", "podman", "apptainer"};
    if (strcmp(name, "process") == 0 || strcmp(name, "auto") == 0) {
        *ret = &runtime_process;
        return 0;
    }
    for (size_t i = 0; i < sizeof(planned) / sizeof(planned[0]); i++)
        if (strcmp(name, planned[i]) == 0)
            return error_set(err, ERR_UNIMPLEMENTED,
                             "container_runtime is \"%s\", but this build has only the runtime \"process\"; set "
                             "container_runtime to process or auto",
                             name);
    return error_set(err, ERR_INVALID,
                     "container_runtime is \"%s\", allowed are process, docker, podman, apptainer, auto", name);
}
