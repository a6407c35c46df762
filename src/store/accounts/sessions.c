#include "store/accounts/sessions.h"

#include "store/row_io.h"

int store_session_insert(struct store *st, const struct store_session *s, int64_t *ret_id, struct error *err)
{
    return query_int(st, Q_SESSIONS_INSERT, ARGS_SESSIONS_INSERT(s), ret_id, err);
}

int store_session_delete(struct store *st, const uint8_t token_hash[STORE_TOKEN_HASH_SIZE], struct error *err)
{
    return query_exec(st, Q_SESSIONS_DELETE, SQL_ARGS(sql_blob(token_hash, STORE_TOKEN_HASH_SIZE)), NULL, err);
}

int store_session_lives(struct store *st, const uint8_t token_hash[STORE_TOKEN_HASH_SIZE], bool *ret, struct error *err)
{
    return query_bool(st, Q_SESSIONS_COUNT_OF_TOKEN, SQL_ARGS(sql_blob(token_hash, STORE_TOKEN_HASH_SIZE)), ret, err);
}

int store_sessions_end_of_password(struct store *st, int32_t user_id, const uint8_t but[STORE_TOKEN_HASH_SIZE], struct error *err)
{
    return query_exec(st, Q_SESSIONS_DELETE_OF_PASSWORD, SQL_ARGS(sql_int(user_id), sql_blob(but, STORE_TOKEN_HASH_SIZE)), NULL, err);
}

int store_sessions_end_of_user(struct store *st, int32_t user_id, struct error *err)
{
    if (query_exec(st, Q_SESSIONS_DELETE_OF_USER, SQL_ARGS(sql_int(user_id)), NULL, err) < 0)
        return -1;
    return query_exec(st, Q_SESSIONS_REVOKE_OF_USER, SQL_ARGS(sql_int(user_id)), NULL, err);
}

int store_sessions_delete_of_allocation(struct store *st, const char *allocation_id, struct error *err)
{
    return query_exec(st, Q_SESSIONS_DELETE_OF_ALLOCATION, SQL_ARGS(sql_text(allocation_id)), NULL, err);
}

int store_sessions_delete_expired(struct store *st, int64_t now_us, int64_t *ret_n, struct error *err)
{
    return query_exec(st, Q_SESSIONS_DELETE_EXPIRED, SQL_ARGS(sql_int(now_us)), ret_n, err);
}

int store_sessions_load(struct store *st, int64_t now_us, struct arena *a, struct store_session **ret, size_t *ret_n,
                        struct error *err)
{
    return list_sessions_load(st, SQL_ARGS(sql_int(now_us)), a, ret, ret_n, err);
}
