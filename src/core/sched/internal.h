/* What the scheduler's policies share. Only sources of src/core/sched include this file. */
#ifndef DET_CORE_SCHED_INTERNAL_H
#define DET_CORE_SCHED_INTERNAL_H

#include "core/sched/agent_index.h"
#include "core/sched/job_order.h"
#include "core/sched/levels.h"
#include "core/sched/policy.h"
#include "core/sched/projection.h"
#include "core/sched/shares.h"

/* Level 0 is for pools with fair share, and holds all requests. Behind the levels of the priorities are those of the
 * requests that run and borrow, by their priorities. */
enum { SCHED_RANK_MAX = 2 * SCHED_PRIORITY_MAX, SCHED_LEVELS = SCHED_RANK_MAX + 1 };

struct sched {
    struct sched_opts opts;
    const struct sched_policy_type *policy;
    struct agent_index agents;
    struct projection projection;
    struct sched_ledger *ledger, own_ledger;
    struct sched_level with_slots[SCHED_LEVELS], without[SCHED_LEVELS];
    struct job_order order;
    size_t job_n;
    TAILQ_HEAD(, sched_request) releasing;
    size_t releasing_n[2]; /* releasing_n[0]: how many of them have no slots; releasing_n[1]: how many have slots */
    struct sched_promotions promotions;
    /* in the last pass, cores or memory were kept for requests with slots until what holds them has ended */
    bool keeps_needs;
    uint64_t pass, room_counts;
    /* With fair share: the most slots that could be free on one agent, and agents.changes when that was found (room.c)
     */
    int most_free;
    uint64_t most_free_at;
    struct sched_share *share; /* memory for the shares of one placement */
    size_t agent_n, share_cap;
    struct claims_memory claims;
};

/* What r is served by, and stopped by: its priority, and behind all priorities if it borrows. */
static inline int sched_rank(const struct sched_request *r)
{
    return r->borrows && r->priority > 0 ? SCHED_PRIORITY_MAX + r->priority : r->priority;
}

/* Returns the level of a priority that holds requests like r: requests with slots, or requests without. */
struct sched_level *sched_level_of(struct sched *s, const struct sched_request *r, int priority);

/* A set of shapes of requests that need not be tried again in a pass: while free room only shrinks, a shape that failed
 * once fails again. */
enum { SHAPE_SET_MAX = 64 };
struct shape_set {
    struct shape_fit key[SHAPE_SET_MAX];
    size_t n;
};
bool shape_set_has(const struct shape_set *set, const struct sched_shape *shape);
void shape_set_add(struct shape_set *set, const struct sched_shape *shape); /* does nothing when the set is full */

/* The state of one pass. */
struct pass {
    struct sched *s;
    struct arena *arena;
    struct sched_decision *ret;
    size_t allocate_cap, unplaced_cap, release_cap;
    bool borrowing;   /* requests are served that would borrow; with fair share: gangs to which slots are lent */
    bool backfilling; /* a more important request waits */
    bool releasing;   /* room is being made for the request that waits, which may need the slots that are free now */
    /* unfit: shapes that do not fit now. infeasible: shapes that would not fit whatever is stopped. too_large:
     * shapes that do not fit into what is free or is on its way out. */
    struct shape_set unfit, infeasible, too_large;
    bool has_counted_room, has_counted_what_leaves;
    /* For scheduling by priority. `level` is the array of the levels that are served. `next_victim` is the request that
     * would be stopped first, of those that are not released yet. The order does not depend on the request that room is
     * made for: the least important request is stopped first, and of equally important ones the latest. */
    struct sched_level *level;
    struct sched_request *next_victim;
    /* kept_n[1]: the number of gangs for which places on what leaves are kept. kept_n[0]: that of smaller requests */
    int kept_n[2];
    /* of requests with slots that need cores or memory: the places that they have got in this pass, or that are kept
     * for them until they are free */
    struct sched_placement *with_needs;
    size_t with_needs_n, with_needs_cap;
    struct planned {
        struct sched_quotas *quotas;
        int slots;
        bool borrows;
    } *planned; /* what was counted in quotas, to be taken back at the pass's end */
    size_t planned_n, planned_cap;
    /* With fair share: a mark of the agents' index. Before it, what requests without slots take of cores and memory in
     * this pass was taken. */
    size_t begun_at;
    /* With fair share: whether it is known which of the running requests are lent (sched_request.lent_in), and whether
     * any is. */
    bool knows_lent, has_lent;
    /* the number of the pass at its beginning; with fair share each further plan of the pass gets the next number */
    uint64_t began;
};

/* Counts the slots that are planned for r in its quotas. */
void pass_plan_quotas(struct pass *p, const struct sched_request *r);
void pass_forget_quotas(struct pass *p);
void pass_allocate(struct pass *p, struct sched_request *r, const struct sched_share *share, size_t n);
void pass_grant(struct pass *p,
                struct sched_request *r); /* the request is granted its slots although no agents were found for them */
void pass_release(struct pass *p, struct sched_request *r);

/* Does what agent_index_could_fit() does, and remembers the answer. */
bool group_could_fit(struct sched *s, struct sched_group *group);

/* Returns true if requests of the shape do not fit into what is free together with what is on its way out. False: they
 * may fit. */
bool pass_is_too_large(struct pass *p, const struct sched_shape *shape);
/* Returns true if requests of the shape do not fit whatever is stopped for them. False: they may fit. A shape that is
 * infeasible at one priority is infeasible at all less important priorities, where fewer requests can be stopped. */
bool pass_is_infeasible(struct pass *p, const struct sched_shape *shape);
void pass_note_infeasible(struct pass *p, const struct sched_shape *shape);
void pass_forget_infeasible(struct pass *p); /* to be called when there is more room than before */

#endif
