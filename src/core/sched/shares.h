/* By fair share: how many slots each job is offered, computed from what the jobs want, in plain numbers
 * (docs/spec/scheduling.md#fair-share).
 *
 * A job's fair share is weighted max-min: all shares grow alike, in proportion to the weights; a job that has all it
 * wants stops growing and leaves the rest to the others (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
 * Offers are whole requests: as many as the share holds, then one more to some jobs until the slots are used up, first
 * to those that run one already. So no offer is a whole request away from its share. Slots that are left go to jobs
 * that can use them, as long as a job stays less than the largest gang above its share.
 *
 * If jobs have quotas, there are two rounds of this. In the first one the shares of a quota's jobs together are at most
 * its own slots; in the second one, what is left is lent to those jobs that want more, up to the limits of their quotas
 * (docs/decisions/0026). A quota whose slots are used up stops the shares of its jobs, as the pool does when its slots
 * are used up. */
#ifndef DET_CORE_SCHED_SHARES_H
#define DET_CORE_SCHED_SHARES_H

#include "core/sched/sched.h"

#define MOST_WEIGHT 1e6

struct claim {
    struct sched_job *job;
    struct sched_quotas *quotas; /* NULL: the job has none */
    double weight, share[2];     /* share: what each of the two rounds gives in the pass's first plan */
    int demand;                  /* the slots that the job wants: whole requests, at most max_slots */
    int active;                  /* the slots that the job holds and that are not on their way out */
    int held_for_good;           /* the slots of `active` that cannot be preempted */
    int unit;                    /* the size of the job's requests; 1: they have several sizes */
    int largest;                 /* the size of the largest request */
    /* what room is made for: the part of the fair share that whole requests can use, and all that is offered of
     * quotas' own slots */
    int whole;
    int offered;
    int own;            /* if the job has quotas: the part of `offered` that the first round has given */
    uint32_t age;       /* the job's place among all jobs by age */
    uint32_t turn : 27; /* the claim's place in the order */
    bool fits_now : 1;  /* one of the job's pending requests fits now */
    bool fixed : 1;     /* the job keeps held_for_good, which is more than its share */
    /* lacks_place: in this plan, there is no place for some of its gangs. lacks_own: some of these would not be lent.
     * borrows_less: an earlier plan has found no place for gangs that would be lent. So the job is offered no more than
     * job->lends_upto when slots are lent */
    bool lacks_place : 1, lacks_own : 1, borrows_less : 1;
};

/* Returns how much of what the claim is offered is not lent. */
static inline int claim_own(const struct claim *claim)
{
    return claim->quotas ? claim->own : claim->offered;
}

struct claim_key {
    uint32_t need;      /* the bits of wanted slots / weight as a float; they sort like that number */
    uint32_t item : 31, /* an index into claims.item */
        runs : 1;       /* the job has slots, or one of its requests fits now */
};

struct claims {
    uint64_t pass;      /* the number of the pass, over all pools */
    struct claim *item; /* first ordered by age; from claims_offer() on in the order of the pass's first plan */
    size_t n;
    struct claim_key *order; /* ordered by what jobs need for their weight, the least first; then by age */
    int64_t capacity;
    int largest;  /* the size of the largest gang of all jobs that want slots */
    int smallest; /* the least that any of them can be offered */
    bool has_gangs;
    double weight;             /* of all of them */
    bool is_disordered;        /* `order` is to be found anew, because a job that still wants slots wants less */
    struct sched_quotas *sets; /* the quotas of these jobs; NULL: none has any */
    size_t quota_n;            /* how many different quotas are in them */
    /* keeps_own: a further plan has the same first round, because in the last one only gangs that would be lent had no
     * place. left_to_lend: the slots that the first round has left */
    bool keeps_own;
    int64_t left_to_lend;
    /* In pools with gangs: indexes into `item`: first the holders_n claims that hold slots, then those others that are
     * offered some; own_n: of these, as many as the first round has offered some. Whoever looks for what is to be done
     * need not look at other claims. */
    uint32_t *in_play;
    size_t in_play_n, own_n, holders_n;
    /* the claims that are offered something in the first plan because of their shares; nobody else is in a further one
     */
    uint32_t *entitled;
    size_t entitled_n;
    size_t open_sets;   /* how many of the sets of quotas may still leave slots to their jobs in this round */
    size_t unbound_n;   /* how many of the claims have no quotas */
    double lent_weight; /* of the claims that are served in the round that lends */
    /* the round: the claims that are served in it, in order, and the slots that are left of the pool */
    bool lends, lends_whole; /* lends_whole: whole requests are part of what is lent by share */
    const struct claim_key *served;
    size_t served_n;
    int64_t left;
};

/* A quota, and the share for a weight of 1 at which nothing is left of it. */
struct claim_rate {
    double rate;
    struct sched_quota *quota;
};

/* Memory for the claims of one pass. It is kept between passes, because allocating it costs more than filling it. */
enum { CLAIM_KEYS = 6 };
struct claims_memory {
    struct claim *item, *in_order;
    /* 0 and 1: the claims in order; 2 to 4: those that borrow; 5: those that may be offered more in a round */
    struct claim_key *keys[CLAIM_KEYS];
    uint32_t *in_play, *entitled; /* see struct claims */
    size_t cap;
    struct claim_rate *quota;
    size_t quota_cap;
};
void claims_reserve(struct claims_memory *memory, size_t n);
void claims_release(struct claims_memory *memory);

/* What claims_keep_to() is told of a job. all: of the slots that it wants, those that its requests have already, also
 * those that are on their way out. own: the part of them that is its quotas' own. active: the part that is not on its
 * way out. */
struct claim_held {
    int all, own, active;
    double weight; /* 0: the job has no claim */
};
/* Counts what a job that has quotas holds. */
void claims_keep_to(struct claims *c, struct claims_memory *memory, struct sched_quotas *q,
                    const struct claim_held *held);
/* Has to be called after the last claims_keep_to(). Finds how many slots the quotas leave to these jobs. What requests
 * hold that are no part of a claim, those of other pools among them, is not shared out. */
void claims_find_quotas(struct claims *c, struct claims_memory *memory);

/* Returns the weight with which a job counts: in thousandths, at least 1, and a whole number, so that sums of weights
 * are exact, however much they differ. */
static inline double claim_weight(double weight)
{
    int64_t in_thousandths = (int64_t)((weight < MOST_WEIGHT ? weight : MOST_WEIGHT) * 1000 + 0.5);
    return in_thousandths > 1 ? (double)in_thousandths : 1;
}
/* Sets order, share, whole and offered. again: it is a further plan of the same pass, in which some jobs want less
 * because there was no place for their gangs. What these leave is offered to other jobs, and does not change the fair
 * shares of those. */
void claims_offer(struct claims *c, struct claims_memory *memory, bool again);

#endif
