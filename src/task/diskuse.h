/* How much a task has stored below a directory, measured in small steps.
 *
 * The task may change everything meanwhile. Therefore nothing is opened by a path of several names, no link is
 * followed, and no file is opened at all. One descriptor is enough however deep the directories are. A measurement
 * that is spoiled by a change of the task is given up, and the next one begins at the top. */
#ifndef DET_TASK_DISKUSE_H
#define DET_TASK_DISKUSE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct diskuse_level {
    dev_t dev;
    ino_t ino;
    long position; /* where reading goes on in the directory above */
};

struct diskuse {
    int top;                     /* borrowed */
    const char *skip;            /* name of an entry of the top directory that is not counted */
    DIR *dir;                    /* NULL: no measurement is under way */
    struct diskuse_level *level; /* one for each directory above `dir` */
    size_t depth, level_cap;
    uint64_t bytes; /* counted so far */
};

/* Counts up to `entries` further entries. Returns true once the measurement is complete, with the result in *ret_bytes;
 * the next call then begins a new one. */
bool diskuse_step(struct diskuse *d, size_t entries, uint64_t *ret_bytes);
void diskuse_release(struct diskuse *d);

#endif
