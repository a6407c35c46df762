#include "master/agents/agent_keys.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "api/cluster/joining.h"
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
    char pool[CORE_POOL_MAX]; /* the only pool that it is good for; "": any */
    int64_t certificate_us;   /* until when its last certificate is valid; 0: it has been given none */
    int64_t refusal_told_us;  /* by the monotonic clock; 0: never */
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

void agent_keys_put(struct agent_keys *k, const char *agent_id, const uint8_t *hash, const char *pool)
{
    struct agent_key *x = find_key(k, agent_id);
    if (!x) {
        x = must_calloc(1, sizeof(*x));
        snprintf(x->agent_id, sizeof(x->agent_id), "%s", agent_id);
        HASH_ADD_STR(k->by_id, agent_id, x);
    }
    memcpy(x->hash, hash, sizeof(x->hash)); /* hash has as many bytes */
    snprintf(x->pool, sizeof(x->pool), "%s", pool);
    x->certificate_us = 0;
}

int64_t agent_keys_certificate_us(const struct agent_keys *k, const char *agent_id)
{
    const struct agent_key *x = find_key(k, agent_id);
    return x ? x->certificate_us : 0;
}

void agent_keys_certified(struct agent_keys *k, const char *agent_id, int64_t until_us)
{
    struct agent_key *x = find_key(k, agent_id);
    if (x)
        x->certificate_us = until_us;
}

bool agent_keys_tell_refusal(struct agent_keys *k, const char *agent_id)
{
    struct agent_key *x = find_key(k, agent_id);
    int64_t now_us = clock_monotonic_us();
    if (x && x->refusal_told_us && now_us - x->refusal_told_us < REFUSAL_TOLD_US)
        return false;
    if (x)
        x->refusal_told_us = now_us;
    return true;
}

int agent_keys_load(struct agent_keys *k, struct store *db, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_agent_key *key;
    size_t n;
    if (store_agent_keys_all(db, &a, &key, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        agent_keys_put(k, key[i].agent_id, key[i].hash, key[i].pool);
        agent_keys_certified(k, key[i].agent_id, key[i].certificate_us);
    }
    return 0;
}

bool agent_keys_have(const struct agent_keys *k, const char *agent_id)
{
    return find_key(k, agent_id) != NULL;
}

bool agent_keys_match(const struct agent_keys *k, const char *agent_id, const char *key, const char **ret_pool)
{
    const struct agent_key *x = find_key(k, agent_id);
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(key, hash);
    if (!x || CRYPTO_memcmp(hash, x->hash, sizeof(hash)) != 0)
        return false;
    *ret_pool = x->pool;
    return true;
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
    char key[AGENT_KEY_DIGITS + 1];
    int64_t join_token; /* with which the agent has joined; 0: the cluster's own */
};

static int issue_store(struct store *db, void *job, struct error *err)
{
    struct issue *i = job;
    if (i->join_token && store_join_token_use(db, i->join_token, err) < 0)
        return -1;
    return store_agent_key_put(db, &i->row, clock_now_us(), err);
}

static void issue_done(void *job, const struct error *err)
{
    struct issue *i = job;
    if (err) {
        log_error("agent.key_not_made", "id=%s reason=%s", i->row.agent_id, log_quote(error_msg(err)));
        joining_return_token_use(api_joining(i->m->api), i->join_token);
    } else {
        agent_keys_put(i->m->agent_keys, i->row.agent_id, i->row.hash, i->row.pool);
        struct link *l = hub_find_link(i->m->agents, i->row.agent_id);
        struct wire_link_agent_key body = {.key = i->key};
        struct wire_link_master_message out = hub_message(i->m->agents);
        out.agent_key = &body;
        if (l)
            link_send(l, &out);
        log_info("agent.key_made", "id=%s", i->row.agent_id);
    }
    OPENSSL_cleanse(i->key, sizeof(i->key));
    free(i);
}

_Static_assert(TOKEN_TEXT_MAX <= AGENT_KEY_DIGITS + 1, "a key that the master makes fits, too");

static int take_or_make_key(struct issue *i, const char *offered, struct error *err)
{
    struct token made;
    if (offered && *offered) {
        snprintf(i->key, sizeof(i->key), "%s", offered);
    } else {
        if (token_new(&made, err) < 0)
            return -1;
        snprintf(i->key, sizeof(i->key), "%s", made.text);
        OPENSSL_cleanse(&made, sizeof(made));
    }
    token_hash(i->key, i->row.hash);
    return 0;
}

void agent_keys_issue(struct master *m, const struct agent_joined *joined)
{
    struct issue *i = must_calloc(1, sizeof(*i));
    cleanup_error struct error err = ERROR_INIT;
    i->m = m;
    i->join_token = joined->join_token;
    snprintf(i->row.pool, sizeof(i->row.pool), "%s", joined->pool);
    snprintf(i->row.agent_id, sizeof(i->row.agent_id), "%s", joined->agent_id);
    if (take_or_make_key(i, joined->offered, &err) < 0) {
        issue_done(i, &err);
        return;
    }
    struct writer_job job = {issue_store, issue_done, i, .must = true};
    writer_submit(m->writer, &job, 1);
}
