/* The keys that agents show once they have joined. An agent comes with the cluster's join token the first time and gets a
 * key of its own over that connection; from then on the key opens the door to this agent id and to no other. Keys are made
 * on the loop, stored by the writer as hashes, and told to the agent after the commit. Loop's thread only. */
#ifndef DET_MASTER_AGENT_KEYS_H
#define DET_MASTER_AGENT_KEYS_H

#include <stdbool.h>

#include "common/error.h"

struct agent_keys;
struct master;
struct store;

struct agent_keys *agent_keys_new(void);
void agent_keys_free(struct agent_keys *k);
int agent_keys_load(struct agent_keys *k, struct store *db, struct error *err);
bool agent_keys_match(const struct agent_keys *k, const char *agent_id, const char *key);
/* A new one in place of any other; the agent is told if it is still connected then. */
void agent_keys_issue(struct master *m, const char *agent_id);
void agent_keys_forget(struct agent_keys *k, const char *agent_id);

#endif
