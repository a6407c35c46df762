#include "agent/task/runtime.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int runtime_check_name(const char *name, struct error *err)
{
    static const char *const known[] = {"auto", "process", "docker", "podman"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(name, known[i]) == 0)
            return 0;
    if (strcmp(name, "apptainer") == 0)
        return error_set(err, ERR_UNIMPLEMENTED,
                         "container_runtime is \"apptainer\", which this build does not have; set container_runtime "
                         "to process, docker, podman or auto");
    return error_set(err, ERR_INVALID, "container_runtime is \"%s\", allowed are process, docker, podman, auto", name);
}

bool runtime_wants_container(const struct agent_config *c, const struct wire_link_start_task *start)
{
    bool has_image = start->image && *start->image;
    if (strcmp(c->container_runtime, "process") == 0)
        return false;
    /* Every configuration has an image. Where containers are not the rule, only one that somebody has named counts. */
    if (strcmp(c->container_runtime, "auto") == 0)
        return has_image && start->container && start->container->image_named;
    return has_image;
}

static const char *docker_socket(void)
{
    const char *host = getenv("DOCKER_HOST");
    return host && strncmp(host, "unix://", 7) == 0 ? host + 7 : "/var/run/docker.sock";
}

static const char *podman_socket(struct arena *a)
{
    const char *runtime_dir = getenv("XDG_RUNTIME_DIR");
    if (geteuid() == 0 || !runtime_dir || !*runtime_dir)
        return "/run/podman/podman.sock";
    return arena_printf(a, "%s/podman/podman.sock", runtime_dir);
}

void runtime_list_engines(const struct agent_config *c, struct loop *l, struct arena *a, struct runtime_engines *ret)
{
    bool all = strcmp(c->container_runtime, "auto") == 0, named = *c->container_socket;
    *ret = (struct runtime_engines){.n = 0};
    if (all || strcmp(c->container_runtime, "docker") == 0)
        engine_init(&ret->engine[ret->n++], l, "docker", named ? c->container_socket : docker_socket());
    if ((all && !named) || strcmp(c->container_runtime, "podman") == 0)
        engine_init(&ret->engine[ret->n++], l, "podman", named ? c->container_socket : podman_socket(a));
}
