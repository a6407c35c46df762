#include "api/checkpoints/checkpoint_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/checkpoints/storage_roots.h"
#include "common/base/cleanup.h"
#include "common/base/hex.h"
#include "common/base/must.h"
#include "common/system/beneath.h"

enum { ENTRIES_MAX = 200000, DEPTH_MAX = 100, PIECE_BYTES = 64 * 1024 };

struct item {
    const char *name; /* the path within the checkpoint */
    bool directory;
    int64_t size;
    struct timespec modified;
};

/* Where the bytes of the archive go. */
struct sink {
    struct strbuf *out; /* NULL: the bytes are only counted */
    uint64_t skip;      /* number of bytes still to be left out */
    uint64_t n;         /* number of bytes that were written to the sink */
};

struct checkpoint_archive {
    struct arena arena;
    int dir;
    uid_t owner; /* the directory's owner */
    enum archive_format format;
    struct item *item;
    size_t item_n, item_cap;
    char tag[2 * SHA256_DIGEST_LENGTH + 1];
    /* of the one that is being read */
    struct archive *writer;
    struct sink sink;
    size_t at;        /* index of the current item */
    bool in_item;     /* the item's header is written */
    int64_t item_pos; /* position in the item's content */
    int file;
    bool closed;
};

/* ---- listing the directory --------------------------------------------------------------------------------------- */

/* False for a hard link to a file of another account: the link's maker may not be allowed to read that file, which
 * the master could. */
static bool may_be_read(const struct checkpoint_archive *a, const struct stat *st)
{
    return S_ISREG(st->st_mode) && (st->st_nlink == 1 || st->st_uid == a->owner);
}

static struct item *add_item(struct checkpoint_archive *a, struct error *err)
{
    if (a->item_n == ENTRIES_MAX) {
        error_set(err, ERR_PRECONDITION, "the checkpoint has more than %d files; copy it from its storage",
                  ENTRIES_MAX);
        return NULL;
    }
    if (a->item_n == a->item_cap) {
        a->item_cap = a->item_cap ? 2 * a->item_cap : 64;
        a->item = must_realloc(a->item, a->item_cap * sizeof(*a->item));
    }
    return &a->item[a->item_n++];
}

static int list_below(struct checkpoint_archive *a, int fd, const char *prefix, int depth, struct error *err);

static int list_entry(struct checkpoint_archive *a, int dir, const char *name, const char *prefix, int depth,
                      struct error *err)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : error_errno(err, "%s%s", prefix, name);
    bool directory = S_ISDIR(st.st_mode);
    if (!directory && !may_be_read(a, &st))
        return 0;
    struct item *item = add_item(a, err);
    if (!item)
        return -1;
    const char *path = arena_printf(&a->arena, "%s%s%s", prefix, name, directory ? "/" : "");
    *item =
        (struct item){.name = path, .directory = directory, .size = directory ? 0 : st.st_size, .modified = st.st_mtim};
    if (!directory)
        return 0;
    if (depth == DEPTH_MAX)
        return error_set(err, ERR_PRECONDITION, "%s: more than %d directories deep", path, DEPTH_MAX);
    int below = beneath_open(dir, name, O_RDONLY | O_DIRECTORY, NULL);
    return below < 0 ? error_errno(err, "%s", path) : list_below(a, below, path, depth + 1, err);
}

/* Lists what is below a directory. Closes `fd`. */
static int list_below(struct checkpoint_archive *a, int fd, const char *prefix, int depth, struct error *err)
{
    DIR *entries = fdopendir(fd);
    int rc = 0;
    if (!entries) {
        close(fd);
        return error_errno(err, "%s", prefix);
    }
    for (struct dirent *e; rc == 0 && (e = readdir(entries));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = list_entry(a, dirfd(entries), e->d_name, prefix, depth, err);
    closedir(entries);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

static void make_tag(struct checkpoint_archive *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    unsigned char digest[SHA256_DIGEST_LENGTH];
    strbuf_addf(&text, "1 %d\n", (int)a->format);
    for (size_t i = 0; i < a->item_n; i++)
        strbuf_addf(&text, "%s %lld %lld.%09ld\n", a->item[i].name, (long long)a->item[i].size,
                    (long long)a->item[i].modified.tv_sec, a->item[i].modified.tv_nsec);
    SHA256((const unsigned char *)text.s, text.n, digest);
    hex_encode(digest, sizeof(digest), a->tag);
}

const char *checkpoint_archive_tag(const struct checkpoint_archive *a)
{
    return a->tag;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static la_ssize_t take_bytes(struct archive *w, void *ctx, const void *data, size_t n)
{
    struct sink *s = ctx;
    size_t skipped = s->skip < n ? (size_t)s->skip : n;
    s->skip -= skipped;
    s->n += n;
    if (s->out)
        strbuf_add(s->out, (const char *)data + skipped, n - skipped);
    return (la_ssize_t)n;
}

static int writer_new(enum archive_format format, struct sink *sink, struct archive **ret, struct error *err)
{
    struct archive *w = must(archive_write_new());
    int rc = format == ARCHIVE_AS_ZIP ? archive_write_set_format_zip(w) : archive_write_set_format_gnutar(w);
    if (rc == ARCHIVE_OK && format == ARCHIVE_AS_ZIP)
        rc = archive_write_set_options(w, "zip:compression=store");
    if (rc == ARCHIVE_OK && format == ARCHIVE_AS_GZIP)
        rc = archive_write_add_filter_gzip(w);
    if (rc == ARCHIVE_OK && format == ARCHIVE_AS_GZIP)
        rc = archive_write_set_options(w, "gzip:compression-level=0,gzip:!timestamp");
    archive_write_set_bytes_per_block(w, 0);
    archive_write_set_bytes_in_last_block(w, 1);
    if (rc != ARCHIVE_OK || archive_write_open(w, sink, NULL, take_bytes, NULL) != ARCHIVE_OK) {
        error_set(err, ERR_INTERNAL, "libarchive: %s", archive_error_string(w));
        archive_write_free(w);
        return -1;
    }
    *ret = w;
    return 0;
}

static int write_head(struct archive *w, const struct item *item, struct error *err)
{
    struct archive_entry *e = must(archive_entry_new());
    archive_entry_set_pathname(e, item->name);
    archive_entry_set_filetype(e, item->directory ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(e, item->directory ? 0755 : 0644);
    archive_entry_set_size(e, item->size);
    archive_entry_set_mtime(e, item->modified.tv_sec, 0);
    /* libarchive marks the names in a zip as UTF-8 only if the locale is UTF-8 */
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", 0), before = utf8 ? uselocale(utf8) : 0;
    int rc = archive_write_header(w, e);
    if (utf8) {
        uselocale(before);
        freelocale(utf8);
    }
    archive_entry_free(e);
    return rc < ARCHIVE_WARN ? error_set(err, ERR_INTERNAL, "%s: %s", item->name, archive_error_string(w)) : 0;
}

static int write_data(struct archive *w, const struct item *item, const void *data, size_t n, struct error *err)
{
    la_ssize_t taken = archive_write_data(w, data, n);
    if (taken != (la_ssize_t)n)
        return error_set(err, ERR_INTERNAL, "%s: %s", item->name, archive_error_string(w));
    return 0;
}

static size_t piece_of(const struct item *item, int64_t pos)
{
    int64_t left = item->size - pos;
    return left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
}

/* Writes the archive with zeros as content and counts the bytes. The archive's length does not depend on the files'
 * content, except check sums, which have a fixed length. */
int checkpoint_archive_length(const struct checkpoint_archive *a, uint64_t *ret, struct error *err)
{
    static const char zeros[PIECE_BYTES];
    struct sink sink = {0};
    struct archive *w;
    int rc = 0;
    if (writer_new(a->format, &sink, &w, err) < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < a->item_n; i++) {
        const struct item *item = &a->item[i];
        rc = write_head(w, item, err);
        for (int64_t pos = 0; rc == 0 && pos < item->size; pos += PIECE_BYTES)
            rc = write_data(w, item, zeros, piece_of(item, pos), err);
    }
    if (rc == 0 && archive_write_close(w) != ARCHIVE_OK)
        rc = error_set(err, ERR_INTERNAL, "libarchive: %s", archive_error_string(w));
    archive_write_free(w);
    *ret = sink.n;
    return rc;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int checkpoint_archive_new(int dir, enum archive_format format, struct checkpoint_archive **ret, struct error *err)
{
    struct checkpoint_archive *a = must_calloc(1, sizeof(*a));
    *a = (struct checkpoint_archive){.dir = dir, .format = format, .file = -1};
    struct stat st;
    int copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    a->owner = fstat(dir, &st) == 0 ? st.st_uid : (uid_t)-1;
    if (copy < 0 || list_below(a, copy, "", 0, err) < 0 || writer_new(format, &a->sink, &a->writer, err) < 0) {
        if (copy < 0)
            error_errno(err, "the checkpoint's directory");
        checkpoint_archive_free(a);
        return -1;
    }
    if (a->item_n)
        qsort(a->item, a->item_n, sizeof(*a->item), by_name);
    make_tag(a);
    *ret = a;
    return 0;
}

void checkpoint_archive_free(struct checkpoint_archive *a)
{
    if (!a)
        return;
    a->sink.out = NULL; /* only now may the rest that the writer has buffered be dropped */
    if (a->writer)
        archive_write_free(a->writer);
    if (a->file >= 0)
        close(a->file);
    close(a->dir);
    free(a->item);
    arena_release(&a->arena);
    free(a);
}

void checkpoint_archive_skip(struct checkpoint_archive *a, uint64_t n)
{
    a->sink.skip = n;
}

static int begin_item(struct checkpoint_archive *a, struct error *err)
{
    const struct item *item = &a->item[a->at];
    if (write_head(a->writer, item, err) < 0)
        return -1;
    a->in_item = true;
    a->item_pos = 0;
    if (item->directory || item->size == 0)
        return 0;
    a->file = beneath_open(a->dir, item->name, O_RDONLY, NULL);
    if (a->file < 0)
        return error_set(err, ERR_PRECONDITION, "%s: %s", item->name, strerror(errno));
    struct stat st;
    if (fstat(a->file, &st) < 0 || !may_be_read(a, &st))
        return error_set(err, ERR_PRECONDITION, "%s has been replaced while it was being downloaded", item->name);
    return 0;
}

static int end_item(struct checkpoint_archive *a, struct error *err)
{
    if (a->file >= 0)
        close(a->file);
    a->file = -1;
    a->in_item = false;
    a->at++;
    return 0;
}

/* Whether the next n bytes are all to be left out, in a format (tar) where that needs no reading of the file. */
static bool may_skip_content(const struct checkpoint_archive *a, size_t n)
{
    return a->format == ARCHIVE_AS_TAR && a->sink.skip >= n;
}

static int write_piece(struct checkpoint_archive *a, struct error *err)
{
    const struct item *item = &a->item[a->at];
    char piece[PIECE_BYTES];
    size_t n = piece_of(item, a->item_pos);
    if (may_skip_content(a, n)) {
        memset(piece, 0, n);
    } else {
        ssize_t got = pread(a->file, piece, n, a->item_pos);
        if (got < 0)
            return error_errno(err, "%s", item->name);
        if ((size_t)got < n && got == 0)
            return error_set(err, ERR_PRECONDITION, "%s has become shorter while it was being downloaded", item->name);
        n = (size_t)got;
    }
    a->item_pos += (int64_t)n;
    return write_data(a->writer, item, piece, n, err);
}

static int write_next(struct checkpoint_archive *a, struct error *err)
{
    if (a->at == a->item_n) {
        a->closed = true;
        if (archive_write_close(a->writer) != ARCHIVE_OK)
            return error_set(err, ERR_INTERNAL, "libarchive: %s", archive_error_string(a->writer));
        return 0;
    }
    if (!a->in_item)
        return begin_item(a, err);
    return a->item_pos < a->item[a->at].size ? write_piece(a, err) : end_item(a, err);
}

int checkpoint_archive_read(struct checkpoint_archive *a, size_t wanted, struct strbuf *ret, bool *ret_end,
                            struct error *err)
{
    size_t before = ret->n;
    int rc = 0;
    a->sink.out = ret;
    while (rc == 0 && !a->closed && ret->n - before < wanted)
        rc = write_next(a, err);
    a->sink.out = NULL;
    *ret_end = a->closed;
    return rc;
}
