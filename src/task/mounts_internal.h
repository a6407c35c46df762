/* Shared by src/task/mounts*.c, and by no other file.
 *
 *
 * mounts.c       the order of the steps, and the mounts that the order names
 * mounts_tmp.c   the task's own /tmp and /dev/shm
 * mounts_pts.c   the task's own terminals
 * mounts_point.c mount points that do not exist, and directories that are covered for their sake
 * mounts_call.c  the system calls, and the change between the task's rights and ours */
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
    const char *run_dir;     /* the task's own directory. Mount points may be created in it with the task's rights … */
    bool own_tmp;            /* … and in /tmp if /tmp is the task's own */
    dev_t cover[COVERS_MAX]; /* devices of the file systems with which directories were covered */
    size_t cover_n;
    bool broken; /* covering a directory failed half-way, so the view cannot be used */
};

/* Switch between the task's rights and ours. Only the effective user changes, and the capabilities with it; the groups
 * stay those of the task. */
void act_as_task(const struct view *v);
void act_as_self(const struct view *v);
/* Opens a path with the task's rights, as O_PATH. Links are followed, except the magic links of /proc. */
int open_as_task(const struct view *v, int at, const char *path, int flags);

struct mount_option {
    const char *name, *value;
};
/* Makes a file system that is not mounted anywhere yet. Returns a descriptor of its root directory, which stays valid
 * once the file system is mounted; -1 with errno on failure. */
int mount_new(const char *type, const struct mount_option *option, unsigned attributes);
/* Copies the mounts at and below this place; the copy is not mounted anywhere yet, and mounts that are made at the
 * original place later do not change it. -1 with errno on failure. */
int mount_copy(int place);
int mount_at(int tree, int place);
int mount_read_only(int tree, bool recursive);

/* Shows `entry` in the directory `dir` under this name: by a mount, or, if the entry is a link, by a copy of the
 * link. */
int show_again(int entry, int dir, const char *name, struct error *err);
/* Returns the descriptor of a mount point at this path, creating it if it does not exist. */
int have_point(struct view *v, const char *path, bool directory, struct error *err);

/* Mounts `tree` at the directory `path`, /tmp or /dev/shm, and shows in it again what the order names there. */
int mount_over(struct view *v, const char *path, int tree, struct error *err);

/* Mounts terminals of the task's own at /dev/pts, if the order says so and the machine has terminals at all. */
int mount_terminals(const struct view *v, struct error *err);

#endif
