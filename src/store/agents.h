/* Agents: what an administrator decided about them (enabled, draining, slots switched off) outlives their connection. */
#ifndef DET_STORE_AGENTS_H
#define DET_STORE_AGENTS_H

#include "store/store.h"

struct store_agent {
    const char *id, *resource_pool;
    bool enabled, draining;
    const char *slots_disabled; /* JSON list of device numbers */
    int64_t registered_us, last_seen_us;
    const char *hello; /* JSON of its last hello; NULL: none */
};

int store_agent_put(struct store *st, const struct store_agent *x, struct error *err); /* inserts or replaces */
int store_agent_touch(struct store *st, const char *id, int64_t now_us, struct error *err);
int store_agent_delete(struct store *st, const char *id, struct error *err);
int store_agents_all(struct store *st, struct arena *a, struct store_agent **ret, size_t *ret_n, struct error *err);

#endif
