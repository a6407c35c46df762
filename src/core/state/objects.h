/* The objects inside the core and how they hang together. For the core's own sources only; outsiders use core.h.
 *
 *     core ─┬─ experiment ── trial ── allocation (at most one open per trial) ── container (one per agent)
 *           ├─ task of its own ── allocation
 *           ├─ pool ── the open allocations that want or have its resources
 *           └─ agent ── slot ── container
 *
 * An object's state is in its row and nowhere else. One function of each kind of object changes it, by its table
 * (states.h).
 *
 * Calls go down this picture, never up: upward there are facts (step.h). What has ended is unlinked from all tables at
 * once, and is freed when its end has been told: core.c does that while no other function of the step runs. A trial's
 * allocation is its own until then. */
#ifndef DET_CORE_STATE_OBJECTS_H
#define DET_CORE_STATE_OBJECTS_H

#include <bsd/sys/queue.h>

#include "common/base/hash.h"
#include "common/base/strbuf.h"
#include "core/core.h"
#include "core/sched/sched.h"
#include "core/searcher/searcher.h"
#include "core/state/gather.h"
#include "core/state/ports.h"
#include "core/state/run_times.h"
#include "core/state/timers.h"

/* What an experiment is to a pool's scheduler. One that has moved to another pool has a new one there; the old one is
 * freed with its last allocation. */
struct job {
    struct sched_job sched;
    struct experiment *experiment; /* NULL: it has moved on, or this is the job of a task of its own */
    int64_t calling_slots;         /* that its requests wait for and an elastic pool could launch agents for */
};

/* Rows that the store keeps, parents before children. */
enum record_kind {
    RECORD_EXPERIMENT,
    RECORD_TRIAL,
    RECORD_TASK,
    RECORD_ALLOCATION,
    RECORD_CONTAINER,
    RECORD_AGENT,
    RECORD_KIND_NR,
};

/* Part of an object whose row the store keeps: touch it, and the step ends with one PUT of what the row has become
 * (step.h). */
struct record {
    enum record_kind kind;
    bool stored;
    const void *row;
    struct pending_put *put; /* what this step will put of it; NULL: nothing */
};

struct experiment {
    struct record record;
    struct experiment_row row;
    struct core_experiment_spec spec; /* the experiment owns the texts; those of the searcher are NULL */
    struct pool *pool;
    struct job *job;
    struct searcher *searcher;
    struct trial *
        *trial_at; /* trials by the number that the searcher knows them by; NULL: that trial was never created */
    size_t trial_at_n;
    size_t unclaimed_n;            /* trials from before it was continued that its searcher has not asked for again */
    struct strbuf searcher_events; /* lines that this step has added */
    int64_t searcher_events_from;
    uint64_t
        searcher_events_since; /* how many events there were since the last snapshot; many events cause the next one */
    bool searcher_touched;     /* in core.searchers_touched */
    STAILQ_ENTRY(experiment) searcher_next;
    LIST_HEAD(, trial) trials; /* newest first */
    int trial_n, live_n;       /* live: not in a terminal state */
    int open_n;                /* its open allocations */
    bool rerun_completed;      /* while it is being continued */
    char *failure;             /* what went wrong last: row.failure once that ends the experiment */
    UT_hash_handle hh, by_job;
};

struct trial {
    struct record record;
    struct trial_row row;
    char *hparams, *excluded;
    bool new_hparams; /* hparams have changed since the row was last put */
    struct record task_record;
    struct task_row task;
    struct experiment *experiment;
    size_t number; /* that its searcher knows it by */
    struct allocation *allocation;
    struct timer invalid_hp; /* when it is due, the trial is killed if it still runs */
    struct timer retry;      /* when it is due, the trial asks for its next allocation */
    LIST_ENTRY(trial) in_experiment;
    UT_hash_handle hh;
};

/* A task of its own, which belongs to no trial. */
struct task {
    struct record record;
    struct task_row row;
    struct allocation *allocation;
    UT_hash_handle hh;
};

struct allocation {
    struct record record;
    struct allocation_row row;
    struct trial *trial; /* the trial that it belongs to; NULL: it belongs to `task` */
    struct task *task;   /* the task of its own that it belongs to; NULL: it belongs to `trial` */
    struct job *job;     /* the job of `task`; NULL: the allocation belongs to its experiment's job */
    struct pool *pool;
    struct container **container; /* by rank */
    size_t container_n;
    struct timer preempt_deadline, kill_again, task_limit;
    int64_t killed_us; /* last time; 0: never */
    struct gather gather;
    TAILQ_ENTRY(allocation) in_pool, in_new;
    struct sched_request request;
    bool known_to_sched;  /* the scheduler knows of it */
    struct arena blocked; /* memory of the list of agents that the request must not run on */
    UT_hash_handle hh;
};

struct container {
    struct record record;
    struct container_row row;
    struct allocation *allocation;
    struct agent *agent;
    LIST_ENTRY(container) in_agent;
    UT_hash_handle hh;
};

struct slot {
    struct core_device device; /* texts are its own */
    struct container *container;
};

enum agent_presence {
    AGENT_GONE, /* known by its row only */
    AGENT_AWAY, /* lost a moment ago, or not yet back after a restart: its containers are thought to run on */
    AGENT_CONNECTED,
};

struct machine { /* machines.h */
    LIST_HEAD(, agent) agents;
    UT_hash_handle hh;
    char hostname[];
};

struct agent {
    struct record record;
    struct agent_row row;
    enum agent_presence presence;
    char *version, *hostname;
    char *isolation_gap; /* NULL: nobody knows */
    struct machine *machine;
    LIST_ENTRY(agent) in_machine;
    int64_t connected_us;
    uint64_t revision; /* grows whenever something that views show of the agent changes; never used twice */
    struct slot *slot; /* by device id */
    size_t slot_n;
    struct pool *pool;
    struct sched_agent sched;
    struct pool *offered_to; /* the pool whose scheduler has it; NULL: none */
    bool stale;              /* the scheduler should look at it again */
    LIST_ENTRY(agent) in_stale;
    bool leaving; /* its machine is about to be ended: it gets no new work */
    struct timer lost;
    LIST_HEAD(, container) containers;
    UT_hash_handle hh;
};

struct pool {
    struct core_pool_opts opts;
    char *name;
    const struct rm_type *rm;
    bool changed;                         /* since the scheduler last looked */
    TAILQ_HEAD(, allocation) allocations; /* in the order in which they were asked for */
    TAILQ_HEAD(, allocation) new;         /* of these, what the scheduler has not been told of */
    struct sched *sched;
    LIST_HEAD(, agent) stale;
    struct timer pass;       /* due when another pass may decide otherwise, because requests have aged */
    struct elastic *elastic; /* NULL: it has the agents that connect */
    struct run_times run_times;
};

struct core {
    int64_t now_us;       /* of this step */
    struct core_actor by; /* who asked for this step */
    struct core_effects *out;
    STAILQ_HEAD(, pending_put) puts;
    STAILQ_HEAD(, fact) facts;
    struct fact *last_fact; /* added since the last one was taken */
    uint64_t id_state;      /* of the generator of container and job ids */
    int64_t agent_reconnect_wait_us, restore_wait_us;
    int64_t settled_us; /* until then agents from before a restart may come back */
    int32_t last_experiment_id, last_trial_id;
    uint64_t last_revision;                /* of an agent */
    struct experiment *experiments, *jobs; /* jobs: the same experiments, by the ids of their jobs */
    struct trial *trials;
    struct task *tasks; /* tasks of their own, which belong to no trial */
    struct allocation *allocations;
    struct container *containers;
    struct agent *agents; /* sorted by id */
    struct machine *machines;
    struct pool *pool;
    size_t pool_n;
    struct timers timers;
    struct ports ports;
    STAILQ_HEAD(, experiment) searchers_touched;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#endif
