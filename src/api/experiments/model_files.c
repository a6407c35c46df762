#include "api/experiments/model_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

#include "api/experiments/model_archive.h"
#include "common/base/cleanup.h"
#include "common/base/compare.h"

enum {
    SNIFFED = 512, /* number of bytes at the beginning of a file by which its type is found */
    /* levels of the tree; a file that is deeper is shown on the last level, named by the rest of its path */
    DEPTH_MAX = 100,
};

/* ---- the archive ------------------------------------------------------------------------------------------------- */

struct member {
    char *path; /* in the form of model_path_clean() */
    bool is_dir;
    int64_t mtime_s, size;
    const char *content_type;
};

static void end_archive(struct archive **in)
{
    archive_read_free(*in);
}

static int open_archive(const void *tgz, size_t n, struct archive **ret, struct error *err)
{
    struct archive *in = archive_read_new();
    if (!in)
        return error_set(err, ERR_NO_MEMORY, "model definition: out of memory");
    archive_read_support_filter_gzip(in);
    archive_read_support_format_tar(in);
    *ret = in;
    /* an experiment without files has an archive of end marks only, or no archive */
    if (n && archive_read_open_memory(in, tgz, n) != ARCHIVE_OK)
        return error_set(err, ERR_INTERNAL, "model definition: %s", archive_error_string(in));
    return 0;
}

/* 1: *ret is the next entry, 0: there are no more. */
static int next_entry(struct archive *in, struct archive_entry **ret, struct error *err)
{
    int rc = archive_read_next_header(in, ret);
    if (rc == ARCHIVE_EOF)
        return 0;
    return rc == ARCHIVE_OK || rc == ARCHIVE_WARN
               ? 1
               : error_set(err, ERR_INTERNAL, "model definition: %s", archive_error_string(in));
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* The types that browsers show, found by the files' first bytes. Everything else is text unless it holds bytes that
 * text never has (WHATWG MIME Sniffing, 7.2). */
static const char *type_of(const unsigned char *head, size_t n)
{
    static const struct {
        const char *mark;
        size_t n;
        const char *type;
    } known[] = {
        {"\x89PNG\r\n\x1a\n", 8, "image/png"},
        {"\xff\xd8\xff", 3, "image/jpeg"},
        {"GIF8", 4, "image/gif"},
        {"%PDF-", 5, "application/pdf"},
        {"\x1f\x8b\x08", 3, "application/x-gzip"},
        {"PK\x03\x04", 4, "application/zip"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (n >= known[i].n && memcmp(head, known[i].mark, known[i].n) == 0)
            return known[i].type;
    for (size_t i = 0; i < n && i < SNIFFED; i++) {
        unsigned char c = head[i];
        if (c < 0x09 || c == 0x0b || (c > 0x0d && c < 0x1b) || (c > 0x1b && c < 0x20))
            return "application/octet-stream";
    }
    return "text/plain; charset=utf-8";
}

static const char *type_of_entry(struct archive *in, struct error *err)
{
    unsigned char head[SNIFFED];
    la_ssize_t n = archive_read_data(in, head, sizeof(head));
    if (n >= 0)
        return type_of(head, (size_t)n);
    error_set(err, ERR_INTERNAL, "model definition: %s", archive_error_string(in));
    return NULL;
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static int by_path(const void *x, const void *y)
{
    return compare_paths(((const struct member *)x)->path, ((const struct member *)y)->path);
}

static int read_members(const void *tgz, size_t n, struct arena *a, struct member **ret, size_t *ret_n,
                        struct error *err)
{
    __attribute__((cleanup(end_archive))) struct archive *in = NULL;
    struct archive_entry *entry;
    struct member *m = NULL;
    size_t count = 0, cap = 0;
    int rc = open_archive(tgz, n, &in, err);
    while (rc == 0 && n && (rc = next_entry(in, &entry, err)) > 0) {
        rc = 0;
        if (count == cap) {
            struct member *more = arena_array(a, struct member, cap = cap ? 2 * cap : 64);
            if (count)
                memcpy(more, m, count * sizeof(*m));
            m = more;
        }
        m[count] = (struct member){.path = model_path_clean(archive_entry_pathname(entry), a),
                                   .mtime_s = archive_entry_mtime(entry),
                                   .is_dir = archive_entry_filetype(entry) == AE_IFDIR,
                                   .size = archive_entry_size(entry),
                                   .content_type = ""};
        if (!m[count].is_dir && !(m[count].content_type = type_of_entry(in, err)))
            return -1;
        if (*m[count].path)
            count++;
    }
    if (rc < 0)
        return -1;
    if (count)
        qsort(m, count, sizeof(*m), by_path);
    *ret = m;
    *ret_n = count;
    return 0;
}

/* The length of the name at this depth, which begins at `at`. */
static size_t name_length(const struct member *m, size_t at, int depth)
{
    return depth == DEPTH_MAX ? strlen(m->path + at) : strcspn(m->path + at, "/");
}

static bool same_name(const struct member *x, const struct member *y, size_t at, int depth)
{
    size_t n = name_length(x, at, depth);
    return n == name_length(y, at, depth) && memcmp(x->path + at, y->path + at, n) == 0;
}

static size_t count_names(const struct member *m, size_t n, size_t at, int depth)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += i == 0 || !same_name(&m[i - 1], &m[i], at, depth);
    return count;
}

/* Makes the nodes of one directory from members m[0..n), whose paths are the same up to `at`. */
static void make_nodes(const struct member *m, size_t n, size_t at, int depth, struct arena *a,
                       struct wire_experiment_file_node **ret, size_t *ret_n)
{
    struct wire_experiment_file_node *node = arena_array(a, struct wire_experiment_file_node,
                                                         count_names(m, n, at, depth) + 1);
    size_t count = 0;
    for (size_t i = 0, end; i < n; i = end) {
        size_t name_n = name_length(&m[i], at, depth), below;
        for (end = i + 1; end < n && same_name(&m[i], &m[end], at, depth);)
            end++;
        for (below = i; below < end && m[below].path[at + name_n] == '\0';)
            below++;
        /* if a path is in the archive twice, the last entry is what would be unpacked */
        const struct member *own = below > i ? &m[below - 1] : NULL;
        struct wire_experiment_file_node *w = &node[count++];
        *w = (struct wire_experiment_file_node){.path = arena_strndup(a, m[i].path, at + name_n),
                                                .name = arena_strndup(a, m[i].path + at, name_n),
                                                .content_type = "",
                                                .is_dir = !own || own->is_dir || below < end};
        if (own) {
            w->modified_time = own->mtime_s * 1000000;
            w->has_modified_time = true;
        }
        if (!w->is_dir) {
            w->content_length = (int32_t)own->size;
            w->content_type = own->content_type;
        }
        if (below < end)
            make_nodes(m + below, end - below, at + name_n + 1, depth + 1, a, &w->files, &w->files_n);
    }
    *ret = node;
    *ret_n = count;
}

int model_tree(const void *tgz, size_t n, struct arena *a, struct wire_experiment_file_node **ret, size_t *ret_n,
               struct error *err)
{
    struct member *m;
    size_t count;
    if (read_members(tgz, n, a, &m, &count, err) < 0)
        return -1;
    make_nodes(m, count, 0, 0, a, ret, ret_n);
    return 0;
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

static int read_data(struct archive *in, int64_t size, struct arena *a, struct model_file *ret, struct error *err)
{
    if (size < 0 || size > MODEL_DEFINITION_MAX)
        return error_set(err, ERR_INTERNAL, "model definition: a file of %lld bytes", (long long)size);
    unsigned char *data = arena_alloc(a, (size_t)size + 1);
    size_t have = 0;
    while (have < (size_t)size) {
        la_ssize_t n = archive_read_data(in, data + have, (size_t)size - have);
        if (n <= 0)
            return error_set(err, ERR_INTERNAL, "model definition: %s",
                             n < 0 ? archive_error_string(in) : "it is cut off");
        have += (size_t)n;
    }
    *ret = (struct model_file){data, have, type_of(data, have)};
    return 0;
}

int model_file(const void *tgz, size_t n, const char *path, struct arena *a, struct model_file *ret, struct error *err)
{
    __attribute__((cleanup(end_archive))) struct archive *in = NULL;
    struct archive_entry *entry;
    const char *wanted = model_path_clean(path, a);
    bool is_dir = *wanted == '\0';
    int rc = open_archive(tgz, n, &in, err);
    *ret = (struct model_file){0};
    while (rc == 0 && n && (rc = next_entry(in, &entry, err)) > 0) {
        rc = 0;
        const char *name = model_path_clean(archive_entry_pathname(entry), a);
        size_t below = strlen(wanted);
        if (strncmp(name, wanted, below) == 0 &&
            (name[below] == '/' || (!name[below] && archive_entry_filetype(entry) == AE_IFDIR)))
            is_dir = true;
        else if (strcmp(name, wanted) == 0)
            rc = read_data(in, archive_entry_size(entry), a, ret, err);
    }
    if (rc < 0 || ret->data)
        return rc < 0 ? -1 : 0;
    if (is_dir)
        return error_set(err, ERR_INVALID, "'%.200s' is a directory of the model definition; path must be a file's",
                         path);
    return error_set(err, ERR_NOT_FOUND, "'%.200s' is not in the model definition", path);
}
