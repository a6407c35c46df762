/* The kernel's list of what is mounted where, /proc/PID/mountinfo, line by line. */
#ifndef DET_COMMON_SYSTEM_MOUNTINFO_H
#define DET_COMMON_SYSTEM_MOUNTINFO_H

#include <limits.h>
#include <stdbool.h>

#include "common/base/arena.h"

/* Bytes; nobody reads a longer list. */
enum { MOUNTINFO_MAX = 4 * 1024 * 1024 };

/* In the paths blanks and some other characters are written as \ooo (mountinfo_path()). */
struct mountinfo_line {
    char device[32];     /* "8:1" */
    char root[PATH_MAX]; /* what is mounted, as a path within its file system */
    char at[PATH_MAX];   /* where it is mounted */
};

/* Reads the line at *text and goes on to the next one. Returns false at the end; what is read of a line of another form
 * is empty. */
bool mountinfo_next(const char **text, struct mountinfo_line *ret);
/* A path as the list writes it. */
const char *mountinfo_path(const char *path, struct arena *a);

#endif
