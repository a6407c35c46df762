#include "agent/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

#define CPU_PERIOD_US 100000
#define PARENT "determined"

enum controller { MEMORY, CPU, PIDS, CONTROLLER_NR };

/* What a controller is called, and where each hierarchy keeps its limit. */
static const struct {
    const char *name, *v1_file, *v2_file;
} row[CONTROLLER_NR] = {
    [MEMORY] = {"memory", "memory.limit_in_bytes", "memory.max"},
    [CPU] = {"cpu", "cpu.cfs_quota_us", "cpu.max"},
    [PIDS] = {"pids", "pids.max", "pids.max"},
};

static bool is_v2(const char *root)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
    return access(path, F_OK) == 0;
}

static bool wanted(const struct cgroup_limits *l, enum controller c)
{
    return c == MEMORY ? l->memory_bytes > 0 : c == CPU ? l->cpus > 0 : l->pids > 0;
}

static void limit_text(const struct cgroup_limits *l, enum controller c, bool v2, char *buf, size_t n)
{
    if (c == MEMORY)
        snprintf(buf, n, "%" PRId64, l->memory_bytes);
    else if (c == PIDS)
        snprintf(buf, n, "%d", l->pids);
    else
        snprintf(buf, n, v2 ? "%lld %d" : "%lld", (long long)(l->cpus * CPU_PERIOD_US), CPU_PERIOD_US);
}

static int put(const char *dir, const char *file, const char *text, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    cleanup_close int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return error_errno(err, "cgroup: cannot write %s to %s", text, path);
    return 0;
}

static int make_dir(const char *path, struct error *err)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return error_errno(err, "cgroup: cannot make %s", path);
    return 0;
}

/* One task's directory below `base`, its parent included. */
static const char *make_group(const char *base, const char *name, struct arena *a, struct error *err)
{
    const char *parent = arena_printf(a, "%s/" PARENT, base), *dir = arena_printf(a, "%s/%s", parent, name);
    return make_dir(parent, err) == 0 && make_dir(dir, err) == 0 ? dir : NULL;
}

static int make_v1(const char *root, const char *name, const struct cgroup_limits *l, struct arena *a, struct cgroup *g,
                   struct error *err)
{
    int r = 0, n = 0;
    for (enum controller c = 0; c < CONTROLLER_NR; c++) {
        if (!wanted(l, c))
            continue;
        char text[64], period[16];
        limit_text(l, c, false, text, sizeof(text));
        snprintf(period, sizeof(period), "%d", CPU_PERIOD_US);
        const char *dir = make_group(arena_printf(a, "%s/%s", root, row[c].name), name, a, r == 0 ? err : NULL);
        if (!dir || (c == CPU && put(dir, "cpu.cfs_period_us", period, r == 0 ? err : NULL) < 0) ||
            put(dir, row[c].v1_file, text, r == 0 ? err : NULL) < 0) {
            r = -1;
            continue;
        }
        g->procs[n++] = arena_printf(a, "%s/cgroup.procs", dir);
        if (c == MEMORY)
            g->oom_file = arena_printf(a, "%s/memory.oom_control", dir);
    }
    return r;
}

/* A controller works in a group once every group above has switched it on for its children. */
static void enable_v2(const char *root, const char *controller, struct arena *a)
{
    const char *text = arena_printf(a, "+%s", controller);
    put(root, "cgroup.subtree_control", text, NULL);
    put(arena_printf(a, "%s/" PARENT, root), "cgroup.subtree_control", text, NULL);
}

static int make_v2(const char *root, const char *name, const struct cgroup_limits *l, struct arena *a, struct cgroup *g,
                   struct error *err)
{
    const char *dir = make_group(root, name, a, err);
    if (!dir)
        return -1;
    int r = 0;
    for (enum controller c = 0; c < CONTROLLER_NR; c++) {
        if (!wanted(l, c))
            continue;
        char text[64];
        limit_text(l, c, true, text, sizeof(text));
        enable_v2(root, row[c].name, a);
        if (put(dir, row[c].v2_file, text, r == 0 ? err : NULL) < 0)
            r = -1;
        else if (c == MEMORY)
            g->oom_file = arena_printf(a, "%s/memory.events", dir);
    }
    g->procs[0] = arena_printf(a, "%s/cgroup.procs", dir);
    return r;
}

int cgroup_make(const char *root, const char *name, const struct cgroup_limits *l, struct arena *a, struct cgroup *ret,
                struct error *err)
{
    struct cgroup g = {.procs = arena_array(a, char *, CONTROLLER_NR + 1), .oom_file = ""};
    int r = is_v2(root) ? make_v2(root, name, l, a, &g, err) : make_v1(root, name, l, a, &g, err);
    *ret = g;
    return r;
}

void cgroup_remove(const char *root, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/" PARENT "/%s", root, name);
    rmdir(path);
    for (enum controller c = 0; c < CONTROLLER_NR; c++) {
        snprintf(path, sizeof(path), "%s/%s/" PARENT "/%s", root, row[c].name, name);
        rmdir(path);
    }
}
