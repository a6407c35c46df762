/* What the kernel tells of one process in /proc/PID/stat. It has a file of its own because the static supervisor links
 * it, too. */
#ifndef DET_COMMON_SYSTEM_PROCSTAT_H
#define DET_COMMON_SYSTEM_PROCSTAT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procstat {
    pid_t pid, parent;
    bool over;          /* the process has ended, and was not waited for yet */
    uint64_t cpu_ticks; /* clock ticks of CPU time, including those of its ended children */
    uint64_t start;     /* clock ticks since boot */
    uint64_t pages;     /* resident */
};

/* Reads one process. `proc` is "/proc"; tests have a directory of their own. Returns false if there is no such process
 * (any more). */
bool procstat_read(const char *proc, pid_t pid, struct procstat *ret);
/* The next process in a directory such as /proc; 0 if there are no more. */
pid_t procstat_next(DIR *proc);

#endif
