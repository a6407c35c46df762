/* What an order asks of a container is checked before the engine gets it: the engine is root, and would mount whatever
 * is named. A task must not see through a mount what its account could not reach on the machine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task/runtime_container.h"
#include "common/base/cleanup.h"
#include "common/task/taskspec.h"

const char *container_mount_target(const struct runtime_task *t, const struct wire_link_bind_mount *m)
{
    struct arena *a = (struct arena *)&t->arena;
    const char *to = m->container_path && *m->container_path ? m->container_path : m->host_path;
    return *to == '/' ? to : arena_printf(a, "%s/%s", t->work_dir, to);
}

static bool is_at_or_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    return strncmp(path, dir, n) == 0 && (n == 1 || !path[n] || path[n] == '/');
}

/* An agent that is not root has nothing but this to keep its tasks, which run as its own user, from its own files and
 * from its engine. */
const char *container_secret_in(const struct runtime_task *t, const char *source)
{
    const char *socket = t->engine->socket;
    if (t->account.change)
        return NULL;
    if (geteuid() != 0 && *socket && (is_at_or_below(source, socket) || is_at_or_below(socket, source)))
        return socket;
    for (char **secret = t->config->secret_path; geteuid() != 0 && *secret; secret++)
        if (is_at_or_below(source, *secret) || is_at_or_below(*secret, source))
            return *secret;
    return NULL;
}

static int check_mount(struct runtime_task *t, const struct wire_link_bind_mount *m, struct error *err)
{
    struct stat st;
    cleanup_free char *real = *m->host_path == '/' ? realpath(m->host_path, NULL) : NULL;
    if (!real || stat(real, &st) < 0)
        return error_set(err, ERR_INVALID, "the bind mount %s cannot be made: %s on this machine (%s)", m->host_path,
                         errno == ENOENT ? "it does not exist" : strerror(errno), t->config->agent_id);
    if (!account_reaches(&t->account, real, 0))
        return error_set(err, ERR_INVALID,
                         "the bind mount %s cannot be made: the account %s (uid %u), as which the task runs, may not "
                         "reach it on this machine (%s)",
                         m->host_path, t->account.name, (unsigned)t->account.uid, t->config->agent_id);
    const char *secret = container_secret_in(t, real);
    if (secret)
        return error_set(err, ERR_INVALID,
                         "the bind mount %s cannot be made: it would show the task %s, which belongs to the agent",
                         m->host_path, secret);
    t->place[t->place_n++] = (struct taskspec_place){.target = container_mount_target(t, m),
                                                     .dev = (uint64_t)st.st_dev,
                                                     .ino = (uint64_t)st.st_ino};
    return 0;
}

static int check_devices(const struct runtime_task *t, struct error *err)
{
    const struct wire_link_task_container *c = t->start->container;
    for (size_t i = 0; c && i < c->devices_n; i++) {
        struct stat st;
        const char *path = c->devices[i].host_path;
        if (stat(path, &st) < 0)
            return error_set(err, ERR_INVALID, "resources.devices: %s: %s on this machine (%s)", path,
                             errno == ENOENT ? "it does not exist" : strerror(errno), t->config->agent_id);
        if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode) && !S_ISDIR(st.st_mode))
            return error_set(err, ERR_INVALID, "resources.devices: %s is no device", path);
    }
    return 0;
}

static int check_shm(const struct runtime_task *t, struct error *err)
{
    int64_t shm = runtime_shm_bytes(t), memory = t->limits.memory_bytes;
    if (memory <= 0 || shm <= memory)
        return 0;
    return error_set(err, ERR_INVALID,
                     "resources.shm_size asks for %lld bytes of /dev/shm, which count as memory, and the task may use "
                     "%lld bytes of memory; lower shm_size, or raise resources.memory_limit",
                     (long long)shm, (long long)memory);
}

int container_check_order(struct runtime_task *t, struct error *err)
{
    const struct wire_link_start_task *s = t->start;
    t->place = arena_array(&t->arena, struct taskspec_place, s->bind_mounts_n + 1);
    for (size_t i = 0; i < s->bind_mounts_n; i++)
        if (check_mount(t, &s->bind_mounts[i], err) < 0)
            return -1;
    return check_devices(t, err) < 0 ? -1 : check_shm(t, err);
}
