/* A directory as an archive that is made while it is sent: a tar, a gzipped tar, or a zip. Nothing is compressed,
 * since model weights hardly can be. So the archive's length and the place of every byte in it follow from names,
 * sizes and times alone, and a download that broke off can go on where it stopped. An archive has directories and
 * regular files only, in the order of their names. Symbolic links are left out, and so are hard links to files of
 * other accounts. The memory used does not depend on the sizes of files. */
#ifndef DET_API_CHECKPOINTS_CHECKPOINT_ARCHIVE_H
#define DET_API_CHECKPOINTS_CHECKPOINT_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

enum archive_format { ARCHIVE_AS_TAR, ARCHIVE_AS_GZIP, ARCHIVE_AS_ZIP };

struct checkpoint_archive;
/* Takes `dir` over. ERR_PRECONDITION if there are more entries than an archive may have. */
int checkpoint_archive_new(int dir, enum archive_format format, struct checkpoint_archive **ret, struct error *err);
void checkpoint_archive_free(struct checkpoint_archive *a); /* NULL is allowed */

/* A text that differs whenever the archive's bytes would differ. */
const char *checkpoint_archive_tag(const struct checkpoint_archive *a);
/* The archive's length in bytes, computed without reading files. For a tar this takes almost no time, for the other
 * formats about a second for each gigabyte. */
int checkpoint_archive_length(const struct checkpoint_archive *a, uint64_t *ret, struct error *err);

/* Begins at byte n of the archive. Call it before the first read. */
void checkpoint_archive_skip(struct checkpoint_archive *a, uint64_t n);
/* Appends the next bytes, about as many as `wanted`; none at the end. ERR_PRECONDITION if a file has changed since
 * it was listed. */
int checkpoint_archive_read(struct checkpoint_archive *a, size_t wanted, struct strbuf *ret, bool *ret_end,
                            struct error *err);

#endif
