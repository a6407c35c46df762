/* Copies of the whole store. A copy is made while others write, and can be brought back into an empty place.
 *
 * A backup is a database file of its own, which contains everything that was committed before it began. Besides the
 * store's rows it can hold a note, for what a cluster needs but does not keep in its store. */
#ifndef DET_STORE_ENGINE_BACKUP_H
#define DET_STORE_ENGINE_BACKUP_H

#include <stdatomic.h>

#include "store/store.h"

/* Writes the file `to` with mode 0600, over a connection of a reader. Fails with ERR_ABORTED once *cancel is true.
 * After a failure there is no file. */
int store_backup(struct store *reader, const char *to, const char *note, const atomic_bool *cancel, struct error *err);

/* Makes the copy of a backup at `path` the store of a cluster: brings it to this program's version, checks each page
 * and row of it, takes the note out, and sets its epoch to `epoch` if that is higher. The epoch matters since agents
 * do not follow a master whose epoch is lower than one they have seen. *ret_note lives in the arena. */
int store_revive(const char *path, int64_t epoch, struct arena *a, const char **ret_note, struct error *err);

/* Removes a store that was being made and is not wanted: its file, and the files that the engine keeps beside it. */
void store_file_remove(const char *path);

#endif
