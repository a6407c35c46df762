/* Reads a checkpoint from an object store, through a process of our Python library (determined.exec.fetch_checkpoint),
 * which has the official clients of the stores. The master and det use it. Each download has one process, which waits
 * while nobody reads. Calls may block, so make them on threads that may wait. */
#ifndef DET_COMMON_TASK_CHECKPOINT_HELPER_H
#define DET_COMMON_TASK_CHECKPOINT_HELPER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

struct checkpoint_helper;
struct checkpoint_helper_options {
    const char *python, *python_path; /* the interpreter; the directory of our library */
    const char *storage;              /* checkpoint_storage, JSON */
    const char *uuid, *format;        /* "tar", "gzip" or "zip" */
    bool own_session;                 /* a signal from our terminal does not end the process */
};

/* Succeeds once there is something to be read. ERR_NOT_FOUND if the checkpoint is not in its store, ERR_PRECONDITION
 * with the library's words if the store cannot be used, ERR_UNAVAILABLE if too many are under way. */
int checkpoint_helper_start(const struct checkpoint_helper_options *o, struct checkpoint_helper **ret,
                            struct error *err);
/* Reads what has come, at most `wanted` bytes. *ret_end: this was the end, and the process has reported that the
 * checkpoint is complete. */
int checkpoint_helper_read(struct checkpoint_helper *h, size_t wanted, struct strbuf *ret, bool *ret_end,
                           struct error *err);
void checkpoint_helper_free(struct checkpoint_helper *h); /* ends the process; NULL is fine */

#endif
