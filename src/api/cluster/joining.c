#include "api/cluster/joining.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/identity.h"
#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/hex.h"
#include "common/base/must.h"
#include "store/functions.h"

_Static_assert(JOINING_HASH == TOKEN_HASH_BYTES, "both are SHA-256");

struct joining {
    struct join_token *token; /* a list: there are few, and an agent looks for one once in its life */
    struct pending_agent *pending;
    size_t pending_n;
};

struct joining *joining_new(void)
{
    struct joining *j = must_calloc(1, sizeof(*j));
    j->pending = must_calloc(JOINING_PENDING_MAX, sizeof(*j->pending));
    return j;
}

void joining_free(struct joining *j)
{
    if (!j)
        return;
    for (struct join_token *t = j->token, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    free(j->pending);
    free(j);
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

int joining_load(struct joining *j, struct store *db, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_join_token *row;
    size_t n;
    if (store_join_tokens_all(db, &a, &row, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        joining_put_token(j, &row[i]);
    return 0;
}

void joining_put_token(struct joining *j, const struct store_join_token *row)
{
    struct join_token *t = must_calloc(1, sizeof(*t));
    t->id = row->id;
    t->expiry_us = row->expiry_us;
    t->uses = row->uses;
    t->uses_max = row->uses_max;
    memcpy(t->hash, row->hash, sizeof(t->hash));
    memcpy(t->pool, row->pool, sizeof(t->pool));
    t->next = j->token;
    j->token = t;
}

void joining_drop_token(struct joining *j, int64_t id)
{
    for (struct join_token **at = &j->token; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            struct join_token *gone = *at;
            *at = gone->next;
            free(gone);
            return;
        }
}

void joining_forget_ended(struct joining *j, int64_t now_us)
{
    for (struct join_token **at = &j->token; *at;) {
        struct join_token *t = *at;
        if (t->expiry_us > now_us) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        free(t);
    }
}

size_t joining_token_n(const struct joining *j)
{
    size_t n = 0;
    for (const struct join_token *t = j->token; t; t = t->next)
        n++;
    return n;
}

static bool is_usable(const struct join_token *t, int64_t now_us)
{
    return t->expiry_us > now_us && (t->uses_max == 0 || t->uses < t->uses_max);
}

const struct join_token *joining_find_token(const struct joining *j, const char *text, int64_t now_us)
{
    uint8_t hash[TOKEN_HASH_BYTES];
    if (strncmp(text, JOIN_TOKEN_PREFIX, strlen(JOIN_TOKEN_PREFIX)) != 0)
        return NULL;
    token_hash(text, hash);
    for (const struct join_token *t = j->token; t; t = t->next)
        if (is_usable(t, now_us) && CRYPTO_memcmp(t->hash, hash, sizeof(hash)) == 0)
            return t;
    return NULL;
}

int joining_check_token(const struct joining *j, int64_t id, int64_t now_us, struct error *err)
{
    for (const struct join_token *t = j->token; t; t = t->next)
        if (t->id == id && is_usable(t, now_us))
            return 0;
    return error_set(err, ERR_PRECONDITION,
                     "join token %" PRId64 " has been used up, has ended or was revoked: make another one "
                     "(det agent join-token create)",
                     id);
}

static void add_uses(struct joining *j, int64_t id, int64_t n)
{
    for (struct join_token *t = j->token; t; t = t->next)
        if (t->id == id)
            t->uses += n;
}

void joining_use_token(struct joining *j, int64_t id)
{
    add_uses(j, id, 1);
}

void joining_return_token_use(struct joining *j, int64_t id)
{
    add_uses(j, id, -1);
}

/* ---- agents that wait -------------------------------------------------------------------------------------------- */

void joining_fingerprint(const uint8_t hash[JOINING_HASH], char ret[JOINING_FINGERPRINT + 1])
{
    enum { SHOWN = 16, GROUP = 2 };
    size_t n = 0;
    for (size_t i = 0; i < SHOWN; i++) {
        if (i && i % GROUP == 0)
            ret[n++] = '-';
        hex_encode(hash + i, 1, ret + n);
        n += 2;
    }
}

/* Forgets the agents that no longer ask. Their order stays. */
static void forget_old(struct joining *j, int64_t now_us)
{
    size_t n = 0;
    for (size_t i = 0; i < j->pending_n; i++)
        if (now_us - j->pending[i].last_us < JOINING_PENDING_S * INT64_C(1000000))
            j->pending[n++] = j->pending[i];
    j->pending_n = n;
}

static struct pending_agent *find_same(struct joining *j, const struct pending_agent *asked)
{
    for (size_t i = 0; i < j->pending_n; i++)
        if (strcmp(j->pending[i].id, asked->id) == 0 &&
            memcmp(j->pending[i].hash, asked->hash, sizeof(asked->hash)) == 0)
            return &j->pending[i];
    return NULL;
}

static int check_room(const struct joining *j, const struct pending_agent *asked, struct error *err)
{
    size_t of_address = 0;
    for (size_t i = 0; i < j->pending_n; i++)
        of_address += strcmp(j->pending[i].address, asked->address) == 0;
    if (of_address >= JOINING_OF_ADDRESS_MAX)
        return error_set(err, ERR_UNAVAILABLE,
                         "%d agents of the address %s wait to be accepted, more are not noted: accept or reject some "
                         "(det agent pending), or let this agent join with a token (det agent join-token create)",
                         JOINING_OF_ADDRESS_MAX, asked->address);
    if (j->pending_n >= JOINING_PENDING_MAX)
        return error_set(err, ERR_UNAVAILABLE,
                         "%d agents wait to be accepted, more are not noted: accept or reject some (det agent "
                         "pending), or let this agent join with a token (det agent join-token create)",
                         JOINING_PENDING_MAX);
    return 0;
}

int joining_ask(struct joining *j, const struct pending_agent *asked, int64_t now_us, bool *ret_new, struct error *err)
{
    forget_old(j, now_us);
    struct pending_agent *p = find_same(j, asked);
    bool is_new = !p;
    if (is_new) {
        if (check_room(j, asked, err) < 0)
            return -1;
        p = &j->pending[j->pending_n++];
    }
    int64_t first_us = is_new ? now_us : p->first_us;
    *p = *asked;
    joining_fingerprint(p->hash, p->fingerprint);
    p->first_us = first_us;
    p->last_us = now_us;
    *ret_new = is_new;
    return 0;
}

const struct pending_agent *joining_pending(struct joining *j, int64_t now_us, size_t *ret_n)
{
    forget_old(j, now_us);
    *ret_n = j->pending_n;
    return j->pending;
}

int joining_find_pending(struct joining *j, const char *agent_id, const char *fingerprint, int64_t now_us,
                         const struct pending_agent **ret, struct error *err)
{
    const char *other = NULL;
    forget_old(j, now_us);
    for (size_t i = 0; i < j->pending_n; i++) {
        if (strcmp(j->pending[i].id, agent_id) != 0)
            continue;
        if (strcmp(j->pending[i].fingerprint, fingerprint) == 0) {
            *ret = &j->pending[i];
            return 0;
        }
        other = j->pending[i].fingerprint;
    }
    if (other && *fingerprint)
        return error_set(
            err, ERR_PRECONDITION,
            "agent '%s' with the fingerprint %.64s does not wait; one with the fingerprint %s does: compare "
            "it with the log of the agent",
            agent_id, fingerprint, other);
    if (other)
        return error_set(err, ERR_INVALID,
                         "fingerprint is missing: name the agent by its id and the fingerprint that its log shows");
    return error_set(err, ERR_NOT_FOUND, "agent '%s' does not wait to be accepted (det agent pending lists who does)",
                     agent_id);
}

void joining_drop_pending(struct joining *j, const struct pending_agent *p)
{
    size_t i = (size_t)(p - j->pending);
    memmove(&j->pending[i], &j->pending[i + 1], (j->pending_n - i - 1) * sizeof(*p));
    j->pending_n--;
}
