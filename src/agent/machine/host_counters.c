#include "agent/machine/host_counters.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "common/system/procstat.h"

#define FILE_MAX (1 << 20)
#define SECTOR_BYTES 512

static bool read_below(const char *root, const char *name, struct strbuf *ret)
{
    cleanup_free char *path = path_join(root, name);
    strbuf_reset(ret);
    return file_read(path, FILE_MAX, ret, NULL) == 0;
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static void read_cpu(const char *proc, struct host_counters *ret)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    /* The fields are user, nice, system, idle, iowait, irq, softirq, steal; the two guest fields after them are part of
     * user and nice. */
    uint64_t t[8] = {0};
    if (!read_below(proc, "stat", &text) ||
        sscanf(text.s,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 4)
        return;
    for (int i = 0; i < 8; i++)
        ret->cpu_total += t[i];
    ret->cpu_busy = ret->cpu_total - t[3] - t[4];
}

static void read_memory(const char *proc, struct host_counters *ret)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char *line = read_below(proc, "meminfo", &text) ? strstr(text.s, "MemAvailable:") : NULL;
    if (line)
        ret->memory_free = 1024 * strtoull(line + strlen("MemAvailable:"), NULL, 10);
}

/* Whether the name is that of a whole disk. /sys/block has no entry for a partition, which must not be counted beside
 * its disk. */
static bool is_disk(const char *sys, const char *name)
{
    static const char *const pseudo[] = {"loop", "ram", "zram", "dm-", "md"};
    cleanup_strbuf struct strbuf path = STRBUF_INIT;
    for (size_t i = 0; i < sizeof(pseudo) / sizeof(pseudo[0]); i++)
        if (strncmp(name, pseudo[i], strlen(pseudo[i])) == 0)
            return false;
    strbuf_addf(&path, "%s/block/%s", sys, name);
    return access(path.s, F_OK) == 0;
}

static void read_disks(const struct host_roots *roots, struct host_counters *ret)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    char *rest = read_below(roots->proc, "diskstats", &text) ? text.s : NULL;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        char name[64];
        uint64_t reads, sectors_read, writes, sectors_written;
        if (sscanf(line, "%*u %*u %63s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64, name, &reads,
                   &sectors_read, &writes, &sectors_written) != 5 ||
            !is_disk(roots->sys, name))
            continue;
        ret->disk_operations += reads + writes;
        ret->disk_read += sectors_read * SECTOR_BYTES;
        ret->disk_written += sectors_written * SECTOR_BYTES;
    }
}

static void read_network(const char *proc, struct host_counters *ret)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    char *rest = read_below(proc, "net/dev", &text) ? text.s : NULL;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        char *colon = strchr(line, ':'), *name = line + strspn(line, " ");
        uint64_t received, sent;
        if (!colon || (colon - name == 2 && strncmp(name, "lo", 2) == 0))
            continue;
        if (sscanf(colon + 1, "%" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &received, &sent) == 2) {
            ret->net_received += received;
            ret->net_sent += sent;
        }
    }
}

/* ---- the task ---------------------------------------------------------------------------------------------------- */

struct process {
    struct procstat stat;
    struct task_counters *task; /* the task that it belongs to; NULL: none, as far as is known yet */
};

static size_t list_processes(const char *proc, struct process *list, size_t max)
{
    DIR *d = opendir(proc);
    size_t n = 0;
    for (pid_t pid; d && n < max && (pid = procstat_next(d));) {
        list[n] = (struct process){0};
        if (procstat_read(proc, pid, &list[n].stat))
            n++;
    }
    if (d)
        closedir(d);
    return n;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    return (x->stat.pid > y->stat.pid) - (x->stat.pid < y->stat.pid);
}

static struct process *find_process(pid_t pid, struct process *list, size_t n)
{
    const struct process key = {.stat.pid = pid};
    return bsearch(&key, list, n, sizeof(*list), by_pid);
}

static void count_process(struct process *p, struct task_counters *task)
{
    p->task = task;
    task->ticks += p->stat.cpu_ticks;
    task->memory += p->stat.pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Adds up the tasks' processes. All processes of the machine are read, because the kernel lists children thread by
 * thread, which costs more for the many threads of a rank. Parents come before their children nearly always, so one or
 * two rounds are enough. */
bool host_counters_read_tasks(const char *proc, struct task_counters *task, size_t task_n)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct process *list = arena_array(&a, struct process, PROCESSES_MAX);
    size_t n = list_processes(proc, list, PROCESSES_MAX);
    qsort(list, n, sizeof(*list), by_pid);
    for (size_t i = 0; i < task_n; i++) {
        struct process *p = find_process(task[i].supervisor, list, n);
        task[i].ticks = task[i].memory = 0;
        task[i].found = p && !p->task;
        if (task[i].found)
            count_process(p, &task[i]);
    }
    for (bool more = true; more;) {
        more = false;
        for (struct process *p = list; p < list + n; p++) {
            const struct process *parent = p->task ? NULL : find_process(p->stat.parent, list, n);
            if (!parent || !parent->task)
                continue;
            count_process(p, parent->task);
            more = true;
        }
    }
    return n < PROCESSES_MAX;
}

void host_counters_read(const struct host_roots *roots, pid_t supervisor, struct host_counters *ret)
{
    *ret = (struct host_counters){.at_us = clock_monotonic_us()};
    read_cpu(roots->proc, ret);
    read_memory(roots->proc, ret);
    read_disks(roots, ret);
    read_network(roots->proc, ret);
    struct task_counters task = {.supervisor = supervisor};
    if (supervisor > 0)
        host_counters_read_tasks(roots->proc, &task, 1);
    ret->task_ticks = task.ticks;
    ret->task_memory = task.memory;
}
