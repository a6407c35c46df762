/* The note of a backup (store/engine/backup.h): the secrets of agents, which the store does not hold. In its first line
 * is the agents' token; after it comes the authority of their certificates, if there is one. */
#ifndef DET_MASTER_COMMANDS_BACKUP_NOTE_H
#define DET_MASTER_COMMANDS_BACKUP_NOTE_H

#include "common/base/error.h"
#include "common/base/strbuf.h"

int backup_note_make(const char *data_dir, const char *token, struct strbuf *ret, struct error *err);
/* Writes the files that the note holds. */
int backup_note_restore(const char *data_dir, const char *note, struct error *err);

#endif
