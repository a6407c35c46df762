/* Unpacks a context (a gzipped tar archive that some user has made) below a directory, and nowhere else.
 *
 * Directories, files, and links that stay inside are unpacked. The whole archive is refused, with an error that
 * names the member, if a member has an absolute path or `..` in its path, is a link that leads outside, or is a
 * device, a pipe or a socket. It is also refused if it unpacks to more than UNTAR_BYTES_MAX or UNTAR_MEMBERS_MAX, or
 * has a member deeper than CONTEXT_DEPTH_MAX (common/task/context_depth.h). Every path is walked component by
 * component without following links, so that no member is written through a link that an earlier one has made.
 * Set-user-id bits are dropped, and everything belongs to `owner`. */
#ifndef DET_AGENT_TASK_UNTAR_H
#define DET_AGENT_TASK_UNTAR_H

#include <stddef.h>

#include "agent/machine/account.h"
#include "common/base/error.h"

#define UNTAR_BYTES_MAX (2LL * 1024 * 1024 * 1024)
#define UNTAR_MEMBERS_MAX 200000

int untar(const void *tgz, size_t n, int dir, const struct account *owner, struct error *err);

#endif
