/* By fair share: how many slots each job is offered, computed from what the jobs want, in plain numbers
 * (docs/spec/scheduling.md#fair-share).
 *
 * A job's fair share is weighted max-min: all shares grow alike, in proportion to the weights; a job that has all it
 * wants stops growing and leaves the rest to the others (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
 * Offers are whole requests: as many as the share holds, then one more to some jobs until the slots are used up, first
 * to those that run one already. So no offer is a whole request away from its share. Slots that are left go to jobs
 * that can use them, as long as a job stays less than the largest gang above its share. */
#ifndef DET_CORE_SCHED_SHARES_H
#define DET_CORE_SCHED_SHARES_H

#include "core/sched/sched.h"

struct claim {
    struct sched_job *job;
    double weight, fair;
    double at_first;   /* its fair share by the first plan of the pass */
    int demand;        /* slots wanted, at most max_slots, in whole requests */
    int active;        /* held, and not on their way out */
    int held_for_good; /* slots of these that cannot be preempted */
    int unit;          /* the size of its requests; 1: of several sizes */
    int largest;       /* of its requests */
    int whole;         /* of its fair share, what whole requests can use */
    int offered;
    uint32_t turn; /* its place in the order; of jobs with gangs */
    bool fits_now; /* one of its pending requests does */
    bool fixed;    /* keeps held_for_good, which is more than its share */
};

struct claim_key {
    uint32_t need; /* the bits of demand / weight, which sort like that number */
    uint32_t item; /* index into claims.item */
};

struct claims {
    struct claim *item; /* by age */
    size_t n;
    struct claim_key *order; /* who needs least for its weight first, then by age */
    int64_t capacity;
    int largest; /* the size of the largest gang of all jobs that want slots */
    bool has_gangs;
};

/* Memory for the claims of one pass. It is kept between passes, because allocating it costs more than filling it. */
struct claims_memory {
    struct claim *item;
    struct claim_key *order, *sorted;
    size_t cap;
};
void claims_reserve(struct claims_memory *memory, size_t n);
void claims_release(struct claims_memory *memory);

/* The weight that a job counts with: at least LEAST_WEIGHT. */
double claim_weight(double weight);
/* Sets order, fair and offered. again: of the same pass, but some have found no place and want less: what they leave
 * goes to others, whose fair shares it does not change. */
void claims_offer(struct claims *c, struct claims_memory *memory, bool again);

#endif
