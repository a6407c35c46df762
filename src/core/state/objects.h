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

/* What a pool's scheduler knows of an experiment. An experiment that has moved to another pool has a new job there; the
 * old job is freed with its last allocation. */
struct job {
    struct sched_job sched;
    /* NULL: the experiment has moved to another pool, or the job is that of a task of its own */
    struct experiment *experiment;
    /* the slots that its requests wait for and for which an elastic pool could launch agents */
    int64_t calling_slots;
};

/* The kinds of rows that the store keeps, parents before children. */
enum record_kind {
    RECORD_EXPERIMENT,
    RECORD_TRIAL,
    RECORD_TASK,
    RECORD_LAUNCHED,
    RECORD_ALLOCATION,
    RECORD_CONTAINER,
    RECORD_AGENT,
    RECORD_KIND_NR,
};

/* The part of an object whose row the store keeps. If the record is touched in a step, the step ends with one PUT of
 * the row as it is then (step.h). */
struct record {
    enum record_kind kind;
    bool stored;
    const void *row;
    struct pending_put *put; /* what this step will put of the row; NULL: nothing */
};

struct experiment {
    struct record record;
    struct experiment_row row;
    struct core_experiment_spec spec; /* the experiment owns the texts; the texts about the searcher are NULL */
    struct pool *pool;
    struct job *job;
    struct searcher *searcher;
    struct trial **trial_at; /* trials by their numbers in the searcher; NULL: no trial was created for that number */
    size_t trial_at_n;
    /* the number of trials from before the experiment was continued that its searcher has not asked for again */
    size_t unclaimed_n;
    struct strbuf searcher_events; /* the lines that this step has added */
    int64_t searcher_events_from;
    /* the number of events since the last snapshot; when there are many, another snapshot is made */
    uint64_t searcher_events_since;
    bool searcher_touched; /* the experiment is in the list core.searchers_touched */
    STAILQ_ENTRY(experiment) searcher_next;
    LIST_HEAD(, trial) trials; /* newest first */
    int trial_n, live_n;       /* live_n: the trials that are not in a terminal state */
    int open_n;                /* the number of its open allocations */
    bool rerun_completed;      /* set only while the experiment is being continued */
    /* the last failure in words; it becomes row.failure if the failure ends the experiment */
    char *failure;
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
    size_t number; /* the trial's number in its searcher */
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
    /* The members from here on are used if a user has launched the task (task_kind_is_launched()). */
    struct record launched_record;
    struct launched_row launched; /* task_id is "" after a restart if the store has no such row */
    char *description;            /* the text of launched.description */
    int64_t used_us;              /* when it was last used, as far as this master knows */
    bool queued;                  /* the task is in core.task_jobs: a generic task that is paused is not */
    bool chosen;                  /* used only within generic_change() */
    UT_hash_handle hh, by_job;
};

/* Whether the task can be interrupted, and go on later in another allocation. */
static inline bool task_is_pausable(const struct task *t)
{
    return t->row.kind == TASK_KIND_GENERIC && !t->launched.no_pause;
}

struct allocation {
    struct record record;
    struct allocation_row row;
    struct trial *trial; /* the trial that it belongs to; NULL: it belongs to `task` */
    struct task *task;   /* the task of its own that it belongs to; NULL: it belongs to `trial` */
    struct job *job;     /* the job of `task`; NULL: the allocation belongs to its experiment's job */
    struct pool *pool;
    struct container **container; /* by rank */
    size_t container_n;
    /* task_timer: due when a collection has run for too long, or a launched task may have been idle for too long */
    struct timer preempt_deadline, kill_again, task_timer;
    /* max_time: due when the task is to be warned that its max_time will be over, and when it is over */
    struct timer max_time;
    bool warned_of_max_time;
    bool told_use_unknown; /* the log has said that the use of the slots is not known (slot_use.h) */
    int64_t killed_us;     /* when a kill was last sent; 0: never */
    bool probed;           /* the probe of its machines was reported (gang_probe.h) */
    char *exit_text;       /* why it ends, as far as a sentence is known; NULL: none is */
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
    int64_t idle_us; /* for how long its slots have not been in use, as its agent has last told; -1: it is not known */
    LIST_ENTRY(container) in_agent;
    UT_hash_handle hh;
};

struct slot {
    struct core_device device; /* the texts in it are copies */
    struct container *container;
};

enum agent_presence {
    AGENT_GONE, /* only the agent's row is known */
    /* the connection broke a short time ago, or the agent is not back after a restart: its containers are taken to
     * run on */
    AGENT_AWAY,
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
    char *isolation_gap; /* NULL: it is not known */
    struct machine *machine;
    LIST_ENTRY(agent) in_machine;
    int64_t connected_us;
    uint64_t revision; /* grows whenever something changes that views show of the agent; no value is used twice */
    struct slot *slot; /* the slots, ordered by device id */
    size_t slot_n;
    struct sched_needs has; /* as the agent's last hello had it */
    bool tells_use;         /* … this, too: it tells for how long slots are not in use */
    struct pool *pool;
    struct sched_agent sched;
    struct pool *offered_to; /* the pool whose scheduler knows the agent; NULL: none */
    bool stale;              /* the scheduler has to be told of the agent's changes */
    LIST_ENTRY(agent) in_stale;
    bool leaving; /* the machine is about to end, so the agent gets no new work */
    struct timer lost;
    LIST_HEAD(, container) containers;
    UT_hash_handle hh;
};

struct pool {
    struct core_pool_opts opts;
    char *name;
    const struct rm_type *rm;
    bool changed;                         /* the pool has changed since its scheduler last ran */
    TAILQ_HEAD(, allocation) allocations; /* in the order in which they were asked for */
    TAILQ_HEAD(, allocation) new;         /* members of `allocations` that the scheduler has not been told of */
    struct sched *sched;
    struct sched_ledger *ledger; /* of all pools */
    LIST_HEAD(, agent) stale;
    struct timer pass;       /* due when another pass may decide otherwise because requests have aged */
    struct elastic *elastic; /* NULL: the pool has the agents that connect to it */
    struct run_times run_times;
};

/* A quota, and all that one user has started in one workspace, which keep to the same quotas (resources/quotas.h). */
struct quota {
    int32_t workspace_id, user_id; /* 0: all */
    char what[CORE_QUOTA_WHAT_MAX];
    struct sched_quota sched;
    LIST_ENTRY(quota) in_core;
};
struct quota_set {
    struct {
        int32_t workspace_id, user_id;
    } key;
    struct sched_quotas sched;
    UT_hash_handle hh;
};

struct core {
    int64_t now_us;       /* the time of this step */
    struct core_actor by; /* the user who asked for this step */
    struct core_effects *out;
    STAILQ_HEAD(, pending_put) puts;
    STAILQ_HEAD(, fact) facts;
    struct fact *last_fact; /* the fact that was added last, of those added since a fact was taken */
    uint64_t id_state;      /* the state of the generator for the ids of containers and jobs */
    int64_t agent_reconnect_wait_us, restore_wait_us;
    bool quarantine;    /* agents whose hosts fail go into quarantine (core_opts) */
    int64_t settled_us; /* until this time agents from before a restart may come back */
    int32_t last_experiment_id, last_trial_id;
    uint64_t last_revision;                /* the last revision that an agent has got */
    struct experiment *experiments, *jobs; /* jobs: the same experiments, found by the ids of their jobs */
    struct trial *trials;
    struct task *tasks;       /* tasks of their own, which belong to no trial */
    struct task *task_jobs;   /* members of `tasks` that have a job in the queue, found by the ids of their jobs */
    int task_n[TASK_KIND_NR]; /* how many of `tasks` there are of each kind */
    struct allocation *allocations;
    struct container *containers;
    struct agent *agents; /* sorted by id */
    struct machine *machines;
    struct pool *pool;
    size_t pool_n;
    LIST_HEAD(, quota) quotas;
    struct quota_set *quota_sets; /* by workspace and user */
    struct sched_ledger ledger;   /* what the schedulers of all pools know of quotas */
    struct timers timers;
    struct ports ports;
    STAILQ_HEAD(, experiment) searchers_touched;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#endif
