/* Quotas: how many slots the jobs of a workspace, of a user, or of a user within a workspace may have together
 * (docs/spec/scheduling.md#quotas). Several pools share them.
 *
 * A request that has its slots either counts as its quotas' own or *borrows*. By priority, a request that borrows ranks
 * behind all that do not, whatever their priorities are, so that it is stopped first. By fair share, what is left after
 * the quotas' own slots is lent last (shares.h). */
#ifndef DET_CORE_SCHED_QUOTAS_H
#define DET_CORE_SCHED_QUOTAS_H

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/tree.h"

struct sched_request;
struct sched_shape;
RB_HEAD(sched_borrowers, sched_request);

/* How far a pass has come: which rank it serves, and which request's turn it is; after_all: all requests of the rank
 * have had their turns, and room is made for those that do not fit. Before it serves the first rank, `rank` is 0. */
struct sched_moment {
    uint64_t pass;
    int rank;
    bool after_all;
    const struct sched_request *turn;
};

/* A shape of waiting requests in one of its quotas. */
struct sched_watch {
    struct sched_shape *shape;
    int slots;
    RB_ENTRY(sched_watch) node;
};
RB_HEAD(sched_watches, sched_watch);

/* Makes a job's quotas a member of the list of one of these quotas (sched_quota.members). */
struct sched_member {
    struct sched_quotas *of;
    LIST_ENTRY(sched_member) in_quota;
};

/* What fair share counts for a quota in one pass (shares.c): of the jobs whose claims it collects. */
struct quota_claims {
    uint64_t pass; /* the number of that pass */
    /* how many slots these jobs may have together: as the quota's own, and in all; what they have */
    int64_t own, limit, active;
    int64_t own_offered; /* what the first round has offered them */
    int64_t left;        /* what the present round may still offer them */
    /* while shares grow: the weights and the number of the jobs whose shares do, and what the others have */
    double weight, taken;
    size_t growing;
};

/* The same for all jobs of one set of quotas. */
struct set_claims {
    uint64_t pass;
    int64_t active, held, owned; /* held: what their claims are for and they have. owned: those that do not borrow */
    double all_weight;           /* of these jobs, and how many they are */
    size_t all;
    double weight, taken;
    size_t growing;
    int64_t room; /* what the round may still offer them is not more than this */
    bool full;    /* a quota has stopped their shares, at `rate` */
    double rate;  /* the share for a weight of 1 */
    struct sched_quotas *next;
};

/* The first three members are the caller's. When it has changed one, it calls sched_job_set() for the jobs concerned.
 */
struct sched_quota {
    const char *what; /* for people: workspace vision */
    int own, limit;   /* own: slots before everybody who borrows; limit: the most slots, at least `own` */
    int held, owned;  /* held: slots of requests that have slots; owned: the part of `held` that is not borrowed */
    /* held and owned of what the present pass has planned */
    int planned_held, planned_owned;
    bool freed; /* there may be borrowed slots that can become its own */
    /* The waiting shapes that keep to this quota, by their slots. */
    struct sched_watches waiting;
    /* How many slots more are its own, and how many more the limit allows, as quotas_settle() or quotas_plan() has
     * found last. */
    int64_t own_left, limit_left;
    LIST_HEAD(, sched_member) members;
    bool has_changed; /* the quota is in the ledger's list `changed`: own_left and limit_left may be out of date */
    LIST_ENTRY(sched_quota) in_changed;
    struct quota_claims claims;
};

/* The quotas of a job, all of which it must keep to. Jobs with the same quotas have the same object. */
enum { SCHED_QUOTAS_MAX = 3 };
struct sched_quotas {
    struct sched_quota *quota[SCHED_QUOTAS_MAX];
    size_t n;
    /* the members from here on are used by the scheduler only */
    struct sched_borrowers borrowers; /* requests that run and borrow, in the order of their turns */
    struct sched_request *next;       /* where a walk over the borrowers is; NULL: there is no walk, or it has ended */
    LIST_ENTRY(sched_quotas) in_walk; /* while next is set */
    struct sched_member member[SCHED_QUOTAS_MAX];
    struct set_claims claims;
};

/* What the schedulers of all pools know of quotas. */
struct sched_ledger {
    LIST_HEAD(, sched_quota) changed; /* since quotas_settle() */
    LIST_HEAD(, sched_quotas) walk;   /* whose borrowers are walked over */
    struct sched_moment now;          /* in the pass that is being made */
    bool gave_back;                   /* slots were given back; the caller resets it when it has told all pools */
};

void sched_quotas_add(struct sched_quotas *q);    /* sets the scheduler's members */
void sched_quotas_remove(struct sched_quotas *q); /* no job may have them any more */

/* Returns the first quota whose limit does not allow so many slots more; NULL: all do, or quotas is NULL. */
const struct sched_quota *sched_quotas_exceeded(const struct sched_quotas *q, int slots);
/* Returns whether all limits would allow so many slots if others gave theirs back. A quota that has more than its limit
 * allows none. */
bool sched_quotas_may_allow(const struct sched_quotas *q, int slots);
/* Returns the first quota that would have to borrow for so many slots more. */
const struct sched_quota *sched_quotas_borrowing(const struct sched_quotas *q, int slots);

/* Adds what a request has (by 1), or takes it away (by -1). */
void quotas_count(struct sched_ledger *l, struct sched_request *r, int by);
/* Has to be called when the caller may have changed the numbers of these quotas. */
void quotas_note_change(struct sched_ledger *l, const struct sched_quotas *q);
/* Returns the next request that borrows and need not any more, in the order of turns over all pools; NULL: there is
 * none left. `begin` begins the walk. The caller calls quotas_make_own() before the next call. */
struct sched_request *quotas_next_to_own(struct sched_ledger *l, bool begin);
/* The request, which borrows, counts as its quotas' own from now on. */
void quotas_make_own(struct sched_ledger *l, struct sched_request *r);
/* Finds what the quotas that have changed allow the requests that wait. Each pass begins with this call. */
void quotas_settle(struct sched_ledger *l);
/* Counts what a pass plans for the request whose turn it is. at_once: what the quotas allow other requests from then on
 * is found at once. */
void quotas_plan(struct sched_ledger *l, struct sched_quotas *q, int slots, bool borrows, bool at_once);
/* Takes back what quotas_plan() has counted. Waiting requests see the change after the next quotas_settle(); by then
 * quotas_count() has as a rule counted the same slots for good. */
void quotas_forget(struct sched_ledger *l, struct sched_quotas *q, int slots, bool borrows);

/* From quotas_watch() on the shape is told what its quotas allow. Both do nothing if q is NULL. */
void quotas_watch(struct sched_quotas *q, struct sched_shape *shape);
void quotas_unwatch(struct sched_quotas *q, struct sched_shape *shape);

#endif
