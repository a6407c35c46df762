/* Scheduling: a pure function from a snapshot of one pool to a decision. It starts nothing and keeps nothing: whoever
 * took the snapshot carries the decision out, and takes a new one when something has changed.
 *
 * A scheduler is a sched_fn. Requests that hold slots already are in the snapshot, too, with what they hold, so that a
 * scheduler may decide to release them; one request never is in both lists of a decision. */
#ifndef DET_CORE_SCHED_SCHED_H
#define DET_CORE_SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "core/core.h"

struct sched_agent {
    const char *id;
    int slots, empty_slots; /* of enabled slots; an agent that is disabled or draining offers none */
    int aux, empty_aux;     /* zero-slot containers it may have, and still may have */
};

/* One job: all trials of an experiment share it. */
struct sched_group {
    const char *job_id;
    int priority; /* lower goes first */
    double weight;
    int max_slots; /* -1: no limit */
    int64_t queue_position, submitted_us;
};

struct sched_request {
    const char *allocation_id;
    const struct sched_group *group;
    int slots;
    int64_t request_us;
    bool single_agent, preemptible;
    bool allocated; /* has its slots */
    const char *const *blocked_agent; /* never on these */
    size_t blocked_n;
};

struct sched_snapshot {
    enum fitting_policy fitting;
    bool allow_heterogeneous_fits;
    const struct sched_agent *agent;
    size_t agent_n;
    const struct sched_request *request;
    size_t request_n;
};

struct sched_share {
    size_t agent; /* index in the snapshot */
    int slots;
};

struct sched_placement {
    size_t request; /* index in the snapshot */
    const struct sched_share *share;
    size_t share_n;
};

struct sched_decision {
    struct sched_placement *allocate;
    size_t allocate_n;
    size_t *release; /* requests to be preempted, or killed when they cannot be */
    size_t release_n;
};

typedef void sched_fn(const struct sched_snapshot *snapshot, struct arena *a, struct sched_decision *ret);

/* Packs slots in order: by priority, place in the queue, age. What does not fit lets others of its priority pass, but
 * none of a lower one. Zero-slot requests have a pass of their own. Never releases anything. */
sched_fn sched_in_order;

/* The order in which requests are served: priority, queue position, submission, request time, allocation id. */
int sched_request_compare(const struct sched_request *a, const struct sched_request *b);

/* Where a request could go: the best single agent, else whole agents of one size whose slots divide the
 * request, else, if allowed, whole agents of any size. 0 shares: nowhere. The array is the arena's. */
size_t sched_fit(const struct sched_snapshot *snapshot, const struct sched_agent *agent,
                 const struct sched_request *request, struct arena *a, struct sched_share **ret);
double sched_score(enum fitting_policy policy, const struct sched_agent *agent, int slots_needed);

#endif
