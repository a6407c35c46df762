/* A directory as an archive, made while it is read: a tar, the same within gzip, or a zip. Nothing is compressed (weights
 * hardly can be), so that the archive's length and every byte's place in it follow from names, sizes and times alone, and
 * a download that broke off goes on where it stopped. Directories and regular files only, in the order of their names;
 * links are left out, and so are files that a hard link has brought in from another account. Memory does not grow with the files. */
#ifndef DET_API_CHECKPOINT_ARCHIVE_H
#define DET_API_CHECKPOINT_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

enum archive_format { ARCHIVE_AS_TAR, ARCHIVE_AS_GZIP, ARCHIVE_AS_ZIP };

struct checkpoint_archive;
/* Takes `dir`. ERR_PRECONDITION for more entries than an archive may have. */
int checkpoint_archive_new(int dir, enum archive_format format, struct checkpoint_archive **ret, struct error *err);
void checkpoint_archive_free(struct checkpoint_archive *a); /* NULL is fine */

/* Changes whenever the archive would. */
const char *checkpoint_archive_tag(const struct checkpoint_archive *a);
/* Without reading a file. That of a tar costs next to nothing, the others' about a second for a gigabyte. */
int checkpoint_archive_length(const struct checkpoint_archive *a, uint64_t *ret, struct error *err);

/* Begins at a byte of the archive; before the first read. */
void checkpoint_archive_skip(struct checkpoint_archive *a, uint64_t n);
/* The next bytes, about as many as `wanted`; none at the end. ERR_PRECONDITION when a file is not what it was. */
int checkpoint_archive_read(struct checkpoint_archive *a, size_t wanted, struct strbuf *ret, bool *ret_end,
                            struct error *err);

#endif
