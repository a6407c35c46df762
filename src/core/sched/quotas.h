/* Quotas: how many slots the jobs of a workspace, of a user, or of a user within a workspace may have together
 * (docs/spec/scheduling.md#quotas). Several pools share them.
 *
 * A request that has its slots either counts as its quotas' own or *borrows*. A request that borrows ranks behind all
 * that do not, whatever their priorities are, so that it is stopped first. */
#ifndef DET_CORE_SCHED_QUOTAS_H
#define DET_CORE_SCHED_QUOTAS_H

#include <bsd/sys/queue.h>
#include <stdbool.h>

#include "common/base/tree.h"

struct sched_request;
RB_HEAD(sched_borrowers, sched_request);

/* The first three members are the caller's. */
struct sched_quota {
    const char *what; /* for people: workspace vision */
    int own, limit;   /* own: slots before everybody who borrows; limit: the most slots, at least `own` */
    int held, owned;  /* held: slots of requests that have them; owned: those of them that are not borrowed */
    /* the same of what the pass that is being made has planned */
    int planned_held, planned_owned;
    bool freed; /* there may be borrowed slots that can become its own */
};

/* The quotas of a job, all of which it must keep to. Jobs with the same quotas have the same object. */
enum { SCHED_QUOTAS_MAX = 3 };
struct sched_quotas {
    struct sched_quota *quota[SCHED_QUOTAS_MAX];
    size_t n;
    /* the members from here on are used by the scheduler only */
    struct sched_borrowers borrowers; /* requests that run and borrow, in the order of their turns */
    struct sched_request *next;       /* where a walk over the borrowers is */
    LIST_ENTRY(sched_quotas) in_ledger;
};

/* All of them. */
struct sched_ledger {
    LIST_HEAD(, sched_quotas) quotas;
    bool freed;
    bool gave_back; /* slots were given back; the caller resets it when it has told all pools */
};

void sched_ledger_add(struct sched_ledger *l, struct sched_quotas *q); /* sets the scheduler's members */
void sched_ledger_remove(struct sched_quotas *q);                      /* no job may have them any more */

/* Returns the first quota whose limit does not allow so many slots more; NULL: all do, or quotas is NULL. */
const struct sched_quota *sched_quotas_exceeded(const struct sched_quotas *q, int slots);
/* Returns the first quota that would have to borrow for so many slots more. */
const struct sched_quota *sched_quotas_borrowing(const struct sched_quotas *q, int slots);

/* Adds what a request has (by 1), or takes it away (by -1). */
void quotas_count(struct sched_ledger *l, struct sched_request *r, int by);
/* Returns the next request that borrows and need not any more, in the order of turns over all pools; NULL: there is
 * none left. `begin` begins the walk. The caller makes it its quotas' own before the next call. */
struct sched_request *quotas_next_to_own(struct sched_ledger *l, bool begin);
void quotas_all_looked_at(struct sched_ledger *l); /* at the end of the walk */
/* The same as quotas_count() for what a pass plans. */
void quotas_plan(struct sched_quotas *q, int slots, bool borrows, int by);

#endif
