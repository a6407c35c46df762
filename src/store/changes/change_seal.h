/* Within the store: what store.c asks of the audit log. */
#ifndef DET_STORE_CHANGES_CHANGE_SEAL_H
#define DET_STORE_CHANGES_CHANGE_SEAL_H

#include "store/store.h"

/* Makes the triggers that note changes. Call it once for each connection that writes, after migrating. */
int change_triggers_install(struct store *st, struct error *err);
/* Makes records of the notes. Call it within the transaction, before its commit. */
int changes_seal(struct store *st, struct error *err);

#endif
