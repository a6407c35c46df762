/* Model definitions: packs the files of a request into a gzipped tar, which is stored and handed to tasks. */
#ifndef DET_API_EXPERIMENTS_MODEL_ARCHIVE_H
#define DET_API_EXPERIMENTS_MODEL_ARCHIVE_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "gen/wire.h"

#define MODEL_DEFINITION_MAX (96 * 1024 * 1024) /* bytes of content; clients refuse more than 95 MiB themselves */

/* Refuses absolute paths, "..", empty names, paths of more than CONTEXT_DEPTH_MAX names, anything that is neither
 * file nor directory, and too much content; the error names the file. Without files the archive is empty. */
int archive_build(const struct wire_util_file *file, size_t n, struct strbuf *ret_tgz, struct error *err);

/* The form in which paths are compared: "./a//b/" is "a/b"; "" is the root of the context. */
char *model_path_clean(const char *path, struct arena *a);

#endif
