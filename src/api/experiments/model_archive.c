#include "api/experiments/model_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/compare.h"
#include "common/task/context_depth.h"

/* The values of util.v1.File.type: those of tar. */
enum {
    FILE_REGULAR = '0',
    FILE_DIRECTORY = '5',
    PATH_MOST = PATH_MAX - 1024, /* the task's directory is put before the path */
};

static int check_path(const char *path, struct error *err)
{
    if (!path || !*path)
        return error_set(err, ERR_INVALID, "model definition: a file has no name");
    if (path[0] == '/')
        return error_set(err, ERR_INVALID,
                         "model definition: '%.200s' is an absolute path; only paths below the context are allowed",
                         path);
    int depth = 0;
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        depth += n > 0 && !(n == 1 && p[0] == '.');
        if (n == 2 && p[0] == '.' && p[1] == '.')
            return error_set(err, ERR_INVALID,
                             "model definition: '%.200s' leaves the context ('..'); only paths below it are allowed",
                             path);
        if (n > NAME_MAX)
            return error_set(err, ERR_INVALID,
                             "model definition: '%.40s…' in '%.200s' is a name of %zu bytes; file systems take %d", p,
                             path, n, NAME_MAX);
        p += n + (p[n] == '/');
    }
    if (depth > CONTEXT_DEPTH_MAX)
        return error_set(err, ERR_INVALID,
                         "model definition: '%.200s…' lies too deep: %d names lead to it, and agents unpack at most %d",
                         path, depth, CONTEXT_DEPTH_MAX);
    if (strlen(path) > PATH_MOST)
        return error_set(err, ERR_INVALID, "model definition: '%.200s…' is a path of %zu bytes; allowed are %d", path,
                         strlen(path), PATH_MOST);
    return 0;
}

/* Whether the path names a directory by its form: "a/" and "a/." do. */
static bool is_directory_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    return *last == '\0' || strcmp(last, ".") == 0;
}

static int check_files(const struct wire_util_file *file, size_t n, struct error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        if (check_path(file[i].path, err) < 0)
            return -1;
        if (file[i].type != FILE_REGULAR && file[i].type != FILE_DIRECTORY)
            return error_set(
                err, ERR_INVALID,
                "model definition: '%.200s' has type %d; only files (48) and directories (53) are allowed, "
                "no links or devices",
                file[i].path, file[i].type);
        if (file[i].type == FILE_REGULAR && is_directory_name(file[i].path))
            return error_set(err, ERR_INVALID,
                             "model definition: '%.200s' is the name of a directory, but sent as a file", file[i].path);
        total += file[i].content.n;
    }
    if (total > MODEL_DEFINITION_MAX)
        return error_set(err, ERR_TOO_LARGE, "model definition: %zu bytes exceed the maximum allowed size of %d", total,
                         MODEL_DEFINITION_MAX);
    return 0;
}

/* ---- names that clash on disk ------------------------------------------------------------------------------------ */

struct place {
    char *path; /* in the form of model_path_clean(): "./a//b/" is "a/b" */
    const struct wire_util_file *file;
};

char *model_path_clean(const char *path, struct arena *a)
{
    char *out = arena_strdup(a, path), *to = out;
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n && !(n == 1 && *path == '.')) {
            if (to > out)
                *to++ = '/';
            memmove(to, path, n);
            to += n;
        }
        path += n + (path[n] == '/');
    }
    *to = '\0';
    return out;
}

static int by_path(const void *x, const void *y)
{
    return compare_paths(((const struct place *)x)->path, ((const struct place *)y)->path);
}

/* Refuses what an agent could not unpack: otherwise every agent would try it again and again. */
static int check_pair(const struct place *first, const struct place *second, struct error *err)
{
    size_t n = strlen(first->path);
    bool same = strcmp(first->path, second->path) == 0;
    bool below = strncmp(first->path, second->path, n) == 0 && second->path[n] == '/';
    bool directories = first->file->type == FILE_DIRECTORY && second->file->type == FILE_DIRECTORY;
    if (same && first->file->type != second->file->type)
        return error_set(err, ERR_INVALID, "model definition: '%.200s' is both a file and a directory", first->path);
    if (same && !directories)
        return error_set(err, ERR_INVALID, "model definition: '%.200s' was sent twice; send each file once",
                         first->path);
    if (below && first->file->type == FILE_REGULAR)
        return error_set(err, ERR_INVALID,
                         "model definition: '%.200s' is a file, but '%.200s' needs it to be a directory", first->path,
                         second->path);
    return 0;
}

static int check_names(const struct wire_util_file *file, size_t n, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct place *place = arena_array(&a, struct place, n + 1);
    for (size_t i = 0; i < n; i++)
        place[i] = (struct place){model_path_clean(file[i].path, &a), &file[i]};
    if (n)
        qsort(place, n, sizeof(*place), by_path);
    for (size_t i = 1; i < n; i++)
        if (check_pair(&place[i - 1], &place[i], err) < 0)
            return -1;
    return 0;
}

/* ---- the archive ------------------------------------------------------------------------------------------------- */

static la_ssize_t append_bytes(struct archive *a, void *ctx, const void *data, size_t n)
{
    strbuf_add(ctx, data, n);
    return (la_ssize_t)n;
}

static int write_file(struct archive *tar, struct archive_entry *entry, const struct wire_util_file *f)
{
    archive_entry_clear(entry);
    archive_entry_copy_pathname(entry, f->path);
    archive_entry_set_filetype(entry, f->type == FILE_DIRECTORY ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(entry, (mode_t)(f->mode & 0777));
    archive_entry_set_mtime(entry, f->mtime, 0);
    archive_entry_set_size(entry, f->type == FILE_DIRECTORY ? 0 : (la_int64_t)f->content.n);
    if (archive_write_header(tar, entry) != ARCHIVE_OK)
        return -1;
    if (f->type == FILE_REGULAR && f->content.n &&
        archive_write_data(tar, f->content.data, f->content.n) != (la_ssize_t)f->content.n)
        return -1;
    return 0;
}

/* GNU tar's format keeps names byte for byte. In the pax format, libarchive converts names by way of the locale: in
 * "C" it fails on a character such as "ü", in other locales it composes accents. */
int archive_build(const struct wire_util_file *file, size_t n, struct strbuf *ret, struct error *err)
{
    if (check_files(file, n, err) < 0 || check_names(file, n, err) < 0)
        return -1;
    struct archive *tar = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    int rc = -1;
    if (!tar || !entry)
        goto out;
    archive_write_add_filter_gzip(tar);
    /* archives are small and read once or twice, so that speed matters more than size */
    archive_write_set_filter_option(tar, "gzip", "compression-level", "1");
    archive_write_set_filter_option(tar, "gzip", "timestamp", NULL); /* the same files give the same bytes */
    archive_write_set_format_gnutar(tar);
    if (archive_write_open(tar, ret, NULL, append_bytes, NULL) != ARCHIVE_OK)
        goto out;
    for (size_t i = 0; i < n; i++)
        if (write_file(tar, entry, &file[i]) < 0)
            goto out;
    rc = archive_write_close(tar) == ARCHIVE_OK ? 0 : -1;
out:
    if (rc < 0)
        error_set(err, ERR_INVALID, "model definition: %s",
                  tar && archive_error_string(tar) ? archive_error_string(tar) : "out of memory");
    archive_entry_free(entry);
    archive_write_free(tar);
    return rc;
}
