/* What the kernel tells of one process in /proc/PID/stat; on its own, because the static supervisor uses it, too. */
#ifndef DET_COMMON_PROCSTAT_H
#define DET_COMMON_PROCSTAT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procstat {
    pid_t pid, parent;
    bool over;           /* it has ended, and is only waited for */
    uint64_t cpu_ticks;  /* clock ticks of CPU time, those of its children that are over included */
    uint64_t start;      /* clock ticks since boot */
    uint64_t pages;      /* resident */
};

/* `proc` is "/proc"; tests have their own. false: there is no such process (any more). */
bool procstat_read(const char *proc, pid_t pid, struct procstat *ret);
/* The next process of a directory such as /proc; 0: no more. */
pid_t procstat_next(DIR *proc);

#endif
