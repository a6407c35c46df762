/* What does a pass of the scheduler cost in a large pool? 10,000 agents of 8 slots, 100,000 jobs of one request each.
 * Usage: sched_pass */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/rng.h"
#include "core/sched/moves.h"

enum { AGENTS = 10000, SLOTS = 8, JOBS = 100000, EVENTS = 200 };

struct pool {
    struct sched *sched;
    struct sched_agent agent[AGENTS];
    struct sched_group group[JOBS];
    struct sched_request request[JOBS];
    char name[AGENTS + JOBS][16];
    int64_t now_us;
};
static struct pool p;
static struct rng rng;

static void fill(enum sched_policy policy, bool gangs)
{
    p.sched = sched_new(&(struct sched_opts){.policy = policy, .preemption = true});
    for (int i = 0; i < AGENTS; i++) {
        snprintf(p.name[i], sizeof p.name[i], "agent-%d", i);
        p.agent[i] = (struct sched_agent){.id = p.name[i], .open = true, .slots = SLOTS, .empty_slots = SLOTS, .aux = 100,
                                          .empty_aux = 100};
        sched_agent_join(p.sched, &p.agent[i]);
    }
    for (int i = 0; i < JOBS; i++) {
        char *name = p.name[AGENTS + i];
        snprintf(name, sizeof p.name[0], "job-%d", i);
        p.group[i] = (struct sched_group){.job_id = name, .priority = 40 + i % 5, .weight = 1, .max_slots = -1,
                                          .queue_position = 1000 * i, .submitted_us = 1000 * i};
        p.request[i] = (struct sched_request){.allocation_id = name, .group = &p.group[i],
                                              .slots = gangs ? 2 + (int)rng_int(&rng, 63) / 2 * 2 : 1, .preemptible = true,
                                              .request_us = 1000 * i};
        if (gangs && p.request[i].slots > SLOTS)
            p.request[i].slots -= p.request[i].slots % SLOTS;
        sched_request_add(p.sched, &p.request[i]);
    }
}

static void empty(void)
{
    for (int i = 0; i < JOBS; i++)
        if (p.request[i].group != NULL)
            sched_request_remove(p.sched, &p.request[i]);
    sched_free(p.sched);
}

static size_t pass(void)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct sched_decision d;
    sched_pass(p.sched, ++p.now_us, &a, &d);
    return d.allocate_n;
}

/* One that runs ends: its slots are free again. */
static void end_one(void)
{
    struct sched_request *r;
    do
        r = &p.request[rng_int(&rng, JOBS)];
    while (r->group == NULL || r->state != SCHED_ALLOCATED);
    for (size_t i = 0; i < r->share_n; i++) {
        struct sched_agent to = *r->share[i].agent;
        to.empty_slots += r->share[i].slots;
        sched_agent_set(p.sched, r->share[i].agent, &to);
    }
    sched_request_remove(p.sched, r);
    r->group = NULL;
}

static double ms_since(int64_t start_us)
{
    return (double)(clock_monotonic_us() - start_us) / 1000;
}

static void measure(const char *kind, enum sched_policy policy, bool gangs)
{
    double worst = 0, sum = 0;
    fill(policy, gangs);
    int64_t start = clock_monotonic_us();
    size_t placed = pass();
    double cold = ms_since(start);
    printf("%s: everything at once %.3f ms\n%s: placements %.0f /s\n", kind, cold, kind, (double)placed / cold * 1000);
    for (int i = 0; i < EVENTS; i++) {
        end_one();
        start = clock_monotonic_us();
        pass();
        double ms = ms_since(start);
        sum += ms;
        worst = ms > worst ? ms : worst;
    }
    printf("%s: one ended %.4f ms\n%s: one ended, the worst %.4f ms\n", kind, sum / EVENTS, kind, worst);
    empty();
}

static void measure_moves(void)
{
    double sum = 0;
    fill(SCHED_BY_PRIORITY, false);
    for (int i = 0; i < EVENTS; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct sched_move m;
        struct sched_group *g = &p.group[rng_int(&rng, JOBS)], *anchor = &p.group[rng_int(&rng, JOBS)];
        int64_t start = clock_monotonic_us();
        sched_plan_move(g, anchor, i % 2, 1, &a, &m);
        for (size_t k = 0; k < m.step_n; k++) {
            struct sched_group to = *m.step[k].group;
            to.priority = m.step[k].priority;
            to.queue_position = m.step[k].queue_position;
            sched_group_set(p.sched, m.step[k].group, &to);
        }
        sum += ms_since(start);
    }
    printf("one moved %.4f ms\n", sum / EVENTS);
    empty();
}

int main(void)
{
    rng_init(&rng, 1);
    measure("by priority", SCHED_BY_PRIORITY, false);
    measure("gangs", SCHED_BY_PRIORITY, true);
    measure("by fair share", SCHED_BY_FAIR_SHARE, false);
    measure_moves();
    return 0;
}
