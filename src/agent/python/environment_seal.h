/* Closes an environment that is finished: it belongs to the agent's user, everybody may read it, and nobody else may
 * write to it. The programs that filled it have ended. */
#ifndef DET_AGENT_PYTHON_ENVIRONMENT_SEAL_H
#define DET_AGENT_PYTHON_ENVIRONMENT_SEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

/* `builder` is the only uid whose files may lie below `dir`, beside the agent's own: a file of anybody else, to which
 * the builder could have made a hard link, is an error. *ret_bytes: the size on the disk. */
int environment_seal(const char *dir, bool change_user, uint32_t builder, int64_t *ret_bytes, struct error *err);

#endif
