#include "store/cluster/agents.h"

#include "store/row_io.h"

int store_agent_put(struct store *st, const struct agent_row *x, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    return query_send(st, Q_AGENTS_PUT, ARGS_AGENTS_PUT(x, &a), err);
}

int store_agent_delete(struct store *st, const char *id, struct error *err)
{
    return query_exec(st, Q_AGENTS_DELETE, SQL_ARGS(sql_text(id)), NULL, err);
}

int store_agents_all(struct store *st, struct arena *a, struct agent_row **ret, size_t *ret_n, struct error *err)
{
    return list_agents_all(st, SQL_NO_ARGS, a, ret, ret_n, err);
}

int store_agent_key_put(struct store *st, const struct store_agent_key *k, int64_t now_us, struct error *err)
{
    return query_exec(st, Q_AGENT_KEYS_PUT, SQL_ARGS(sql_text(k->agent_id), sql_blob(k->hash, sizeof(k->hash)), sql_int(now_us)), NULL, err);
}

int store_agent_key_delete(struct store *st, const char *agent_id, struct error *err)
{
    int64_t n;
    if (query_exec(st, Q_AGENT_KEYS_DELETE, SQL_ARGS(sql_text(agent_id)), &n, err) < 0)
        return -1;
    return n ? 0 : error_set(err, ERR_NOT_FOUND, "agent '%.80s' has no key", agent_id);
}

int store_agent_keys_all(struct store *st, struct arena *a, struct store_agent_key **ret, size_t *ret_n, struct error *err)
{
    return list_agent_keys_all(st, SQL_NO_ARGS, a, ret, ret_n, err);
}
