/* How much a task has stored below a directory, measured in small steps.
 *
 * The task may change everything while it is looked at: nothing is opened by a path, no link is followed, no file is
 * opened at all, and however deep the directories are, one descriptor is enough. A measurement that such changes spoil is
 * given up, and the next one begins at the top. */
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
    long position; /* in the directory above, where reading goes on */
};

struct diskuse {
    int top;          /* borrowed */
    const char *skip; /* an entry of the top directory that does not count */
    DIR *dir;         /* NULL: no measurement is under way */
    struct diskuse_level *level; /* of the directories above `dir` */
    size_t depth, level_cap;
    uint64_t bytes;   /* so far */
};

/* Looks at up to `entries` further entries. true: the measurement is complete, and *ret_bytes its result; the next step
 * begins a new one. */
bool diskuse_step(struct diskuse *d, size_t entries, uint64_t *ret_bytes);
void diskuse_release(struct diskuse *d);

#endif
