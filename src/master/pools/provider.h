/* Providers: they launch, list and end the machines of elastic pools (docs/decisions/0006). Each kind is one file with
 * a table of functions. The provisioner (provisioner.c) calls them on a thread that belongs to the pool, one at a time;
 * they may block.
 *
 * A provider keeps no record of machines. It lists those that carry the pool's tag, so that a master that starts finds
 * whatever an earlier one has launched. The agent on a machine has the machine's id. */
#ifndef DET_MASTER_POOLS_PROVIDER_H
#define DET_MASTER_POOLS_PROVIDER_H

#include <stdatomic.h>

#include "common/base/arena.h"
#include "common/json/json.h"
#include "core/core.h"

struct provider_setup {
    const char *pool;
    struct json_object
        *config;             /* provider of the pool, with defaults; NULL: only list and terminate will be asked for */
    const char *data_dir;    /* of the master */
    const char *master_host; /* as agents reach it */
    int master_port;
    bool master_tls;
    const char *master_cert; /* file; "": none */
    const char *agent_token;
    const atomic_bool *stopping; /* the master ends: what takes long can be given up */
};

struct provider;

struct provider_type {
    const char *name; /* provider.type in the configuration */
    int64_t list_period_us;
    int (*slots_per_instance)(struct json_object *config);
    /* Does not block. What *setup points at lives longer than the provider. */
    struct provider *(*open)(const struct provider_setup *setup);
    void (*close)(struct provider *p);
    /* All that carry the pool's tag, also those that have stopped. */
    int (*list)(struct provider *p, struct arena *a, struct core_instance **ret, size_t *ret_n, struct error *err);
    /* -1: not all of them were launched; *err says why. */
    int (*launch)(struct provider *p, int n, struct error *err);
    int (*terminate)(struct provider *p, const char *id, struct error *err);
    /* Pools of which this kind of provider has launched something, whatever is configured now. Strings from the arena.
     */
    int (*pools)(const char *data_dir, struct arena *a, const char ***ret, size_t *ret_n, struct error *err);
};

extern const struct provider_type provider_local;

const struct provider_type *provider_find(const char *name); /* NULL: not in this build */
const struct provider_type *provider_at(size_t index);       /* NULL: there are no more */

#endif
