/* Agents: what an administrator decided about them (enabled, draining, slots switched off) outlives their
 * connection. */
#ifndef DET_STORE_AGENTS_H
#define DET_STORE_AGENTS_H

#include "store/rows.h"

int store_agent_put(struct store *st, const struct agent_row *x, struct error *err); /* inserts or replaces */
int store_agent_delete(struct store *st, const char *id, struct error *err);

int store_agent_key_put(struct store *st, const struct store_agent_key *k, int64_t now_us, struct error *err);
int store_agent_key_delete(struct store *st, const char *agent_id, struct error *err); /* ERR_NOT_FOUND: it has none */
int store_agent_keys_all(struct store *st, struct arena *a, struct store_agent_key **ret, size_t *ret_n, struct error *err);
int store_agents_all(struct store *st, struct arena *a, struct agent_row **ret, size_t *ret_n, struct error *err);

#endif
