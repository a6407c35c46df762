/* Collects the files that are sent with an experiment or another task: the directory of the model definition or
 * context, and what --include adds.
 *
 * context_read() lists and measures the files. context_write() reads them directly into the request's JSON, so that
 * a context of 95 MiB takes little memory beyond the request itself. The order is: of each directory the entries of
 * its subdirectories, then its files, then what is in the subdirectories; names are sorted. The context's own root
 * has no entry; an included directory has one. */
#ifndef DET_CLI_FILES_CONTEXT_H
#define DET_CLI_FILES_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

#define CONTEXT_SIZE_MAX ((size_t)99614720) /* 95 MiB of file content */

struct context_entry {
    const char *path;   /* path within the task's directory */
    const char *source; /* path on this machine; NULL for directories */
    mode_t mode;
    int64_t mtime_s;
    size_t size;
};

struct context {
    struct arena arena;
    struct context_entry *entry;
    size_t n, cap;
    size_t size;          /* number of bytes of content, before base64 */
    const char **skipped; /* "PATH: REASON" for each file that could not be read */
    size_t skipped_n;
};

#define CONTEXT_INIT {0}

/* `root` may be NULL. ERR_TOO_LARGE if the content exceeds `limit` bytes. */
int context_read(struct context *c, const char *root, const char *const *include, size_t include_n, size_t limit,
                 struct error *err);
/* Like context_read() with the limit of submissions. Says on cli->out how much is sent, unless the output is for a
 * program
 * (`terse`), and which files could not be read. Does nothing if there is neither a root nor an include. */
struct cli;
int context_prepare(struct cli *cli, struct context *c, const char *root, const char *const *include, size_t include_n,
                    bool terse, struct error *err);
/* Appends the entries as a JSON array of util.v1.File. */
int context_write(const struct context *c, struct strbuf *out, struct error *err);
void context_release(struct context *c);

#define cleanup_context __attribute__((cleanup(context_release)))

#endif
