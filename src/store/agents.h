/* Agents: what an administrator decided about them (enabled, draining, slots switched off) outlives their
 * connection. */
#ifndef DET_STORE_AGENTS_H
#define DET_STORE_AGENTS_H

#include "core/rows.h"
#include "store/store.h"

int store_agent_put(struct store *st, const struct agent_row *x, struct error *err); /* inserts or replaces */
int store_agent_delete(struct store *st, const char *id, struct error *err);
int store_agents_all(struct store *st, struct arena *a, struct agent_row **ret, size_t *ret_n, struct error *err);

#endif
