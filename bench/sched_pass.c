/* What does a pass of the scheduler cost in a large pool? 10,000 agents of 8 slots, 100,000 jobs of one request each;
 * and in a full one of 1,000, where 8,000 gangs wait that others would have to be stopped for. What do quotas add to
 * it: 100 workspaces with 10 users each, all of whom have quotas and need to borrow? And requests for cores and memory,
 * of every second one of 10,000 jobs on 1,000 agents? Usage: sched_pass */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/rng.h"
#include "core/sched/moves.h"

enum { WORKSPACES = 100, USERS = 10, SETS = WORKSPACES * USERS };
enum { AGENTS = 10000, SLOTS = 8, JOBS = 100000, EVENTS = 200, FULL_AGENTS = 1000, FULL_GANGS = 8000 };
enum { NEEDY_JOBS = 10000, CORES = 32, GIBS = 128 };

struct pool {
    struct sched *sched;
    struct sched_agent agent[AGENTS];
    struct sched_job group[JOBS];
    struct sched_request request[JOBS];
    char name[AGENTS + JOBS][16];
    struct sched_request *stopped[JOBS];
    size_t stopped_n;
    int64_t now_us;
    int sets; /* of quotas; 0: there are no quotas */
    struct sched_ledger ledger;
    struct sched_quota workspace[WORKSPACES], user[SETS];
    struct sched_quotas quotas[SETS];
};
static struct pool p;
static struct rng rng;

/* Each workspace owns a half of its part of the pool, each user a half of their part of the workspace. */
static void make_quotas(void)
{
    const int all = AGENTS * SLOTS, workspaces = p.sets / USERS;
    memset(&p.ledger, 0, sizeof(p.ledger));
    for (int i = 0; i < workspaces; i++)
        p.workspace[i] = (struct sched_quota){.what = "workspace",
                                              .own = all / workspaces / 2,
                                              .limit = all / workspaces * 2};
    for (int i = 0; i < p.sets; i++) {
        p.user[i] = (struct sched_quota){.what = "user", .own = all / p.sets / 2, .limit = all / p.sets * 2};
        p.quotas[i] = (struct sched_quotas){.quota = {&p.workspace[i / USERS], &p.user[i]}, .n = 2};
        sched_quotas_add(&p.quotas[i]);
    }
}

static void begin_pool(enum sched_policy policy, int agents)
{
    make_quotas();
    p.sched = sched_new(&(struct sched_opts){.policy = policy, .preemption = true}, &p.ledger);
    for (int i = 0; i < agents; i++) {
        snprintf(p.name[i], sizeof(p.name[i]), "agent-%d", i);
        p.agent[i] = (struct sched_agent){
            .id = p.name[i], .open = true, .slots = SLOTS, .empty_slots = SLOTS, .aux = 100, .empty_aux = 100};
        sched_agent_join(p.sched, &p.agent[i]);
    }
}

static void set_request(int i, int slots, int priority, bool preemptible)
{
    char *name = p.name[AGENTS + i];
    snprintf(name, sizeof(p.name[0]), "job-%d", i);
    p.group[i] = (struct sched_job){.job_id = name,
                                    .priority = priority,
                                    .weight = 1,
                                    .max_slots = -1,
                                    .quotas = p.sets ? &p.quotas[i % p.sets] : NULL,
                                    .queue_position = 1000 * i,
                                    .submitted_us = 1000 * i};
    p.request[i] = (struct sched_request){
        .allocation_id = name, .job = &p.group[i], .slots = slots, .preemptible = preemptible, .request_us = 1000 * i};
}

static void submit_request(int i, int slots, int priority, bool preemptible)
{
    set_request(i, slots, priority, preemptible);
    sched_request_add(p.sched, &p.request[i]);
}

/* A random number of slots for a gang, from 2 to 64, of those that agents can hold. */
static int gang_size(void)
{
    int slots = 2 + (int)rng_int(&rng, 63) / 2 * 2;
    return slots > SLOTS ? slots - slots % SLOTS : slots;
}

static void fill_pool(enum sched_policy policy, bool gangs)
{
    begin_pool(policy, AGENTS);
    for (int i = 0; i < JOBS; i++)
        submit_request(i, gangs ? gang_size() : 1, 40 + i % 5, true);
}

static void empty_pool(void)
{
    for (int i = 0; i < JOBS; i++)
        if (p.request[i].job)
            sched_request_remove(p.sched, &p.request[i]);
    sched_free(p.sched);
    memset(p.request, 0, sizeof(p.request));
    p.stopped_n = 0;
}

static size_t run_pass(void)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct sched_decision d;
    sched_pass(p.sched, ++p.now_us, &a, &d);
    return d.allocate_n;
}

/* Ends a request, so that its slots are free again. */
static void end_request(struct sched_request *r)
{
    for (size_t i = 0; i < r->share_n; i++) {
        struct sched_agent to = *r->share[i].agent;
        to.empty_slots += r->share[i].slots;
        needs_add(&to.left, &r->needs, 1);
        sched_agent_set(p.sched, r->share[i].agent, &to);
    }
    sched_request_remove(p.sched, r);
    r->job = NULL;
}

static void end_one(enum sched_state state)
{
    struct sched_request *r;
    do
        r = &p.request[rng_int(&rng, JOBS)];
    while (!r->job || r->state != state);
    end_request(r);
}

/* Ends the requests that were stopped; each waits again as a new one. */
static void end_those_that_leave(void)
{
    for (; p.stopped_n > 0; p.stopped_n--) {
        struct sched_request *r = p.stopped[p.stopped_n - 1];
        struct sched_job *job = r->job;
        end_request(r);
        r->job = job;
        sched_request_add(p.sched, r);
    }
}

/* CPU time: a pass only computes, and the time of other processes must not count. */
static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static double ms_since(int64_t start_us)
{
    return (double)(now_us() - start_us) / 1000;
}

/* Runs a pass and stops every request that the pass wants to stop. */
static double pass_and_stop(void)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct sched_decision d;
    int64_t start = now_us();
    sched_pass(p.sched, ++p.now_us, &a, &d);
    double ms = ms_since(start);
    for (size_t i = 0; i < d.release_n; i++) {
        sched_request_releasing(p.sched, d.release[i]);
        p.stopped[p.stopped_n++] = d.release[i];
    }
    return ms;
}

/* Returns the mean of the passes after one job has ended. */
static double measure_pass(const char *kind, enum sched_policy policy, bool gangs)
{
    double worst = 0, sum = 0;
    int events = policy == SCHED_BY_PRIORITY && !gangs ? 10 * EVENTS : EVENTS; /* those passes are short */
    fill_pool(policy, gangs);
    int64_t start = now_us();
    size_t placed = run_pass();
    double cold = ms_since(start);
    printf("%s: everything at once %.3f ms\n%s: placements %.0f /s\n", kind, cold, kind, (double)placed / cold * 1000);
    for (int i = 0; i < events; i++) {
        end_one(SCHED_ALLOCATED);
        double ms = pass_and_stop();
        sum += ms;
        worst = ms > worst ? ms : worst;
        end_those_that_leave();
    }
    printf("%s: one ended %.4f ms\n%s: one ended, the worst %.4f ms\n", kind, sum / events, kind, worst);
    empty_pool();
    return sum / events;
}

/* Measures the same pools with so many sets of quotas; `without` is what their passes took without quotas. */
static void measure_quotas(int sets, const double *without)
{
    static const struct {
        const char *what;
        enum sched_policy policy;
        bool gangs;
    } kinds[] = {{"by priority", SCHED_BY_PRIORITY, false},
                 {"gangs", SCHED_BY_PRIORITY, true},
                 {"by fair share", SCHED_BY_FAIR_SHARE, false},
                 {"gangs by fair share", SCHED_BY_FAIR_SHARE, true}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        char kind[64];
        p.sets = sets;
        snprintf(kind, sizeof(kind), "quotas of %d users, %s", sets, kinds[i].what);
        double with = measure_pass(kind, kinds[i].policy, kinds[i].gangs);
        printf("%s: one ended, of a pass without quotas %.2f x\n", kind, with / without[i]);
    }
    p.sets = 0;
}

/* Measures a pool that is full of tasks of one slot, some of which cannot be stopped. One half of the waiting gangs is
 * more important than what runs; the other half is as important, and ahead of half of what runs. */
static void measure_full(void)
{
    double worst = 0, sum = 0;
    begin_pool(SCHED_BY_PRIORITY, FULL_AGENTS);
    for (int i = 0; i < FULL_AGENTS * SLOTS; i++)
        submit_request(i, 1, 50, i % 16 != 0);
    run_pass();
    for (int i = FULL_AGENTS * SLOTS; i < FULL_AGENTS * SLOTS + FULL_GANGS; i++) {
        submit_request(i, gang_size(), i % 2 ? 50 : 40 + i % 10, true);
        struct sched_job to = p.group[i];
        to.queue_position = 500 * FULL_AGENTS * SLOTS;
        sched_job_set(p.sched, &p.group[i], &to);
    }
    double cold = pass_and_stop();
    for (int i = 0; i < EVENTS; i++) {
        end_one(SCHED_RELEASING);
        double ms = pass_and_stop();
        sum += ms;
        worst = ms > worst ? ms : worst;
    }
    printf("full: everything at once %.3f ms\nfull: one ended %.4f ms\nfull: one ended, the worst %.4f ms\n", cold,
           sum / EVENTS, worst);
    empty_pool();
}

/* Returns the mean of the passes after one job has ended. Each agent has CORES and GIBS; a job asks for so much of them
 * that agents run out of memory first as often as of slots. Every eighth one cannot be stopped. */
static double measure_needs(const char *kind, enum sched_policy policy, bool needy)
{
    double sum = 0;
    begin_pool(policy, FULL_AGENTS);
    for (int i = 0; i < FULL_AGENTS; i++) {
        struct sched_agent to = p.agent[i];
        to.has = to.left = (struct sched_needs){CORES * 1000, GIBS};
        sched_agent_set(p.sched, &p.agent[i], &to);
    }
    for (int i = 0; i < NEEDY_JOBS; i++) {
        const struct sched_needs needs = {1000 * (1 + (int)rng_int(&rng, 6)), 1 + (int)rng_int(&rng, 60)};
        set_request(i, 1 << rng_int(&rng, 4), 40 + i % 5, i % 8 != 0);
        if (needy && i % 2 == 0)
            p.request[i].needs = needs;
        sched_request_add(p.sched, &p.request[i]);
    }
    run_pass();
    for (int i = 0; i < EVENTS; i++) {
        end_one(SCHED_ALLOCATED);
        sum += pass_and_stop();
        end_those_that_leave();
    }
    printf("%s: one ended %.4f ms\n", kind, sum / EVENTS);
    empty_pool();
    return sum / EVENTS;
}

static void measure_moves(void)
{
    double sum = 0;
    fill_pool(SCHED_BY_PRIORITY, false);
    for (int i = 0; i < EVENTS; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct sched_move m;
        struct sched_job *g = &p.group[rng_int(&rng, JOBS)], *anchor = &p.group[rng_int(&rng, JOBS)];
        int64_t start = now_us();
        sched_plan_move(g, anchor, i % 2, 1, &a, &m);
        for (size_t k = 0; k < m.step_n; k++) {
            struct sched_job to = *m.step[k].job;
            to.priority = m.step[k].priority;
            to.queue_position = m.step[k].queue_position;
            sched_job_set(p.sched, m.step[k].job, &to);
        }
        sum += ms_since(start);
    }
    printf("one moved %.4f ms\n", sum / EVENTS);
    empty_pool();
}

int main(void)
{
    rng_init(&rng, 1);
    const double without[] = {measure_pass("by priority", SCHED_BY_PRIORITY, false),
                              measure_pass("gangs", SCHED_BY_PRIORITY, true),
                              measure_pass("by fair share", SCHED_BY_FAIR_SHARE, false),
                              measure_pass("gangs by fair share", SCHED_BY_FAIR_SHARE, true)};
    measure_quotas(USERS, without); /* the users of one workspace */
    measure_quotas(SETS, without);
    measure_full();
    measure_needs("without needs, by priority", SCHED_BY_PRIORITY, false);
    measure_needs("with needs, by priority", SCHED_BY_PRIORITY, true);
    measure_needs("without needs, by fair share", SCHED_BY_FAIR_SHARE, false);
    measure_needs("with needs, by fair share", SCHED_BY_FAIR_SHARE, true);
    measure_moves();
    return 0;
}
