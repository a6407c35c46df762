/* How agents join: the tokens with which they may (contract/served.json, PostJoinToken), and those that have no token
 * and wait until an admin accepts them. Both tables are in memory; tokens are in the store, too. Loop's thread only.
 *
 * An agent that waits holds no connection: it asks again every few seconds, and is forgotten when it does not. What it
 * says of itself is not believed, only shown. It has made a key, which nobody else knows; whoever accepts it names the
 * key by its fingerprint, so that no other machine can take its place under the same id. */
#ifndef DET_API_CLUSTER_JOINING_H
#define DET_API_CLUSTER_JOINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "core/records/rows.h"

struct store;
struct store_join_token;

/* How long a certificate of an agent may be valid. What was revoked is forgotten after the longest time. */
#define JOINING_CERTIFICATE_MIN_US (INT64_C(10) * 1000000)
#define JOINING_CERTIFICATE_MAX_US (INT64_C(8760) * 3600 * 1000000)
#define JOIN_TOKEN_PREFIX "join-" /* a token is JOIN_TOKEN_PREFIX, the secret, and perhaps "." and a fingerprint */

enum {
    JOINING_HASH = 32,
    JOINING_TOKENS_MAX = 1000,    /* tokens that exist at a time */
    JOINING_PENDING_MAX = 200,    /* agents that wait */
    JOINING_OF_ADDRESS_MAX = 10,  /* of them from one address */
    JOINING_PENDING_S = 120,      /* an agent that has not asked for so long is forgotten */
    JOINING_FINGERPRINT = 32 + 7, /* bytes of its text */
};

struct join_token {
    int64_t id, expiry_us;
    uint8_t hash[JOINING_HASH];
    char pool[CORE_POOL_MAX];
    int64_t uses, uses_max; /* 0: any number */
    struct join_token *next;
};

struct pending_agent {
    char id[CORE_AGENT_ID_MAX], pool[CORE_POOL_MAX], address[CORE_ADDRESS_MAX], hostname[256], version[64];
    uint8_t hash[JOINING_HASH]; /* of its key */
    char fingerprint[JOINING_FINGERPRINT + 1];
    int64_t first_us, last_us;
};

struct joining;

struct joining *joining_new(void);
void joining_free(struct joining *j);
/* Reads the tokens of the store. */
int joining_load(struct joining *j, struct store *db, struct error *err);

/* ---- tokens ---- */

void joining_put_token(struct joining *j, const struct store_join_token *row);
/* Forgets the tokens that have ended by time. */
void joining_forget_ended(struct joining *j, int64_t now_us);
void joining_drop_token(struct joining *j, int64_t id);
size_t joining_token_n(const struct joining *j);
/* The token that has this text and may be used at the moment; NULL if there is none. */
const struct join_token *joining_find_token(const struct joining *j, const char *text, int64_t now_us);
/* ERR_PRECONDITION: the token has ended, was used up or was revoked since the agent has connected. */
int joining_check_token(const struct joining *j, int64_t id, int64_t now_us, struct error *err);
void joining_use_token(struct joining *j, int64_t id); /* counts one agent that has joined with the token */
/* Takes back a use that was counted and could not be stored. */
void joining_return_token_use(struct joining *j, int64_t id);

/* ---- agents that wait ---- */

/* Writes the fingerprint of a key: the first 16 bytes of its SHA-256, in groups of four digits. */
void joining_fingerprint(const uint8_t hash[JOINING_HASH], char ret[JOINING_FINGERPRINT + 1]);
/* Notes an agent that asks to be accepted. `asked` has all but times and fingerprint. ERR_UNAVAILABLE: too many wait.
 * *ret_new: it has not asked before. */
int joining_ask(struct joining *j, const struct pending_agent *asked, int64_t now_us, bool *ret_new, struct error *err);
/* The agents that wait, in the order in which they first asked. */
const struct pending_agent *joining_pending(struct joining *j, int64_t now_us, size_t *ret_n);
/* The one that is named. Its fingerprint must be given, too, because several machines may ask under one id. */
int joining_find_pending(struct joining *j, const char *agent_id, const char *fingerprint, int64_t now_us,
                         const struct pending_agent **ret, struct error *err);
void joining_drop_pending(struct joining *j, const struct pending_agent *p);

#endif
