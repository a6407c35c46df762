/* Agents: what an administrator decided about them (enabled, draining, slots switched off) outlives their
 * connection. */
#ifndef DET_STORE_AGENTS_H
#define DET_STORE_AGENTS_H

#include "store/functions.h"

int store_agent_key_put(struct store *st, const struct store_agent_key *k, int64_t now_us, struct error *err);
int store_agent_key_delete(struct store *st, const char *agent_id, struct error *err); /* ERR_NOT_FOUND: it has none */

#endif
