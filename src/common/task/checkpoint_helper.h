/* A checkpoint out of an object store, through a process of our Python library (determined.exec.fetch_checkpoint), which has
 * the stores' official clients: for who asks the master, and for det. One process for each download; it waits while nobody
 * reads. Calls may block: on threads that may wait. */
#ifndef DET_COMMON_CHECKPOINT_HELPER_H
#define DET_COMMON_CHECKPOINT_HELPER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

struct checkpoint_helper;
struct checkpoint_helper_options {
    const char *python, *python_path; /* the interpreter; the directory of our library */
    const char *storage;              /* checkpoint_storage, JSON */
    const char *uuid, *format;        /* "tar", "gzip" or "zip" */
    bool own_session;                 /* what ends us from a terminal does not end it */
};

/* Succeeds once there is something to be read. ERR_NOT_FOUND if the checkpoint is not in its store, ERR_PRECONDITION with the
 * library's words if the store cannot be used, ERR_UNAVAILABLE if too many are under way. */
int checkpoint_helper_start(const struct checkpoint_helper_options *o, struct checkpoint_helper **ret, struct error *err);
/* What has come, at most `wanted` bytes. *ret_end: that was all of it, and the process says that it is complete. */
int checkpoint_helper_read(struct checkpoint_helper *h, size_t wanted, struct strbuf *ret, bool *ret_end, struct error *err);
void checkpoint_helper_free(struct checkpoint_helper *h); /* ends the process; NULL is fine */

#endif
