/* Counters of a machine and of one task on it, read from /proc and /sys; rates are differences of two readings. Reading
 * takes well under a millisecond for a task of some hundred processes, but is done on a worker thread all the same. */
#ifndef DET_AGENT_MACHINE_HOST_COUNTERS_H
#define DET_AGENT_MACHINE_HOST_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCESSES_MAX = 16384 }; /* processes of the machine that are read at most */

struct host_counters {
    int64_t at_us;                /* monotonic */
    uint64_t cpu_busy, cpu_total; /* clock ticks of all processors since boot */
    /* operations, and bytes read and written, of whole disks; loop devices and the like do not count */
    uint64_t disk_operations, disk_read, disk_written;
    uint64_t net_sent, net_received; /* bytes over all interfaces but the loopback */
    uint64_t memory_free;            /* bytes that can be had without swapping */
    uint64_t task_ticks;             /* clock ticks of the task's processes, ended ones included */
    uint64_t task_memory;            /* resident bytes; a page that processes share counts for each of them */
};

struct host_roots {
    const char *proc, *sys; /* "/proc", "/sys"; tests have their own */
};

/* What the processes of one task have used; parts of struct host_counters. */
struct task_counters {
    pid_t supervisor; /* the ancestor of the task's processes, which counts with them; set by the caller */
    uint64_t ticks, memory;
    bool found; /* the supervisor is among the processes */
};
/* Reads the counters of n tasks at once. `proc` is "/proc"; tests have a directory of their own. Returns false if the
 * machine has more processes than are read (PROCESSES_MAX): some may be missing. */
bool host_counters_read_tasks(const char *proc, struct task_counters *task, size_t n);

/* Reads the counters. `supervisor` is the ancestor of the task's processes and counts with them; 0: there is no task.
 * What cannot be read stays 0. */
void host_counters_read(const struct host_roots *roots, pid_t supervisor, struct host_counters *ret);

#endif
