#include "store/sessions.h"

#include "store/row_io.h"

int store_sessions_end_of_user(struct store *st, int32_t user_id, struct error *err)
{
    if (query_exec(st, Q_SESSIONS_DELETE_OF_USER, SQL_ARGS(sql_int(user_id)), NULL, err) < 0)
        return -1;
    return query_exec(st, Q_SESSIONS_REVOKE_OF_USER, SQL_ARGS(sql_int(user_id)), NULL, err);
}

