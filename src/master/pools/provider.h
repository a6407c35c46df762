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
    /* the pool's provider section, with defaults; NULL: machines are only listed and terminated */
    struct json_object *config;
    const char *data_dir;    /* the master's data directory */
    const char *master_host; /* the name or address at which agents reach the master */
    int master_port;
    bool master_tls;
    const char *master_cert; /* a file; "": there is none */
    const char *cluster_id;
    const char *agent_token;
    const atomic_bool *stopping; /* the master ends, so work that takes long can be given up */
};

struct provider;

struct provider_type {
    const char *name; /* the value of provider.type in the configuration */
    int64_t list_period_us;
    int (*slots_per_instance)(struct json_object *config);
    /* Makes a provider, and does not block. What *setup points at has to live longer than the provider. */
    struct provider *(*open)(const struct provider_setup *setup);
    void (*close)(struct provider *p);
    /* Lists all machines that carry the pool's tag, including those that have stopped. */
    int (*list)(struct provider *p, struct arena *a, struct core_instance **ret, size_t *ret_n, struct error *err);
    /* Whether machines may be left that the last list did not have: they are on their way to their end, or could not be
     * listed. NULL: a list has all machines. */
    bool (*has_more)(const struct provider *p);
    /* Launches n machines. -1: not all of them were launched; *err says why. */
    int (*launch)(struct provider *p, int n, struct error *err);
    int (*terminate)(struct provider *p, const char *id, struct error *err);
    /* Lists the pools for which a provider of this kind has ever launched machines, whatever is configured now. The
     * strings are in the arena. */
    int (*pools)(const char *data_dir, struct arena *a, const char ***ret, size_t *ret_n, struct error *err);
};

extern const struct provider_type provider_local, provider_command, provider_aws, provider_gcp;

const struct provider_type *provider_find(const char *name); /* NULL: this build has no such provider */
const struct provider_type *provider_at(size_t index);       /* NULL: there are no more */

#endif
