#include "store/sessions.h"

#include "store/query.h"

int store_session_insert(struct store *st, const struct store_session *s, int64_t *ret_id, struct error *err)
{
    return query_int(st, Q_SESSIONS_INSERT, SQL_ARGS(sql_blob(s->token_hash, sizeof(s->token_hash)),
                                                     sql_int(s->user_id),
                                                     sql_text(s->kind), sql_opt_text(s->allocation_id),
                                                     sql_int(s->created_us), sql_int(s->expiry_us),
                                                         sql_bool(s->revoked),
                                                     sql_opt_text(s->description)), ret_id, err);
}

int store_session_delete(struct store *st, const uint8_t token_hash[STORE_TOKEN_HASH_SIZE], struct error *err)
{
    return query_exec(st, Q_SESSIONS_DELETE, SQL_ARGS(sql_blob(token_hash, STORE_TOKEN_HASH_SIZE)), NULL, err);
}

int store_session_lives(struct store *st, const uint8_t token_hash[STORE_TOKEN_HASH_SIZE], bool *ret, struct error *err)
{
    int64_t n = 0;
    if (query_int(st, Q_SESSIONS_COUNT_OF_TOKEN, SQL_ARGS(sql_blob(token_hash, STORE_TOKEN_HASH_SIZE)), &n, err) < 0)
        return -1;
    *ret = n > 0;
    return 0;
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

static void read_session(struct query *q, struct arena *a, void *row)
{
    struct store_session *s = row;
    size_t n;
    s->id = take_int(q);
    const void *hash = take_borrowed(q, &n);
    memset(s->token_hash, 0, sizeof(s->token_hash));
    if (hash)
        memcpy(s->token_hash, hash, n < sizeof(s->token_hash) ? n : sizeof(s->token_hash));
    s->user_id = take_i32(q);
    s->kind = take_text(q, a);
    s->allocation_id = take_opt_text(q, a);
    s->created_us = take_int(q);
    s->expiry_us = take_int(q);
    s->revoked = take_bool(q);
    s->description = take_opt_text(q, a);
}

int store_sessions_load(struct store *st, int64_t now_us, struct arena *a, struct store_session **ret, size_t *ret_n,
                        struct error *err)
{
    return query_all(st, Q_SESSIONS_LOAD, SQL_ARGS(sql_int(now_us)), read_session, sizeof(**ret), a, ret, ret_n, err);
}
