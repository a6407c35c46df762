#include "agent/task/runtime.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/apptainer.h"
#include "agent/task/runtime_container.h"

static bool is_command(const char *name)
{
    return strcmp(name, "apptainer") == 0 || strcmp(name, "singularity") == 0;
}

int runtime_check_name(const char *name, struct error *err)
{
    static const char *const known[] = {"auto", "process", "docker", "podman"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(name, known[i]) == 0)
            return 0;
    if (is_command(name))
        return 0;
    return error_set(err, ERR_INVALID,
                     "container_runtime is \"%s\", allowed are process, docker, podman, apptainer, singularity, auto",
                     name);
}

const struct runtime *runtime_of_containers(const struct agent_config *c)
{
    return is_command(c->container_runtime) ? &runtime_apptainer : &runtime_container;
}

const char *runtime_find_command(const struct agent_config *c, struct arena *a)
{
    return is_command(c->container_runtime) ? apptainer_find(c->container_runtime, getenv("PATH"), a) : NULL;
}

void runtime_ask_cancel(struct runtime_ask *ask)
{
    if (ask)
        ask->cancel(ask);
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
    for (size_t i = 0; i < ret->n; i++)
        ret->engine[i].wants_proxy = *c->https_proxy || *c->http_proxy;
    if (is_command(c->container_runtime)) {
        engine_init(&ret->command, l, c->container_runtime, "");
        ret->command.known = ret->command.by_command = true;
    }
}
