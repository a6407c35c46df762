/* Copies of the whole store: made while others write, and brought back into an empty place.
 *
 * A backup is a database file of its own: whatever was committed before it began is in it. Beside the store's rows it
 * can hold a note, for what a cluster needs but does not keep in its store. */
#ifndef DET_STORE_ENGINE_BACKUP_H
#define DET_STORE_ENGINE_BACKUP_H

#include <stdatomic.h>

#include "store/store.h"

/* Writes the file `to`, mode 0600, on a connection of a reader. Fails with ERR_ABORTED once *cancel is true. On failure
 * there is no file. */
int store_backup(struct store *reader, const char *to, const char *note, const atomic_bool *cancel, struct error *err);

/* Makes the copy of a backup at `path` the store of a cluster: brings it to this program's version, checks each page
 * and row of it, takes the note out, and sets its epoch to `epoch` if that is higher: agents follow no master with a
 * lower epoch than they have seen. *ret_note lives in the arena. */
int store_revive(const char *path, int64_t epoch, struct arena *a, const char **ret_note, struct error *err);

/* A store that was being made, and is not wanted: the file, and what the engine keeps beside it. */
void store_file_remove(const char *path);

#endif
