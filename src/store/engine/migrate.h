/* Brings a database to the version of this program with migrations/NNNN_what.sql; there is no way back to an older
 * version. Each migration runs in a transaction that first inserts the migration's number, so that two starting
 * masters cannot both run it. */
#ifndef DET_STORE_ENGINE_MIGRATE_H
#define DET_STORE_ENGINE_MIGRATE_H

#include "store/engine/engine.h"

int migrate(struct engine *e, const char *path, struct error *err);

#endif
