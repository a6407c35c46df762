#include "agent/machine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

#define CPU_PERIOD_US 100000
#define PARENT "determined"
#define LEAF "agent"
#define TEXT_MAX 4096           /* of what is written to one file; a list of cores may be long */
#define UNIT "determined-agent" /* also any instance of it, UNIT@NAME */

enum controller { MEMORY, CPU, PIDS, CPUSET, CONTROLLER_NR };
_Static_assert((int)CONTROLLER_NR == CGROUP_CONTROLLERS, "cgroup.h knows how many there are");

/* The name of each controller, and the file of its limit in each hierarchy. */
static const struct {
    const char *name, *v1_file, *v2_file;
} row[CONTROLLER_NR] = {
    [MEMORY] = {"memory", "memory.limit_in_bytes", "memory.max"},
    [CPU] = {"cpu", "cpu.cfs_quota_us", "cpu.max"},
    [PIDS] = {"pids", "pids.max", "pids.max"},
    [CPUSET] = {"cpuset", "cpuset.cpus", "cpuset.cpus"},
};

static bool is_v2(const char *root)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
    return access(path, F_OK) == 0;
}

static bool is_limit_wanted(const struct cgroup_limits *l, enum controller c)
{
    return c == MEMORY ? l->memory_bytes > 0 : c == CPU ? l->cpus > 0 : c == PIDS ? l->pids > 0 : l->cpuset != NULL;
}

static void limit_text(const struct cgroup_limits *l, enum controller c, bool v2, char *buf, size_t n)
{
    if (c == MEMORY)
        snprintf(buf, n, "%" PRId64, l->memory_bytes);
    else if (c == PIDS)
        snprintf(buf, n, "%d", l->pids);
    else if (c == CPUSET)
        snprintf(buf, n, "%s", l->cpuset);
    else
        snprintf(buf, n, v2 ? "%lld %d" : "%lld", (long long)(l->cpus * CPU_PERIOD_US), CPU_PERIOD_US);
}

static int write_group_file(const char *dir, const char *file, const char *text, struct error *err)
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

/* Makes one task's directory below `base`, and the directory above it. */
static const char *make_group(const char *base, const char *name, struct arena *a, struct error *err)
{
    const char *parent = arena_printf(a, "%s/" PARENT, base), *dir = arena_printf(a, "%s/%s", parent, name);
    return make_dir(parent, err) == 0 && make_dir(dir, err) == 0 ? dir : NULL;
}

/* The first line of a file; "" if there is none. */
static const char *read_line(const char *dir, const char *file, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    file_read(arena_printf(a, "%s/%s", dir, file), TEXT_MAX, &text, NULL);
    return arena_strndup(a, strbuf_str(&text), strcspn(strbuf_str(&text), "\n"));
}

/* A new group of v1's controller of cores has neither cores nor memory nodes, and takes no process without both. The
 * directory above a task's group gets those of the home, and the task's group gets the memory nodes. */
static int inherit_nodes(const char *base, const char *name, struct arena *a, struct error *err)
{
    static const char *const file[] = {"cpuset.cpus", "cpuset.mems"};
    const char *parent = arena_printf(a, "%s/" PARENT, base);
    for (size_t i = 0; i < 2; i++)
        if (write_group_file(parent, file[i], read_line(base, file[i], a), err) < 0)
            return -1;
    return write_group_file(arena_printf(a, "%s/%s", parent, name), file[1], read_line(base, file[1], a), err);
}

const char *cgroup_cpus(const struct cgroup_home *home, struct arena *a)
{
    return read_line(home->base[CPUSET], home->v2 ? "cpuset.cpus.effective" : "cpuset.cpus", a);
}

static int make_v1(const struct cgroup_home *home, const char *name, const struct cgroup_limits *l, struct arena *a,
                   struct cgroup *g, struct error *err)
{
    int r = 0, n = 0;
    for (enum controller c = 0; c < CONTROLLER_NR; c++) {
        if (!is_limit_wanted(l, c))
            continue;
        char text[TEXT_MAX], period[16];
        limit_text(l, c, false, text, sizeof(text));
        snprintf(period, sizeof(period), "%d", CPU_PERIOD_US);
        const char *dir = make_group(home->base[c], name, a, r == 0 ? err : NULL);
        if (!dir || (c == CPUSET && inherit_nodes(home->base[c], name, a, r == 0 ? err : NULL) < 0) ||
            (c == CPU && write_group_file(dir, "cpu.cfs_period_us", period, r == 0 ? err : NULL) < 0) ||
            write_group_file(dir, row[c].v1_file, text, r == 0 ? err : NULL) < 0) {
            r = -1;
            continue;
        }
        g->procs[n++] = arena_printf(a, "%s/tasks", dir);
        if (c == MEMORY)
            g->oom_file = arena_printf(a, "%s/memory.oom_control", dir);
        else if (c == PIDS)
            g->pids_file = arena_printf(a, "%s/pids.events", dir);
    }
    return r;
}

/* Switches a controller on for a group: every group above must have switched it on for its children. */
static void enable_v2(const char *root, const char *controller, struct arena *a)
{
    const char *text = arena_printf(a, "+%s", controller);
    write_group_file(root, "cgroup.subtree_control", text, NULL);
    write_group_file(arena_printf(a, "%s/" PARENT, root), "cgroup.subtree_control", text, NULL);
}

static int make_v2(const struct cgroup_home *home, const char *name, const struct cgroup_limits *l, struct arena *a,
                   struct cgroup *g, struct error *err)
{
    const char *root = home->base[MEMORY];
    const char *dir = make_group(root, name, a, err);
    if (!dir)
        return -1;
    int r = 0;
    for (enum controller c = 0; c < CONTROLLER_NR; c++) {
        if (!is_limit_wanted(l, c))
            continue;
        char text[TEXT_MAX];
        limit_text(l, c, true, text, sizeof(text));
        enable_v2(root, row[c].name, a);
        if (write_group_file(dir, row[c].v2_file, text, r == 0 ? err : NULL) < 0)
            r = -1;
        else if (c == MEMORY)
            g->oom_file = arena_printf(a, "%s/memory.events", dir);
        else if (c == PIDS)
            g->pids_file = arena_printf(a, "%s/pids.events", dir);
    }
    g->procs[0] = arena_printf(a, "%s/cgroup.procs", dir);
    return r;
}

int cgroup_make(const struct cgroup_home *home, const char *name, const struct cgroup_limits *l, struct arena *a,
                struct cgroup *ret, struct error *err)
{
    struct cgroup g = {.procs = arena_array(a, char *, CONTROLLER_NR + 1), .oom_file = "", .pids_file = ""};
    int r = home->v2 ? make_v2(home, name, l, a, &g, err) : make_v1(home, name, l, a, &g, err);
    *ret = g;
    return r;
}

/* Removes the groups below the home, and below the root, where an agent that was started by hand has made them. */
void cgroup_remove(const struct cgroup_home *home, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/" PARENT "/%s", home->root, name);
    rmdir(path);
    for (enum controller c = 0; c < CONTROLLER_NR; c++) {
        snprintf(path, sizeof(path), "%s/" PARENT "/%s", home->base[c], name);
        rmdir(path);
        snprintf(path, sizeof(path), "%s/%s/" PARENT "/%s", home->root, row[c].name, name);
        rmdir(path);
    }
}

/* ---- whose tree it is -------------------------------------------------------------------------------------------- */

static bool list_has_controller(const char *list, size_t n, const char *name)
{
    size_t name_n = strlen(name);
    for (const char *p = list; p < list + n; p += strcspn(p, ",:") + 1)
        if (strcspn(p, ",:") == name_n && strncmp(p, name, name_n) == 0)
            return true;
    return n == 0 && name_n == 0;
}

/* The path from the line "ID:CONTROLLERS:PATH" of this controller; the line of v2 names no controllers. NULL if there
 * is none. */
static const char *group_of(const char *membership, const char *controller, struct arena *a)
{
    for (const char *line = membership; *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n')) {
        const char *list = memchr(line, ':', strcspn(line, "\n"));
        const char *path = list ? memchr(list + 1, ':', strcspn(list + 1, "\n")) : NULL;
        if (path && list_has_controller(list + 1, (size_t)(path - list - 1), controller))
            return arena_strndup(a, path + 1, strcspn(path + 1, "\n"));
    }
    return NULL;
}

/* The group of the agent's unit, even if the agent has moved into its leaf already. */
static const char *unit_group(const char *membership, const char *controller, struct arena *a)
{
    static const char leaf[] = "/" LEAF, kind[] = ".service";
    const char *path = group_of(membership, controller, a);
    size_t n = path ? strlen(path) : 0;
    if (n > sizeof(leaf) - 1 && strcmp(path + n - (sizeof(leaf) - 1), leaf) == 0)
        path = arena_strndup(a, path, n -= sizeof(leaf) - 1);
    const char *name = path ? strrchr(path, '/') : NULL;
    bool ours = name && strncmp(name + 1, UNIT, sizeof(UNIT) - 1) == 0 && n > sizeof(kind) &&
                strcmp(path + n - (sizeof(kind) - 1), kind) == 0;
    return ours ? path : NULL;
}

static int enter_leaf(const char *unit, struct arena *a, struct error *err)
{
    const char *leaf = arena_printf(a, "%s/" LEAF, unit);
    /* 0 stands for the process that writes */
    return make_dir(leaf, err) < 0 ? -1 : write_group_file(leaf, "cgroup.procs", "0", err);
}

int cgroup_find_home(const char *root, const char *membership, struct arena *a, struct cgroup_home *ret,
                     struct error *err)
{
    struct cgroup_home h = {.root = root, .v2 = is_v2(root)};
    int r = 0;
    for (enum controller c = 0; c < CONTROLLER_NR; c++) {
        const char *unit = unit_group(membership, h.v2 ? "" : row[c].name, a);
        const char *tree = h.v2 ? root : arena_printf(a, "%s/%s", root, row[c].name);
        if (unit && h.v2 && c == 0)
            r = enter_leaf(arena_printf(a, "%s%s", root, unit), a, err);
        bool own = unit && r == 0;
        h.own |= own;
        h.base[c] = own ? arena_printf(a, "%s%s", tree, unit) : tree;
    }
    *ret = h;
    return r;
}
