#include "common/system/procstat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"

/* Parses "PID (name) STATE PPID …". The name may hold blanks and brackets; the fields after it are 3 and on of
 * proc(5). */
static bool parse_stat(const char *text, struct procstat *ret)
{
    const char *bracket = strrchr(text, ')');
    char state;
    uint64_t utime, stime;
    int64_t cutime, cstime, pages;
    if (!bracket || sscanf(bracket + 1,
                           " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64
                           " %*d %*d %*d %*d %" SCNu64 " %*u %" SCNd64,
                           &state, &ret->parent, &utime, &stime, &cutime, &cstime, &ret->start, &pages) != 8)
        return false;
    ret->over = state == 'Z' || state == 'X';
    ret->cpu_ticks = utime + stime + (uint64_t)(cutime > 0 ? cutime : 0) + (uint64_t)(cstime > 0 ? cstime : 0);
    ret->pages = (uint64_t)(pages > 0 ? pages : 0);
    return true;
}

bool procstat_read(const char *proc, pid_t pid, struct procstat *ret)
{
    char path[4096], text[1024]; /* the text has 52 numbers and a name of at most 64 bytes */
    int n = snprintf(path, sizeof(path), "%s/%d/stat", proc, (int)pid);
    cleanup_close int fd = n < (int)sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (got <= 0)
        return false;
    text[got] = '\0';
    *ret = (struct procstat){.pid = pid};
    return parse_stat(text, ret);
}

pid_t procstat_next(DIR *proc)
{
    for (struct dirent *e; (e = readdir(proc));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10); /* 0 for an entry that is no process */
        if (pid > 0)
            return pid;
    }
    return 0;
}
