/* The obvious scheduler: the rules of docs/spec/scheduling.md as they are written, on a snapshot, with no index, no
 * memory and no thought of speed. src/core/sched must decide the same; tests/sim and the case files compare the two. */
#ifndef DET_TESTS_PLAIN_PLAIN_SCHED_H
#define DET_TESTS_PLAIN_PLAIN_SCHED_H

#include "core/sched/sched.h"

struct plain_share {
    size_t agent; /* index in the snapshot */
    int slots;
    struct sched_needs needs;
};

struct plain_agent {
    const char *id;
    bool open;
    int slots, empty_slots, aux, empty_aux;
    struct sched_needs has, left;
};

struct plain_quota {
    int own, limit;
};

struct plain_request {
    const char *allocation_id, *job_id;
    int priority; /* with what aging has made of it */
    int64_t queue_position, submitted_us, request_us;
    double weight;
    int max_slots, slots;
    struct sched_needs needs; /* of each container */
    bool single_agent, preemptible;
    const size_t *quota; /* indexes in the snapshot */
    size_t quota_n;
    const void *quotas; /* the same for requests with the same quotas */
    bool borrows;       /* at the end of the last pass */
    const char *const *blocked_agent;
    size_t blocked_n;
    enum sched_state state;
    const struct plain_share *share; /* held */
    size_t share_n;
};

struct plain_snapshot {
    struct sched_opts opts;
    const struct plain_agent *agent;
    size_t agent_n;
    const struct plain_request *request;
    size_t request_n;
    const struct plain_quota *quota;
    size_t quota_n;
};

struct plain_placement {
    size_t request;
    struct plain_share *share;
    size_t share_n;
};

struct plain_decision {
    struct plain_placement *allocate;
    size_t allocate_n;
    size_t *unplaced; /* granted, but without a place */
    size_t unplaced_n;
    size_t *release;
    size_t release_n;
};

void plain_pass(const struct plain_snapshot *s, struct arena *a, struct plain_decision *ret);
size_t plain_fit(const struct plain_snapshot *s, const struct plain_agent *agent, const struct plain_request *r,
                 struct arena *a, struct plain_share **ret);

#endif
