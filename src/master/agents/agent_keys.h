/* The keys with which agents prove who they are once they have joined. An agent shows a token the first time, and
 * offers a key that it has made in its hello; so it knows the key whenever the link breaks. From then on it shows the
 * key, which is good for this agent id only. For an agent of an older version the master makes the key. Keys are stored
 * by the writer as hashes, and told to the agent after the commit.
 * Loop's thread only. */
#ifndef DET_MASTER_AGENTS_AGENT_KEYS_H
#define DET_MASTER_AGENTS_AGENT_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct agent_keys;
struct master;
struct store;

enum { AGENT_KEY_DIGITS = 64 }; /* of a key that an agent has made itself; others are shorter */

#define REFUSAL_TOLD_US (INT64_C(600) * 1000000) /* the log says every ten minutes that an agent is refused */

struct agent_keys *agent_keys_new(void);
void agent_keys_free(struct agent_keys *k);
int agent_keys_load(struct agent_keys *k, struct store *db, struct error *err);
bool agent_keys_have(const struct agent_keys *k, const char *agent_id);
/* *ret_pool: the only pool that the key is good for, or "". It lives as long as the key. */
bool agent_keys_match(const struct agent_keys *k, const char *agent_id, const char *key, const char **ret_pool);
/* Until when the last certificate is valid that the agent has been given; 0: it has been given none. */
int64_t agent_keys_certificate_us(const struct agent_keys *k, const char *agent_id);
void agent_keys_certified(struct agent_keys *k, const char *agent_id, int64_t until_us);
/* Whether the log is to say now that this agent is refused: it tries again every few seconds. */
bool agent_keys_tell_refusal(struct agent_keys *k, const char *agent_id);
/* Takes over a key that is stored already: its hash. The agent has no certificate yet. */
void agent_keys_put(struct agent_keys *k, const char *agent_id, const uint8_t *hash, const char *pool);
/* An agent has joined. */
struct agent_joined {
    const char *agent_id;
    const char *offered; /* the key that it has made itself; NULL or "": the master is to make one */
    int64_t join_token;  /* with which it has joined; 0: the cluster's own token */
    const char *pool;
};
/* Gives the agent a key, which replaces any other key: the one that it has offered, or a new one. The agent is told the
 * key after the commit, if it is still connected; if not, it shows the key that it has offered when it comes again. The
 * use of the join token is counted in the same commit. */
void agent_keys_issue(struct master *m, const struct agent_joined *joined);
void agent_keys_forget(struct agent_keys *k, const char *agent_id);

#endif
