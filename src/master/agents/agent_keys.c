#include "master/agents/agent_keys.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/identity.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "master/agents/agent_hub_internal.h"
#include "master/master.h"
#include "store/functions.h"

struct agent_key {
    char agent_id[CORE_AGENT_ID_MAX];
    uint8_t hash[TOKEN_HASH_BYTES];
    UT_hash_handle hh;
};

struct agent_keys {
    struct agent_key *by_id;
};

struct agent_keys *agent_keys_new(void)
{
    struct agent_keys *k = must_calloc(1, sizeof(*k));
    return k;
}

void agent_keys_free(struct agent_keys *k)
{
    struct agent_key *x, *next;
    if (!k)
        return;
    HASH_ITER(hh, k->by_id, x, next) {
        HASH_DEL(k->by_id, x);
        free(x);
    }
    free(k);
}

static struct agent_key *find_key(const struct agent_keys *k, const char *agent_id)
{
    struct agent_key *x;
    HASH_FIND_STR(k->by_id, agent_id, x);
    return x;
}

static void keep_key(struct agent_keys *k, const char *agent_id, const uint8_t hash[TOKEN_HASH_BYTES])
{
    struct agent_key *x = find_key(k, agent_id);
    if (!x) {
        x = must_calloc(1, sizeof(*x));
        snprintf(x->agent_id, sizeof(x->agent_id), "%s", agent_id);
        HASH_ADD_STR(k->by_id, agent_id, x);
    }
    memcpy(x->hash, hash, sizeof(x->hash));
}

int agent_keys_load(struct agent_keys *k, struct store *db, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_agent_key *key;
    size_t n;
    if (store_agent_keys_all(db, &a, &key, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        keep_key(k, key[i].agent_id, key[i].hash);
    return 0;
}

bool agent_keys_match(const struct agent_keys *k, const char *agent_id, const char *key)
{
    const struct agent_key *x = find_key(k, agent_id);
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(key, hash);
    return x && CRYPTO_memcmp(hash, x->hash, sizeof(hash)) == 0;
}

void agent_keys_forget(struct agent_keys *k, const char *agent_id)
{
    struct agent_key *x = find_key(k, agent_id);
    if (!x)
        return;
    HASH_DEL(k->by_id, x);
    free(x);
}

/* ---- a new one --------------------------------------------------------------------------------------------------- */

struct issue {
    struct master *m;
    struct store_agent_key row;
    struct token token;
};

static int issue_store(struct store *db, void *job, struct error *err)
{
    struct issue *i = job;
    return store_agent_key_put(db, &i->row, clock_now_us(), err);
}

static void issue_done(void *job, const struct error *err)
{
    struct issue *i = job;
    if (err) {
        log_error("agent.key_not_made", "id=%s reason=%s", i->row.agent_id, log_quote(error_msg(err)));
    } else {
        keep_key(i->m->agent_keys, i->row.agent_id, i->row.hash);
        struct link *l = hub_find_link(i->m->agents, i->row.agent_id);
        struct wire_link_agent_key body = {.key = i->token.text};
        struct wire_link_master_message out = hub_message(i->m->agents);
        out.agent_key = &body;
        if (l)
            link_send(l, &out);
        log_info("agent.key_made", "id=%s", i->row.agent_id);
    }
    OPENSSL_cleanse(&i->token, sizeof(i->token));
    free(i);
}

void agent_keys_issue(struct master *m, const char *agent_id)
{
    struct issue *i = must_calloc(1, sizeof(*i));
    cleanup_error struct error err = ERROR_INIT;
    i->m = m;
    snprintf(i->row.agent_id, sizeof(i->row.agent_id), "%s", agent_id);
    if (token_new(&i->token, &err) < 0) {
        issue_done(i, &err);
        return;
    }
    memcpy(i->row.hash, i->token.hash, sizeof(i->row.hash));
    struct writer_job job = {issue_store, issue_done, i, .must = true};
    writer_submit(m->writer, &job, 1);
}
