#include "master/commands/data_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"

int data_dir_lock(const char *dir, int *ret_fd, struct error *err)
{
    if (dir_make(dir, 0700, err) < 0)
        return error_wrap(err, "making the data directory %s (--data-dir chooses another)", dir);
    cleanup_free char *path = path_join(dir, "lock");
    cleanup_close int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, "opening %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, ERR_CONFLICT, "another master runs on %s; stop it or choose another --data-dir", dir);
    *ret_fd = take_fd(fd);
    return 0;
}

/* Makes the address of the socket. A socket's path may have at most 107 bytes, so the directory is named by its
 * descriptor in /proc, which is short. */
int data_dir_socket(const char *dir, struct sockaddr_un *ret, int *ret_fd, struct error *err)
{
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "opening %s", dir);
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/admin.sock", fd);
    *ret_fd = fd;
    return 0;
}
