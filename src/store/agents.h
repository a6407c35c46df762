/* Agents: what an administrator decided about them (enabled, draining, slots switched off) outlives their
 * connection. */
#ifndef DET_STORE_AGENTS_H
#define DET_STORE_AGENTS_H

#include "core/rows.h"
#include "store/store.h"

int store_agent_put(struct store *st, const struct agent_row *x, struct error *err); /* inserts or replaces */
int store_agent_delete(struct store *st, const char *id, struct error *err);

/* What an agent shows once it has joined, as its SHA-256. */
#define STORE_AGENT_KEY_BYTES 32
struct store_agent_key {
    char agent_id[CORE_AGENT_ID_MAX];
    uint8_t hash[STORE_AGENT_KEY_BYTES];
};
int store_agent_key_put(struct store *st, const struct store_agent_key *k, int64_t now_us, struct error *err);
int store_agent_key_delete(struct store *st, const char *agent_id, struct error *err); /* ERR_NOT_FOUND: it has none */
int store_agent_keys_all(struct store *st, struct arena *a, struct store_agent_key **ret, size_t *ret_n, struct error *err);
int store_agents_all(struct store *st, struct arena *a, struct agent_row **ret, size_t *ret_n, struct error *err);

#endif
