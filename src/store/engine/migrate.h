/* Brings a database to the version of this program: migrations/NNNN_what.sql, forward only. Each runs in a transaction
 * that first inserts its own number, so that two starting masters cannot both run it. */
#ifndef DET_STORE_ENGINE_MIGRATE_H
#define DET_STORE_ENGINE_MIGRATE_H

#include "store/engine/engine.h"

int migrate(struct engine *e, const char *path, struct error *err);

#endif
