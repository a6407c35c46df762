#include "task/proctree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/system/mountinfo.h"
#include "common/system/procstat.h"

struct process {
    struct procstat stat;
    bool wanted;
};

struct process_list {
    struct process *item;
    size_t n;
};

/* Reads the whole file /proc/PID/FILE. */
static int read_proc(pid_t pid, const char *file, struct strbuf *out)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    strbuf_reset(out);
    for (;;) {
        strbuf_reserve(out, 4096);
        ssize_t n = read(fd, out->s + out->n, 4096);
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        out->n += (size_t)n;
    }
    out->s[out->n] = 0;
    return 0;
}

static struct process_list list_processes(void)
{
    struct process_list l = {0};
    size_t cap = 0;
    DIR *d = opendir("/proc");
    if (!d)
        return l;
    for (pid_t pid; (pid = procstat_next(d));) {
        struct process p = {0};
        if (!procstat_read("/proc", pid, &p.stat))
            continue;
        if (l.n == cap) {
            cap = cap ? 2 * cap : 256;
            l.item = must_realloc(l.item, cap * sizeof(*l.item));
        }
        l.item[l.n++] = p;
    }
    closedir(d);
    return l;
}

static bool is_wanted(const struct process_list *l, pid_t pid)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->item[i].stat.pid == pid)
            return l->item[i].wanted;
    return false;
}

/* Marks all descendants of `root`. Process ids wrap around, so a child may be listed before its parent; the list is
 * passed over until nothing new is found. */
static void mark_descendants(struct process_list *l, pid_t root)
{
    bool found = true;
    while (found) {
        found = false;
        for (size_t i = 0; i < l->n; i++) {
            struct process *p = &l->item[i];
            if (!p->wanted && (p->stat.parent == root || is_wanted(l, p->stat.parent)))
                found = p->wanted = true;
        }
    }
}

static int kill_wanted(const struct process_list *l)
{
    int n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->item[i].wanted && !l->item[i].stat.over && kill(l->item[i].stat.pid, SIGKILL) == 0)
            n++;
    return n;
}

int proctree_kill_descendants(pid_t root)
{
    struct process_list l = list_processes();
    mark_descendants(&l, root);
    int n = kill_wanted(&l);
    free(l.item);
    return n;
}

static bool has_entry(const struct strbuf *environment, const char *mark)
{
    const char *end = environment->s + environment->n;
    for (const char *p = environment->s; p < end; p += strlen(p) + 1)
        if (strcmp(p, mark) == 0)
            return true;
    return false;
}

/* Whether a directory whose path within its file system ends in `tail` is mounted at /run/determined. */
static bool is_mounted(const char *mountinfo, const char *tail)
{
    struct mountinfo_line m;
    size_t tail_n = strlen(tail), n;
    while (mountinfo_next(&mountinfo, &m))
        if (strcmp(m.at, "/run/determined") == 0 && (n = strlen(m.root)) >= tail_n &&
            strcmp(m.root + n - tail_n, tail) == 0)
            return true;
    return false;
}

/* The last two names of run_dir as mountinfo writes them. They are enough, because one of them is the container's id.
 */
static const char *tail_of(const char *run_dir, struct arena *a)
{
    const char *tail = strrchr(run_dir, '/');
    while (tail && tail > run_dir && *--tail != '/')
        ;
    return mountinfo_path(tail ? tail : run_dir, a);
}

static bool is_marked(pid_t pid, const char *mark, const char *tail, struct strbuf *scratch)
{
    if (mark && read_proc(pid, "environ", scratch) == 0 && has_entry(scratch, mark))
        return true;
    return tail && read_proc(pid, "mountinfo", scratch) == 0 && is_mounted(strbuf_str(scratch), tail);
}

int proctree_kill_marked(const char *mark, const char *run_dir)
{
    struct process_list l = list_processes();
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_arena struct arena a = ARENA_INIT;
    const char *tail = run_dir ? tail_of(run_dir, &a) : NULL;
    for (size_t i = 0; i < l.n; i++)
        l.item[i].wanted = l.item[i].stat.pid != getpid() && is_marked(l.item[i].stat.pid, mark, tail, &text);
    int n = kill_wanted(&l);
    free(l.item);
    return n;
}
