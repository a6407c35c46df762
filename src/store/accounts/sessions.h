/* Sessions: who a token stands for. Only the SHA-256 of a token is stored; the master keeps them all in memory as
 * well. */
#ifndef DET_STORE_SESSIONS_H
#define DET_STORE_SESSIONS_H

#include "store/rows.h"

int store_session_insert(struct store *st, const struct store_session *s, int64_t *ret_id, struct error *err);
int store_session_delete(struct store *st, const uint8_t token_hash[STORE_TOKEN_HASH_SIZE], struct error *err);
int store_session_lives(struct store *st, const uint8_t token_hash[STORE_TOKEN_HASH_SIZE], bool *ret, struct error *err);
/* After a change of the password: logins, and what tasks have as their owner's (TASK), but not the session `but` that
 * made the change (a hash of nobody: none). Those of allocations go on, so that running trials do. */
int store_sessions_end_of_password(struct store *st, int32_t user_id, const uint8_t but[STORE_TOKEN_HASH_SIZE], struct error *err);
/* All sessions of a deactivated account, for good. */
int store_sessions_end_of_user(struct store *st, int32_t user_id, struct error *err);
/* Both kinds that tasks have. */
int store_sessions_delete_of_allocation(struct store *st, const char *allocation_id, struct error *err);
int store_sessions_delete_expired(struct store *st, int64_t now_us, int64_t *ret_n, struct error *err);
/* All that are not expired at now_us, for the cache in memory. */
int store_sessions_load(struct store *st, int64_t now_us, struct arena *a, struct store_session **ret, size_t *ret_n,
                        struct error *err);

#endif
