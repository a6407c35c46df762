/* Scheduling: which request gets which slots of one pool, and which requests are stopped for it.
 *
 * The caller tells the scheduler of agents, jobs and requests as they come, change and go, and asks for a pass when something
 * has changed. The scheduler keeps them in indexes (agents by what they have free, requests by their turn), so that the cost of
 * a pass depends on what it decides, not on how much there is. The scheduler starts nothing and knows no clock. tests/sim
 * compares it, pass by pass, with an obvious version that looks at everything.
 *
 *     agents ──→ places.c, fits.c: where would it fit, whole agents for gangs; projection.c: where, once what leaves has gone
 *     requests → queue.c: whose turn is it
 *     sched_pass → priority.c or fair_share.c: the two policies; shares.c: what is fair
 *
 * The structs below are parts of the caller's own objects. The caller does not touch the fields below "the scheduler's own".
 * Rules: docs/spec/scheduling.md; "max-min" fairness as in Bertsekas and Gallager, Data Networks (1992), section 6.5.2. */
#ifndef DET_CORE_SCHED_SCHED_H
#define DET_CORE_SCHED_SCHED_H

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/base/tree.h"
#include "core/sched/opts.h"

struct agent_size;
struct sched_bucket;
struct sched_place {
    RB_ENTRY(sched_place) node;
    struct sched_bucket *bucket;
    struct sched_agent *agent;
};

/* One agent, as far as scheduling goes. */
struct sched_agent {
    const char *id;
    bool open;              /* takes new work: enabled, not draining, connected */
    int slots, empty_slots; /* usable ones: all, and those that nobody has; when draining: those in use, and 0 */
    int aux, empty_aux;     /* zero-slot containers it may have in all, and still may have */
    /* the scheduler's own */
    uint64_t hash;
    size_t held; /* shares of requests */
    int fixed;   /* slots of these, by what cannot be preempted */
    int leaving_slots, leaving_aux; /* of what is held, on their way out */
    struct sched_agent *projected, *projects; /* the agent as it will be (projection.h); of that one: the agent itself */
    struct agent_size *size; /* of an open one (places.h) */
    uint64_t outlook; /* the look that `room` is of (infeasible.c, room.c) */
    int room;
    struct sched_place by_slots, by_aux;
    UT_hash_handle hh;
};

struct sched_request;
RB_HEAD(sched_requests, sched_request);
RB_HEAD(sched_job, sched_request);
RB_HEAD(sched_promotions, sched_request);

/* One job: all trials of an experiment share it. */
struct sched_group {
    const char *job_id;
    int priority;   /* 1 … 99, lower goes first */
    bool uncounted; /* nobody is told of it: it is none of those ahead of others */
    int64_t queue_position, submitted_us; /* position: lower goes first within a priority; at first the submission */
    double weight;
    int max_slots; /* -1: no limit. Fair share heeds it, priority does not */
    /* the scheduler's own; first, with the two before, what a pass by fair share reads of each job */
    /* What its requests with slots come to. */
    int active, held_for_good; /* held and not on their way out; of these, by what cannot be preempted */
    int leaving;               /* held by what can be preempted and is on its way out */
    int largest, smallest;     /* no request with slots ever was larger, or smaller */
    size_t waiting_n;
    int64_t waiting_slots;
    const struct sched_shape *shape; /* of those that wait; NULL: several */
    /* its place in line (line.h) */
    RB_ENTRY(sched_group) node;
    TAILQ_ENTRY(sched_group) in_order;
    int stopped; /* slots that the pass stopped_in took from it for gangs of others */
    uint64_t stopped_in, no_place_in; /* no_place_in: the pass that found no place for its gangs */
    bool by_age;
    size_t subtree_n;
    int64_t subtree_waiting;
    struct sched_job requests; /* by age */
    size_t request_n;
};

struct sched_share {
    struct sched_agent *agent;
    int slots; /* 0: a place for a zero-slot container */
};

enum sched_state { SCHED_PENDING, SCHED_ALLOCATED, SCHED_RELEASING };

struct sched_shape;
struct sched_request {
    const char *allocation_id;
    struct sched_group *group;
    int slots;          /* of the whole gang; 0: a zero-slot task */
    bool single_agent;  /* never spread over several */
    bool preemptible;
    int64_t request_us;
    const char *const *blocked_agent; /* never on these */
    size_t blocked_n;
    /* the scheduler's own */
    enum sched_state state;
    bool backfilled; /* placed while one more important waits */
    uint64_t hash;
    int priority; /* the group's, made better by aging */
    struct sched_shape *shape;
    struct sched_share *share; /* what it holds */
    size_t share_n;
    uint64_t released_in; /* number of the pass that last wanted it released */
    uint64_t granted_in;  /* … that last granted it slots without a place */
    int64_t promote_us;   /* aging makes it better then; 0: never */
    RB_ENTRY(sched_request) turn, in_group, in_promotions;
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
    /* By fair share: granted their slots, but the places were taken by others in this pass. They keep the grant: nothing
     * behind them in their job gets it instead. */
    struct sched_request **unplaced;
    size_t unplaced_n;
    struct sched_request **release; /* to be preempted, or killed when they cannot be */
    size_t release_n;
    int64_t again_us; /* by then another pass may decide otherwise, though nothing happens until then; 0: never */
};

/* By priority, at most SCHED_KEPT_MAX gangs have places kept in what is on its way out, and none has while more than
 * SCHED_LEAVING_MAX requests are on their way out. */
enum { SCHED_KEPT_MAX = 4, SCHED_LEAVING_MAX = 256 };
/* By fair share: how often one pass plans anew after it has found gangs for which there is no place. */
enum { SCHED_PLANS_MAX = 8 };

struct sched;
struct sched *sched_new(const struct sched_opts *opts); /* never NULL */
void sched_free(struct sched *s);
const struct sched_opts *sched_get_opts(const struct sched *s);

void sched_agent_join(struct sched *s, struct sched_agent *agent);
void sched_agent_leave(struct sched *s, struct sched_agent *agent); /* what was held there is not held any more */
/* Set what it offers now: open, slots … empty_aux of *to. */
void sched_agent_set(struct sched *s, struct sched_agent *agent, const struct sched_agent *to);

void sched_request_add(struct sched *s, struct sched_request *r); /* it waits */
/* After a restart: the request has had its slots since placed_us, and the agents' empty_slots and empty_aux say so already. Shares
 * are copied. The request keeps the priority that aging had given it by then. */
void sched_request_hold(struct sched *s, struct sched_request *r, int64_t placed_us, const struct sched_share *share, size_t n);
/* The request is on its way out: its slots will be free, so that nothing else need be stopped for them. */
void sched_request_releasing(struct sched *s, struct sched_request *r);
/* The request has given back what it had on one agent. The caller sets what that agent offers now. */
void sched_request_gave_back(struct sched *s, struct sched_request *r, const struct sched_agent *agent);
void sched_request_remove(struct sched *s, struct sched_request *r);

/* Set what a job is worth now: priority … queue_position of *to. */
void sched_group_set(struct sched *s, struct sched_group *g, const struct sched_group *to);

/* Decides. When it returns, placements have been made: the requests hold their shares, and their agents have that much less free.
 * Releases have not been made: each pass asks for them again until sched_request_releasing() is called. Arrays live in the
 * arena. */
void sched_pass(struct sched *s, int64_t now_us, struct arena *a, struct sched_decision *ret);

/* The jobs that have requests, in the order in which they are served. */
const struct sched_group *sched_first_group(const struct sched *s);
const struct sched_group *sched_next_group(const struct sched_group *g);
size_t sched_group_n(const struct sched *s);
/* How many of them are served before g. */
size_t sched_groups_ahead(const struct sched_group *g);
int64_t sched_waiting_ahead(const struct sched_group *g); /* slots that these wait for */

/* Which request goes first: (priority, queue position, submission, request time, allocation id); by fair share
 * (submission, request time, allocation id). */
int sched_request_compare(const struct sched_request *a, const struct sched_request *b);
int sched_group_compare(const struct sched_group *a, const struct sched_group *b);
/* The requests of a job by age, for RB_FOREACH. */
int sched_by_age(const struct sched_request *a, const struct sched_request *b);
RB_PROTOTYPE(sched_job, sched_request, in_group, sched_by_age)

/* How much a place is liked; more is better. */
double sched_score(enum fitting_policy policy, const struct sched_agent *agent, int slots_needed);

#endif
