#include "cli/files/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files/archive_calls.h"
#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/system/files.h"

static bool leads_out(const char *name)
{
    if (!name || !*name || *name == '/')
        return true;
    for (const char *p = name; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 2 && strncmp(p, "..", 2) == 0)
            return true;
        p += n + (p[n] == '/');
    }
    return false;
}

static int unpack_file(struct archive *a, char *path, struct error *err)
{
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (dir_make(path, 0755, err) < 0)
        return -1;
    *slash = '/';
    cleanup_close int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (out < 0)
        return error_errno(err, "writing %s", path);
    if (archive_read_data_into_fd(a, out) != ARCHIVE_OK)
        return error_set(err, ERR_IO, "writing %s: %s", path, archive_error_string(a));
    return 0;
}

static int unpack_entry(struct archive *a, struct archive_entry *e, const char *to, struct error *err)
{
    cleanup_arena struct arena memory = ARENA_INIT;
    const char *name = archive_entry_pathname(e);
    if (leads_out(name))
        return error_set(err, ERR_INVALID, "the archive holds '%s', which is outside of the directory to unpack to",
                         name ? name : "");
    char *path = arena_printf(&memory, "%s/%s", to, name);
    if (archive_entry_filetype(e) == AE_IFDIR)
        return dir_make(path, 0755, err);
    if (archive_entry_filetype(e) == AE_IFREG && !archive_entry_hardlink(e))
        return unpack_file(a, path, err);
    return error_set(err, ERR_INVALID, "the archive holds '%s', which is neither a file nor a directory", name);
}

static int unpack_all(struct archive *a, const char *to, struct error *err)
{
    struct archive_entry *e;
    int rc = 0, got = ARCHIVE_OK;
    while (rc == 0 && (got = archive_read_next_header(a, &e)) == ARCHIVE_OK)
        rc = unpack_entry(a, e, to, err);
    if (rc == 0 && got != ARCHIVE_EOF)
        rc = error_set(err, ERR_INVALID, "the downloaded archive is damaged: %s", archive_error_string(a));
    return rc;
}

int unpack_tar(int fd, const char *to, struct error *err)
{
    struct archive *a = archive_read_new();
    int rc = dir_make(to, 0755, err);
    archive_read_support_format_tar(a);
    if (rc == 0 && archive_read_open_fd(a, fd, 1 << 18) != ARCHIVE_OK)
        rc = error_set(err, ERR_INVALID, "%s", archive_error_string(a));
    if (rc == 0)
        rc = unpack_all(a, to, err);
    archive_read_free(a);
    return rc;
}

struct source {
    unpack_read_fn *next;
    void *ctx;
    struct error err;
};

static la_ssize_t read_source(struct archive *a, void *ctx, const void **ret)
{
    struct source *s = ctx;
    size_t n;
    if (s->next(s->ctx, ret, &n, &s->err) == 0)
        return (la_ssize_t)n;
    archive_set_error(a, EIO, "%s", error_msg(&s->err));
    return -1;
}

int unpack_tar_from(unpack_read_fn *next, void *ctx, const char *to, struct error *err)
{
    struct source source = {next, ctx, ERROR_INIT};
    struct archive *a = archive_read_new();
    int rc = dir_make(to, 0755, err);
    archive_read_support_format_tar(a);
    if (rc == 0 && archive_read_open(a, &source, NULL, read_source, NULL) != ARCHIVE_OK)
        rc = error_set(err, ERR_INVALID, "%s", archive_error_string(a));
    if (rc == 0)
        rc = unpack_all(a, to, err);
    archive_read_free(a);
    if (rc < 0 && source.err.kind) { /* the error that ended the archive early */
        error_release(err);
        error_move(err, &source.err);
    }
    return rc;
}
