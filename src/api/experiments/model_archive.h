/* Model definitions: the files of a request as a gzipped tar, the form in which they are stored and handed to tasks. */
#ifndef DET_API_MODEL_ARCHIVE_H
#define DET_API_MODEL_ARCHIVE_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "gen/wire.h"

#define MODEL_DEFINITION_MAX (96 * 1024 * 1024) /* bytes of content; clients stop at 95 MiB */

/* Refuses absolute paths, "..", empty names, paths of more than CONTEXT_DEPTH_MAX names, anything that is neither file nor
 * directory, and too much content; the error names the file. No files give an empty archive. */
int archive_build(const struct wire_util_file *file, size_t n, struct strbuf *ret_tgz, struct error *err);

/* A path as it is compared: "./a//b/" is "a/b"; "" is the context itself. */
char *model_path_clean(const char *path, struct arena *a);

#endif
