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
    double at_first;   /* the fair share that the first plan of the pass gave */
    int demand;        /* the slots that the job wants: whole requests, at most max_slots */
    int active;        /* the slots that the job holds and that are not on their way out */
    int held_for_good; /* the slots of `active` that cannot be preempted */
    int unit;          /* the size of the job's requests; 1: they have several sizes */
    int largest;       /* the size of the largest request */
    int whole;         /* the part of the fair share that whole requests can use */
    int offered;
    uint32_t turn; /* the job's place in the order; set for jobs with gangs */
    bool fits_now; /* one of the job's pending requests fits now */
    bool fixed;    /* the job keeps held_for_good, which is more than its share */
};

struct claim_key {
    uint32_t need; /* the bits of demand / weight as a float; they sort like that number */
    uint32_t item; /* an index into claims.item */
};

struct claims {
    struct claim *item; /* ordered by age */
    size_t n;
    struct claim_key *order; /* ordered by what jobs need for their weight, the least first; then by age */
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

/* Returns the weight with which a job counts, which is at least LEAST_WEIGHT. */
double claim_weight(double weight);
/* Sets order, fair and offered. again: it is a further plan of the same pass, in which some jobs want less because
 * there was no place for their gangs. What these leave is offered to other jobs, and does not change the fair shares of
 * those. */
void claims_offer(struct claims *c, struct claims_memory *memory, bool again);

#endif
