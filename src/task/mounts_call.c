#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "task/mounts_internal.h"

void act_as_task(const struct view *v)
{
    if (v->spec->change_user && seteuid(v->spec->uid) < 0)
        _exit(127);
}

void act_as_self(const struct view *v)
{
    if (v->spec->change_user && seteuid(0) < 0)
        _exit(127);
}

/* RESOLVE_NO_MAGICLINKS: the task must not reach what this process has open, through /proc/self/fd. */
int open_as_task(const struct view *v, int at, const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags), .resolve = RESOLVE_NO_MAGICLINKS};
    act_as_task(v);
    int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
    int number = errno;
    act_as_self(v);
    errno = number;
    return fd;
}

int mount_new(const char *type, const struct mount_option *option, unsigned attributes)
{
    cleanup_close int fs = fsopen(type, FSOPEN_CLOEXEC);
    if (fs < 0)
        return -1;
    for (; option && option->name; option++)
        if (fsconfig(fs, FSCONFIG_SET_STRING, option->name, option->value, 0) < 0)
            return -1;
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return fsmount(fs, FSMOUNT_CLOEXEC, attributes);
}

int mount_copy(int place)
{
    return open_tree(place, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

int mount_at(int tree, int place)
{
    return move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int mount_read_only(int tree, bool recursive)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    return mount_setattr(tree, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attr, sizeof(attr));
}
