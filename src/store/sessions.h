/* Sessions: who a token stands for. Only the SHA-256 of a token is stored; the master keeps them all in memory as
 * well. */
#ifndef DET_STORE_SESSIONS_H
#define DET_STORE_SESSIONS_H

#include "store/functions.h"

/* All sessions of a deactivated account, for good. */
int store_sessions_end_of_user(struct store *st, int32_t user_id, struct error *err);

#endif
