#include "master/commands/data_dir.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/hex.h"
#include "common/config/config.h"
#include "common/system/files.h"
#include "common/system/random.h"

enum { SECRET_BYTES = 32 };

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

static int make_secret(const char *path, char *ret, size_t size, struct error *err)
{
    unsigned char raw[SECRET_BYTES];
    assert(size > 2 * sizeof(raw));
    if (random_bytes(raw, sizeof(raw), err) < 0)
        return -1;
    hex_encode(raw, sizeof(raw), ret);
    return file_write(path, ret, strlen(ret), 0600, err);
}

int data_dir_secret(const struct config *c, const char *key, const char *file, char *ret, size_t size,
                    struct error *err)
{
    const char *given = config_str(c, key);
    cleanup_free char *path = path_join(config_str(c, "data_dir"), file);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_error struct error missing = ERROR_INIT;
    if (given && strlen(given) >= size)
        return error_set(err, ERR_INVALID, "%s has more than %zu bytes", key, size - 1);
    if (given && *given) {
        snprintf(ret, size, "%s", given);
        return 0;
    }
    if (file_read(path, size - 1, &text, &missing) < 0)
        return error_pass_unless(&missing, ERR_NOT_FOUND, err) ? -1 : make_secret(path, ret, size, err);
    snprintf(ret, size, "%.*s", (int)strcspn(strbuf_str(&text), "\r\n"), strbuf_str(&text));
    return *ret ? 0
                : error_set(err, ERR_INVALID, "%s is empty; write a secret into it, or remove it for a new one", path);
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
