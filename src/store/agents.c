#include "store/agents.h"

#include "store/row_io.h"

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

