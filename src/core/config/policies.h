/* Configuration policies: what an administrator sets for the configurations of experiments and of other tasks, for the
 * whole cluster or for one workspace (docs/spec/configuration.md#policies).
 *
 *     invariant_config   values that every new configuration gets, whatever its author wrote
 *     constraints        limits that no configuration may exceed
 *
 * The cluster's policy goes before the workspace's: its invariant configuration lies on top, and its limit counts where
 * both have one. Keys are rows of contract/policy-config.json. Pure, as expconf.h is. */
#ifndef DET_CORE_CONFIG_POLICIES_H
#define DET_CORE_CONFIG_POLICIES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/config/schema.h"
#include "common/json/json.h"

enum policy_workload { POLICY_EXPERIMENT, POLICY_NTSC /* all tasks that are no trials */, POLICY_WORKLOAD_NR };

/* The names of the two in the API and in the store. */
const char *policy_workload_name(enum policy_workload w);
/* -1: there is no such type of workload. */
int policy_workload_parse(const char *name, enum policy_workload *ret);

struct policy_limit {
    bool is_set;
    int32_t value;
    const char *scope; /* of the policy that sets it, for messages: "the cluster", "workspace 'vision'" */
};

struct policy_time {
    int64_t us; /* 0: there is no limit */
    const char *scope;
};

/* The policies for one type of workload that hold in one workspace. */
struct policies {
    struct json_object *invariant; /* what all of them demand, as a configuration in normal form; NULL: nothing */
    const char *invariant_scope;   /* whose invariant configuration it is, for messages */
    struct policy_limit max_slots, priority_limit;
    struct policy_time max_time, max_idle_time;
};

/* Checks a policy that somebody has written, in YAML or JSON. *ret is its document, which the caller puts. ERR_INVALID
 * lists every mistake. */
int policy_parse(const char *text, size_t n, enum policy_workload w, struct json_object **ret, struct error *err);

/* Adds a policy that was checked by policy_parse(). That of the workspace has to be added before that of the cluster.
 * `scope` is borrowed. */
void policies_add(struct policies *p, enum policy_workload w, const char *scope, struct json_object *policy);
void policies_release(struct policies *p);

/* Lays the invariant configuration over a configuration in normal form. A list without keys that ends with the items
 * demanded stays as it is, so that a configuration that is laid under the same policy again does not change. The caller
 * puts the result; p may be NULL. */
struct json_object *policies_lay(const struct policies *p, const struct schema_key *table, struct json_object *config);

/* Checks a whole configuration against the limits. What its author has left open gets the limit: a priority that
 * nobody asked for (`priority_asked`), max_time, max_idle_time and, for an experiment, max_slots. p may be NULL. */
int policies_limit(const struct policies *p, enum policy_workload w, struct json_object *config, bool priority_asked,
                   struct error *err);

/* ---- Changes of what exists already ------------------------------------------------------------------------------ */

/* A change of a job's resources, as a person asks for it. */
struct policy_change {
    bool set_priority, set_weight, set_max_slots, set_collection;
    int32_t priority;
    double weight;
    int32_t max_slots; /* -1: no limit */
    /* how many checkpoints are kept */
    int32_t save_experiment_best, save_trial_best, save_trial_latest;
};
/* ERR_INVALID if the change exceeds a limit, or gives another value to a key that the invariant configuration sets. */
int policies_check_change(const struct policies *p, const struct policy_change *change, struct error *err);

/* Checks an experiment that is not over and is to come under these policies, by its effective configuration. It must
 * be within the limits, and must have what the invariant configuration demands, because the configuration of an
 * experiment that runs does not change. */
int policies_check_effective(const struct policies *p, struct json_object *effective, struct error *err);

#endif
