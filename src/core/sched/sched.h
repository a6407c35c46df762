/* Scheduling: which request gets which slots of one pool, and which requests are stopped for it.
 *
 * The caller tells the scheduler of agents, jobs and requests as they come, change and go, and asks for a pass when
 * something has changed. The scheduler keeps them in indexes (agents by what they have free, requests by their turn),
 * so that the cost of a pass depends on what it decides, not on how much there is. The scheduler starts nothing and
 * knows no clock. tests/sim compares it, pass by pass, with an obvious version that looks at everything.
 *
 *     agents ──→ agent_index.c, fits.c: where would it fit, whole agents for gangs; projection.c: where, once what
 *     leaves has gone requests → levels.c: whose turn is it
 *     sched_pass → priority.c or fair_share.c: the two policies; shares.c: what is fair
 *
 * The structs below are parts of the caller's own objects. The caller does not touch the fields below "the scheduler's
 * own". Rules: docs/spec/scheduling.md; "max-min" fairness as in Bertsekas and Gallager, Data Networks (1992), section
 * 6.5.2. */
#ifndef DET_CORE_SCHED_SCHED_H
#define DET_CORE_SCHED_SCHED_H

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/base/tree.h"
#include "core/sched/needs.h"
#include "core/sched/opts.h"
#include "core/sched/quotas.h"

struct agent_size;
struct sched_bucket;
struct agent_index_entry {
    RB_ENTRY(agent_index_entry) node;
    struct sched_bucket *bucket;
    struct sched_agent *agent;
};

/* An agent, with what the scheduler knows about it. */
struct sched_agent {
    const char *id;
    bool open; /* the agent takes new work: it is enabled, not draining, and connected */
    int slots,
        empty_slots;    /* usable slots, and how many of them are free; if the agent drains: the slots in use, and 0 */
    int aux, empty_aux; /* how many containers without slots it may have in all, and how many more it may take */
    /* the members from here on are used by the scheduler only */
    uint64_t hash;
    size_t held;                    /* how many shares of requests lie on this agent */
    int fixed;                      /* slots that requests hold here which cannot be preempted */
    int leaving_slots, leaving_aux; /* slots and zero-slot places of requests that are on their way out */
    /* projected: the projected agent of this agent (projection.h). projects: set in a projected agent, the agent
     * itself */
    struct sched_agent *projected, *projects;
    struct agent_size *size;  /* set if the agent is open (agent_index.h) */
    uint64_t room_counted_in; /* the number of the count that `room` belongs to (infeasible.c, room.c) */
    int room;
    struct agent_index_entry by_slots, by_aux;
    UT_hash_handle hh;
    /* Cores and memory. They stand last, so that requests that need none do not pay for them. `has` and `left` are the
     * caller's: what the agent has for requests that need some, and what nobody holds of it. If the agent drains, or
     * does not tell what it has: nothing. */
    struct sched_needs has, left;
    /* leaving: of requests that are on their way out. fixed_needs: of requests that are never stopped for a gang,
     * because they cannot be preempted or have no slots. room_needs: beside `room`, in room.c */
    struct sched_needs leaving, fixed_needs, room_needs;
};

struct sched_request;
RB_HEAD(sched_requests, sched_request);
RB_HEAD(sched_job_requests, sched_request);
RB_HEAD(sched_promotions, sched_request);

/* One job: all trials of an experiment share it. */
struct sched_job {
    const char *job_id;
    int priority;   /* 1 … 99; a lower number goes first */
    bool uncounted; /* the job is not shown to users, and is not counted among the jobs ahead of others */
    /* position: within a priority a lower number goes first; at first it is the time of submission */
    int64_t queue_position, submitted_us;
    double weight;
    int max_slots;               /* -1: no limit. It counts with fair share, and not with priorities */
    struct sched_quotas *quotas; /* NULL: the job has no quotas */
    /* The members from here on are used by the scheduler only. A pass with fair share reads the first of them, and the
     * two before them, of each job. */
    /* Sums over the job's requests that have slots. */
    /* active: slots held by requests that are not on their way out. held_for_good: those of them that cannot be
     * preempted */
    int active, held_for_good;
    int leaving;           /* slots held by preemptible requests that are on their way out */
    int largest, smallest; /* the sizes of the largest and the smallest request with slots that the job ever had */
    size_t waiting_n;
    int64_t waiting_slots;
    const struct sched_shape *shape; /* the shape of its waiting requests; NULL: they have several shapes */
    /* the job's place in the order of jobs (job_order.h) */
    RB_ENTRY(sched_job) node;
    TAILQ_ENTRY(sched_job) in_order;
    int owned; /* the part of `active` and `leaving` that is not borrowed */
    /* the slots that the pass with the number stopped_in took from the job for gangs of others */
    int stopped;
    uint64_t stopped_in, no_place_in; /* no_place_in: the number of the pass that found no place for the job's gangs */
    int lends_upto;                   /* see claim.borrows_less */
    bool by_age;
    size_t subtree_n;
    int64_t subtree_waiting;
    struct sched_job_requests requests; /* ordered by age */
    size_t request_n;
};

struct sched_share {
    struct sched_agent *agent;
    int slots; /* 0: the share is one container without slots */
};

enum sched_state { SCHED_PENDING, SCHED_ALLOCATED, SCHED_RELEASING };

struct sched_shape;
struct sched_request {
    const char *allocation_id;
    struct sched_job *job;
    int slots;         /* the slots of the whole gang; 0: the request is for a task without slots */
    bool single_agent; /* the request is never spread over several agents */
    bool preemptible;
    int64_t request_us;
    const char *const *blocked_agent; /* ids of agents on which the request must not run */
    size_t blocked_n;
    /* the cores and the memory that each of its shares has: it has one container on each agent */
    struct sched_needs needs;
    /* The members from here on are used by the scheduler only. The first of them are all that comparing two turns
     * reads, as a rule. */
    RB_ENTRY(sched_request) turn;
    int priority; /* the priority of the job, made better by aging */
    enum sched_state state;
    int64_t position; /* the queue_position of the job; with fair share its submitted_us */
    bool backfilled;  /* the request was placed while a more important one waited */
    /* borrows: it has its slots beyond what is its quotas' own. would_borrow: so it will, if it is placed */
    bool borrows, would_borrow;
    struct sched *sched;
    uint64_t hash;
    struct sched_shape *shape;
    struct sched_share *share; /* what the request holds on each agent */
    size_t share_n;
    uint64_t released_in; /* number of the pass that last wanted it released */
    /* With fair share: number of the pass that last found that its slots are lent to the job, or more than it is
     * offered */
    uint64_t lent_in;
    uint64_t granted_in; /* number of the pass that last granted it slots without finding agents for them */
    int64_t promote_us;  /* the time at which aging gives it the next better priority; 0: never */
    RB_ENTRY(sched_request) in_job, in_promotions, in_borrowers;
    TAILQ_ENTRY(sched_request) in_releasing;
};

struct sched_placement {
    struct sched_request *request;
    const struct sched_share *share;
    size_t share_n;
};

struct sched_decision {
    struct sched_placement *allocate;
    size_t allocate_n;
    /* With fair share: requests that were granted their slots, but whose places were taken by others in this pass. They
     * keep the grant, so that no later request of their job gets it instead. */
    struct sched_request **unplaced;
    size_t unplaced_n;
    struct sched_request *
        *release; /* requests to be stopped: they are preempted, or killed if they cannot be preempted */
    size_t release_n;
    int64_t again_us; /* when another pass may decide otherwise even if nothing else happens before; 0: never */
};

/* Places on what is on its way out are kept for at most SCHED_KEPT_MAX gangs. With priorities they are also kept for at
 * most as many smaller requests that need cores or memory. None are kept while more than SCHED_LEAVING_MAX requests are
 * on their way out. */
enum { SCHED_KEPT_MAX = 4, SCHED_LEAVING_MAX = 256 };
/* With fair share: how often one pass makes another plan after it has found gangs for which there is no place. */
enum { SCHED_PLANS_MAX = 8 };

struct sched;
/* Never NULL. The ledger must live longer; schedulers whose jobs have quotas in common have it in common. NULL: a
 * ledger of its own. */
struct sched *sched_new(const struct sched_opts *opts, struct sched_ledger *ledger);
void sched_free(struct sched *s);
const struct sched_opts *sched_get_opts(const struct sched *s);

void sched_agent_join(struct sched *s, struct sched_agent *agent);
void sched_agent_leave(struct sched *s,
                       /* requests that held something on the agent do not hold it any more */
                       struct sched_agent *agent);
/* Sets what the agent offers from now on: the members open, slots, empty_slots, aux, empty_aux, has and left of *to are
 * used. */
void sched_agent_set(struct sched *s, struct sched_agent *agent, const struct sched_agent *to);

void sched_request_add(struct sched *s, struct sched_request *r); /* the request waits from now on */
/* Adds a request after a restart. The request has had its slots since placed_us, and the agents' empty_slots and
 * empty_aux already take that into account. Shares are copied. The request keeps the priority that aging had given it
 * by then. */
void sched_request_hold(struct sched *s, struct sched_request *r, int64_t placed_us, const struct sched_share *share,
                        size_t n);
/* Marks the request as being on its way out: its slots will be free, so that no other request has to be stopped for
 * them. */
void sched_request_releasing(struct sched *s, struct sched_request *r);
/* Has to be called when the request has given back what it had on one agent. The caller then sets what that agent
 * offers now. */
void sched_request_gave_back(struct sched *s, struct sched_request *r, const struct sched_agent *agent);
void sched_request_remove(struct sched *s, struct sched_request *r);

/* Sets a job's priority, weight, max_slots, queue_position and quotas to those of *to. If the quotas are others, or if
 * their numbers were changed and this is called with the same ones, it is found anew which requests borrow. */
void sched_job_set(struct sched *s, struct sched_job *job, const struct sched_job *to);

/* Makes one pass: decides which requests get slots and which are stopped. When it returns, placements have been made:
 * the requests hold their shares, and their agents have that much less free. Releases have not been made: each pass
 * asks for them again until sched_request_releasing() is called. The arrays are in the arena. */
void sched_pass(struct sched *s, int64_t now_us, struct arena *a, struct sched_decision *ret);

/* These functions walk over the jobs that have requests, in the order in which they are served. */
const struct sched_job *sched_first_job(const struct sched *s);
const struct sched_job *sched_next_job(const struct sched_job *job);
size_t sched_job_n(const struct sched *s);
/* Returns how many jobs are served before this job. */
size_t sched_jobs_ahead(const struct sched_job *job);
int64_t sched_waiting_ahead(const struct sched_job *job); /* the slots that the jobs ahead wait for */

/* The order in which requests are served: by (priority, queue position, submission, request time, allocation id); with
 * fair share by (submission, request time, allocation id). */
int sched_request_compare(const struct sched_request *a, const struct sched_request *b);
int sched_job_compare(const struct sched_job *a, const struct sched_job *b);
/* The order of a job's requests by age, for RB_FOREACH. */
int sched_by_age(const struct sched_request *a, const struct sched_request *b);
RB_PROTOTYPE(sched_job_requests, sched_request, in_job, sched_by_age)

/* Returns the score of an agent for a request of so many slots (docs/spec/scheduling.md#which-agent-is-preferred). A
 * higher score is better. */
double sched_score(enum fitting_policy policy, const struct sched_agent *agent, int slots_needed);

#endif
