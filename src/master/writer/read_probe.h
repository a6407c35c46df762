/* Finds out whether the store can be read, by one small read at intervals, on a reader's thread as requests read.
 * Writes cannot tell it: they fail for other reasons, and there are none while nothing runs.
 *
 * The store counts as unreadable when the last probe failed, or has been under way for longer than a read may take. */
#ifndef DET_MASTER_WRITER_READ_PROBE_H
#define DET_MASTER_WRITER_READ_PROBE_H

#include <stdbool.h>

#include "common/base/error.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct read_probe;

int read_probe_new(struct loop *l, struct pool *readers, struct read_probe **ret, struct error *err);
bool read_probe_is_well(const struct read_probe *p);
void read_probe_stop(struct read_probe *p); /* no further probe begins after this; p may be NULL */
void read_probe_free(struct read_probe *p); /* to be called after the readers have ended; p may be NULL */

#endif
