#include "store/agents.h"

#include <stdlib.h>
#include <string.h>

#include "store/query.h"

/* [[device id, draining], …] */
static void print_slots(const struct agent_row *x, struct strbuf *out)
{
    strbuf_addc(out, '[');
    for (int i = 0; i < x->disabled_slot_n; i++)
        strbuf_addf(out, "%s[%d,%d]", i ? "," : "", x->disabled_slot[i], x->slot_draining[i]);
    strbuf_addc(out, ']');
}

/* Our own text, so the shape is known: the numbers alternate between id and flag. */
static void parse_slots(const char *text, struct agent_row *x)
{
    for (const char *p = text; (p = strpbrk(p, "-0123456789")) && x->disabled_slot_n < CORE_DEVICES_MAX;) {
        char *end;
        x->disabled_slot[x->disabled_slot_n] = (int32_t)strtol(p, &end, 10);
        x->slot_draining[x->disabled_slot_n] = strtol(*end ? end + 1 : end, &end, 10) != 0;
        x->disabled_slot_n++;
        p = end;
    }
}

int store_agent_put(struct store *st, const struct agent_row *x, struct error *err)
{
    cleanup_strbuf struct strbuf slots = STRBUF_INIT;
    print_slots(x, &slots);
    return query_send(st, Q_AGENTS_PUT, SQL_ARGS(sql_text(x->id), sql_text(x->pool), sql_bool(x->enabled),
                                                 sql_bool(x->draining), sql_text(slots.s), sql_bool(x->instance), sql_bool(x->listed),
                                                 sql_time(x->lost_us), sql_text(x->disabled_reason)),
                      err);
}

int store_agent_delete(struct store *st, const char *id, struct error *err)
{
    return query_exec(st, Q_AGENTS_DELETE, SQL_ARGS(sql_text(id)), NULL, err);
}

static void read_agent(struct query *q, struct arena *a, void *row)
{
    struct agent_row *x = row;
    *x = (struct agent_row){0};
    take_chars(q, x->id, sizeof(x->id));
    take_chars(q, x->pool, sizeof(x->pool));
    x->enabled = take_bool(q);
    x->draining = take_bool(q);
    parse_slots(take_text(q, a), x);
    x->instance = take_bool(q);
    x->listed = take_bool(q);
    x->lost_us = take_int(q);
    take_chars(q, x->disabled_reason, sizeof(x->disabled_reason));
}

int store_agents_all(struct store *st, struct arena *a, struct agent_row **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_AGENTS_ALL, SQL_NO_ARGS, read_agent, sizeof(**ret), a, ret, ret_n, err);
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

static void read_key(struct query *q, struct arena *a, void *row)
{
    struct store_agent_key *k = row;
    size_t n;
    *k = (struct store_agent_key){0};
    take_chars(q, k->agent_id, sizeof(k->agent_id));
    const void *hash = take_borrowed(q, &n);
    if (hash)
        memcpy(k->hash, hash, n < sizeof(k->hash) ? n : sizeof(k->hash));
}

int store_agent_keys_all(struct store *st, struct arena *a, struct store_agent_key **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_AGENT_KEYS_ALL, SQL_NO_ARGS, read_key, sizeof(**ret), a, ret, ret_n, err);
}
