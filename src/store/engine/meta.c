#include "store/engine/meta.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/engine/query.h"

int store_cluster_id(struct store *st, const char *proposal, struct arena *a, const char **ret, struct error *err)
{
    if (query_exec(st, Q_KV_PROPOSE, SQL_ARGS(sql_text("cluster_id"), sql_text(proposal)), NULL, err) < 0)
        return -1;
    return store_kv_get(st, "cluster_id", a, ret, err);
}

int store_can_be_read(struct store *st, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *id;
    if (store_begin_read(st, err) < 0)
        return -1;
    int r = store_kv_get(st, "cluster_id", &a, &id, err);
    store_rollback(st);
    return r;
}

int store_heartbeat_set(struct store *st, int64_t now_us, struct error *err)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)now_us);
    return store_kv_set(st, "heartbeat_us", text, err);
}

int store_last_id(struct store *st, enum store_ids which, int64_t *ret, struct error *err)
{
    static const enum sql_query query[] = {
        [STORE_IDS_EXPERIMENTS] = Q_LAST_ID_EXPERIMENTS,
        [STORE_IDS_TRIALS] = Q_LAST_ID_TRIALS,
        [STORE_IDS_USERS] = Q_LAST_ID_USERS,
        [STORE_IDS_WORKSPACES] = Q_LAST_ID_WORKSPACES,
        [STORE_IDS_PROJECTS] = Q_LAST_ID_PROJECTS,
        [STORE_IDS_MODELS] = Q_LAST_ID_MODELS,
    };
    return query_int(st, query[which], SQL_NO_ARGS, ret, err);
}

int mark_last_id(struct store *st, enum store_ids which, struct error *err)
{
    static const char *const key[] = {
        [STORE_IDS_EXPERIMENTS] = "last_id.experiments",
        [STORE_IDS_TRIALS] = "last_id.trials",
        [STORE_IDS_USERS] = "last_id.users",
        [STORE_IDS_WORKSPACES] = "last_id.workspaces",
        [STORE_IDS_PROJECTS] = "last_id.projects",
        [STORE_IDS_MODELS] = "last_id.models",
    };
    int64_t last;
    char text[24];
    if (store_last_id(st, which, &last, err) < 0)
        return -1;
    snprintf(text, sizeof(text), "%lld", (long long)last);
    return store_kv_set(st, key[which], text, err);
}
