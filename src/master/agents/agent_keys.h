/* The keys with which agents prove who they are once they have joined. An agent shows the cluster's join token the
 * first time, and gets a key of its own over that connection. From then on it shows the key, which is good for this
 * agent id only. Keys are made on the loop, stored by the writer as hashes, and told to the agent after the commit.
 * Loop's thread only. */
#ifndef DET_MASTER_AGENTS_AGENT_KEYS_H
#define DET_MASTER_AGENTS_AGENT_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct agent_keys;
struct master;
struct store;

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
/* Makes a new key for the agent, which replaces any other key. The agent gets the key after the commit, if it is still
 * connected. join_token: the one with which the agent has joined, whose use is counted in the same commit; 0: the
 * cluster's own token. */
void agent_keys_issue(struct master *m, const char *agent_id, int64_t join_token, const char *pool);
void agent_keys_forget(struct agent_keys *k, const char *agent_id);

#endif
