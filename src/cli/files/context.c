#include "cli/files/context.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files/ignore.h"
#include "cli/terminal/terminal.h"
#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/compare.h"
#include "common/system/files.h"
#include "common/task/context_depth.h"

#define DETIGNORE ".detignore"
#define DETIGNORE_MAX (1 << 20)
enum { TYPE_FILE = 48, TYPE_DIRECTORY = 53 }; /* '0' and '5', the types of tar entries */

void context_release(struct context *c)
{
    arena_release(&c->arena);
    *c = (struct context)CONTEXT_INIT;
}

/* The state of walking through one directory (the context or an include). */
struct walk {
    struct context *c;
    struct ignore ignore;
    const char *root;   /* path on this machine */
    const char *prefix; /* put before the paths; "" for the context */
    size_t limit;
};

static size_t size_in_base64(size_t n)
{
    return (n + 2) / 3 * 3;
}

static int too_large(size_t limit, struct error *err)
{
    struct arena a = ARENA_INIT;
    error_set(err, ERR_TOO_LARGE,
              "the context and the included files exceed the maximum allowed size of %s; name in a "
              "%s file what need not be sent",
              format_size(&a, (double)limit), DETIGNORE);
    arena_release(&a);
    return -1;
}

static int add_entry(struct context *c, struct context_entry e, size_t limit, struct error *err)
{
    if (c->n == c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 256;
        struct context_entry *longer = arena_array(&c->arena, struct context_entry, cap);
        if (c->n)
            memcpy(longer, c->entry, c->n * sizeof(*longer));
        c->entry = longer;
        c->cap = cap;
    }
    c->entry[c->n++] = e;
    c->size += e.source ? size_in_base64(e.size) : 0;
    return c->size > limit ? too_large(limit, err) : 0;
}

static void skip_file(struct context *c, const char *path, int error_number)
{
    const char **longer = arena_array(&c->arena, const char *, c->skipped_n + 1);
    if (c->skipped_n)
        memcpy(longer, c->skipped, c->skipped_n * sizeof(*longer));
    longer[c->skipped_n++] = arena_printf(&c->arena, "%s: %s", path, strerror(error_number));
    c->skipped = longer;
}

static int add_file(struct context *c, const char *path, const char *source, const struct stat *st, size_t limit,
                    struct error *err)
{
    if (!S_ISREG(st->st_mode) || access(source, R_OK) < 0) {
        skip_file(c, source, S_ISREG(st->st_mode) ? errno : ENOTSUP); /* sockets and devices are not sent */
        return 0;
    }
    struct context_entry e = {
        .path = path, .source = source, .mode = st->st_mode, .mtime_s = st->st_mtime, .size = (size_t)st->st_size};
    return add_entry(c, e, limit, err);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_no_dot(const struct dirent *d)
{
    return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

/* A child of a directory that is sent, with what stat says of it. */
struct child {
    const char *relative, *source;
    struct stat st;
    bool link;
};

static bool keep_child(const struct walk *w, const char *name, const char *relative, bool directory)
{
    return strcmp(name, DETIGNORE) != 0 && !ignore_always(name) && !ignore_matches(&w->ignore, relative, directory);
}

static int list_children(struct walk *w, const char *relative, struct child **ret, size_t *ret_n, struct error *err)
{
    struct arena *a = &w->c->arena;
    const char *directory = *relative ? arena_printf(a, "%s/%s", w->root, relative) : w->root;
    struct dirent **name;
    int n = scandir(directory, &name, is_no_dot, by_name);
    *ret_n = 0;
    if (n < 0) {
        if (*relative == '\0')
            return error_errno(err, "reading %s", directory);
        skip_file(w->c, directory, errno);
        return 0;
    }
    *ret = arena_array(a, struct child, (size_t)n + 1);
    for (int i = 0; i < n; i++) {
        struct child c = {.source = arena_printf(a, "%s/%s", directory, name[i]->d_name)};
        struct stat link;
        c.relative = *relative ? arena_printf(a, "%s/%s", relative, name[i]->d_name) : arena_strdup(a, name[i]->d_name);
        c.link = lstat(c.source, &link) == 0 && S_ISLNK(link.st_mode);
        if (stat(c.source, &c.st) < 0)
            skip_file(w->c, c.source, errno); /* a symbolic link to nothing */
        else if (keep_child(w, name[i]->d_name, c.relative, S_ISDIR(c.st.st_mode)))
            (*ret)[(*ret_n)++] = c;
        free(name[i]);
    }
    free(name);
    return 0;
}

static const char *entry_path(const struct walk *w, const char *relative)
{
    return *w->prefix ? arena_printf(&w->c->arena, "%s/%s", w->prefix, relative) : relative;
}

static int walk_directory(struct walk *w, const char *relative, int depth, struct error *err)
{
    struct child *child = NULL;
    size_t n;
    if (list_children(w, relative, &child, &n, err) < 0)
        return -1;
    if (n > 0 && depth == CONTEXT_DEPTH_MAX)
        return error_set(err, ERR_INVALID, "%s has too long a path: agents unpack at most %d names below %s",
                         child[0].source, CONTEXT_DEPTH_MAX, w->root);
    for (size_t i = 0; i < n; i++) {
        struct context_entry e = {.path = entry_path(w, child[i].relative),
                                  .mode = child[i].st.st_mode,
                                  .mtime_s = child[i].st.st_mtime};
        if (S_ISDIR(child[i].st.st_mode) && add_entry(w->c, e, w->limit, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < n; i++)
        if (!S_ISDIR(child[i].st.st_mode) &&
            add_file(w->c, entry_path(w, child[i].relative), child[i].source, &child[i].st, w->limit, err) < 0)
            return -1;
    /* a link to a directory is sent as an empty directory, since it may lead anywhere, even back here */
    for (size_t i = 0; i < n; i++)
        if (S_ISDIR(child[i].st.st_mode) && !child[i].link && walk_directory(w, child[i].relative, depth + 1, err) < 0)
            return -1;
    return 0;
}

static int read_ignore_file(struct walk *w, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_error struct error why = ERROR_INIT;
    if (file_read(arena_printf(&w->c->arena, "%s/%s", w->root, DETIGNORE), DETIGNORE_MAX, &text, &why) < 0)
        return error_pass_unless(&why, ERR_NOT_FOUND, err) ? -1 : 0;
    ignore_add_file(&w->ignore, strbuf_str(&text), text.n);
    return 0;
}

static int read_directory(struct context *c, const char *root, const char *prefix, size_t limit, struct error *err)
{
    struct walk w = {.c = c, .root = root, .prefix = prefix, .limit = limit};
    int rc = read_ignore_file(&w, err) < 0 || walk_directory(&w, "", 0, err) < 0 ? -1 : 0;
    ignore_release(&w.ignore);
    return rc;
}

static int resolve_source(struct context *c, const char *path, const char **ret, struct stat *st, struct error *err)
{
    cleanup_free char *real = realpath(path, NULL);
    if (!real || stat(real, st) < 0)
        return error_set(err, ERR_NOT_FOUND, "Path '%s' doesn't exist", path);
    *ret = arena_strdup(&c->arena, real);
    return 0;
}

static int read_include(struct context *c, const char *path, size_t limit, struct error *err)
{
    struct stat st;
    const char *real = NULL;
    if (resolve_source(c, path, &real, &st, err) < 0)
        return -1;
    const char *name = strrchr(real, '/') + 1;
    if (!*name)
        return error_set(err, ERR_INVALID,
                         "'%s' has no name under which it could be included; name a file or directory", path);
    if (!S_ISDIR(st.st_mode))
        return add_file(c, name, real, &st, limit, err);
    struct context_entry e = {.path = name, .mode = st.st_mode, .mtime_s = st.st_mtime};
    if (add_entry(c, e, limit, err) < 0)
        return -1;
    return read_directory(c, real, name, limit, err);
}

/* An include must not have the name of something in the context's root, or of another include. */
static int check_duplicates(struct context *c, struct error *err)
{
    const char **name = arena_array(&c->arena, const char *, c->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (!strchr(c->entry[i].path, '/'))
            name[n++] = c->entry[i].path;
    qsort(name, n, sizeof(*name), compare_texts);
    for (size_t i = 1; i < n; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            return error_set(err, ERR_INVALID, "duplicate path detected: '%s'", name[i]);
    return 0;
}

int context_read(struct context *c, const char *root, const char *const *include, size_t include_n, size_t limit,
                 struct error *err)
{
    if (root) {
        struct stat st;
        const char *real = NULL;
        if (resolve_source(c, root, &real, &st, err) < 0)
            return -1;
        if (!S_ISDIR(st.st_mode))
            return error_set(err, ERR_INVALID,
                             "context path '%s' must be a directory; a single file can be sent with --include", root);
        if (read_directory(c, real, "", limit, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < include_n; i++)
        if (read_include(c, include[i], limit, err) < 0)
            return -1;
    return check_duplicates(c, err);
}

static void say_prepared(struct cli *cli, const struct context *c, const char *end)
{
    fprintf(cli->out, "Preparing files to send to master... %s and %zu files%s",
            format_size(&cli->arena, (double)c->size), c->n, end);
}

int context_prepare(struct cli *cli, struct context *c, const char *root, const char *const *include, size_t include_n,
                    bool terse, struct error *err)
{
    if (!root && include_n == 0)
        return 0;
    if (cli->out_terminal && !terse) { /* a terminal line is redrawn below; otherwise it is printed once */
        say_prepared(cli, c, "\r");
        fflush(cli->out);
    }
    int rc = context_read(c, root, include, include_n, CONTEXT_SIZE_MAX, err);
    if (rc == 0 && !terse)
        say_prepared(cli, c, "");
    if (!terse)
        fputc('\n', cli->out);
    for (size_t i = 0; i < c->skipped_n; i++)
        fprintf(terse ? cli->err : cli->out, "Skipped %s\n", c->skipped[i]);
    return rc;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Encodes a file piece by piece. A piece's length is a multiple of 3, so that only the last piece is padded. */
static int write_content(const struct context_entry *e, struct strbuf *out, struct error *err)
{
    static unsigned char piece[3 << 16];
    cleanup_close int fd = open(e->source, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "%s", e->source);
    size_t filled = 0, total = 0;
    for (;;) {
        ssize_t got = read(fd, piece + filled, sizeof(piece) - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_errno(err, "reading %s", e->source);
        filled += (size_t)got;
        total += (size_t)got;
        if (total > CONTEXT_SIZE_MAX) /* the file has grown since it was measured: most likely it is a log */
            return error_set(err, ERR_TOO_LARGE, "%s has grown over the maximum allowed size", e->source);
        if (got > 0 && filled < sizeof(piece))
            continue;
        base64_encode(piece, filled, out);
        if (got == 0)
            return 0;
        filled = 0;
    }
}

int context_write(const struct context *c, struct strbuf *out, struct error *err)
{
    strbuf_reserve(out, c->size / 3 * 4 + c->n * 160);
    strbuf_addc(out, '[');
    for (size_t i = 0; i < c->n; i++) {
        const struct context_entry *e = &c->entry[i];
        strbuf_adds(out, i ? ",{\"path\":" : "{\"path\":");
        strbuf_add_json(out, e->path, strlen(e->path));
        strbuf_addf(out, ",\"type\":%d,\"content\":\"", e->source ? TYPE_FILE : TYPE_DIRECTORY);
        if (e->source && write_content(e, out, err) < 0)
            return -1;
        strbuf_addf(out, "\",\"mtime\":\"%" PRId64 "\",\"mode\":%u,\"uid\":0,\"gid\":0}", e->mtime_s,
                    (unsigned)e->mode);
    }
    strbuf_addc(out, ']');
    return 0;
}
