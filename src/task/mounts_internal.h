/* The parts of a task's view share this; for src/task/mounts*.c only.
 *
 *   mounts.c       the order of things, and the order's own mounts
 *   mounts_tmp.c   a /tmp of the task's own
 *   mounts_point.c mount points that do not exist, and directories that are covered for their sake
 *   mounts_call.c  the kernel's calls, and the change between the task's rights and ours */
#ifndef DET_TASK_MOUNTS_INTERNAL_H
#define DET_TASK_MOUNTS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/task/taskspec.h"

#define COVERS_MAX 16

struct view {
    const struct taskspec *spec;
    const char *run_dir;     /* the task's own directory: in it mount points may be made, with the task's rights … */
    bool own_tmp;            /* … and in /tmp, when it is the task's own */
    dev_t cover[COVERS_MAX]; /* file systems of ours */
    size_t cover_n;
    bool broken; /* a cover was begun and not finished */
};

/* Only the effective user changes back and forth; it takes the capabilities along. Groups stay the task's. */
void act_as_task(const struct view *v);
void act_as_self(const struct view *v);
/* A place, found with the task's rights and without reading it; links are followed, those of /proc (magic ones) are not. */
int open_as_task(const struct view *v, int at, const char *path, int flags);

struct mount_option {
    const char *name, *value;
};
/* A new file system that is mounted nowhere yet: its descriptor is its root directory, also once it is mounted. -1: errno. */
int mount_new(const char *type, const struct mount_option *option, unsigned attributes);
/* A copy of what shows at and below this place, mounted nowhere yet; it stays what it is, whatever is mounted where it came
 * from. -1: errno. */
int mount_copy(int place);
int mount_at(int tree, int place);
int mount_read_only(int tree, bool recursive);

/* An entry of a directory, by descriptor, shown again in another one: mounted there; of a link, a copy. */
int show_again(int entry, int dir, const char *name, struct error *err);
/* The descriptor of a mount point at this path, a directory or a file. */
int have_point(struct view *v, const char *path, bool directory, struct error *err);

/* /tmp becomes `tree`, a copy of the task's own directory for it. */
int mount_tmp(struct view *v, int tree, struct error *err);

#endif
