/* Fair share by itself: small pools whose decisions are carried out at once, until a pass decides nothing more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/sched/sched.h"

enum { AGENTS_MAX = 8, JOBS_MAX = 16, REQUESTS_MAX = 32 };

struct pool {
    struct sched *sched;
    struct sched_agent agent[AGENTS_MAX];
    struct sched_job job[JOBS_MAX];
    struct sched_request request[REQUESTS_MAX];
    size_t agent_n, job_n, request_n;
    char id[AGENTS_MAX + JOBS_MAX + REQUESTS_MAX][16];
    size_t id_n;
    int64_t now_us;
};

static const char *new_id(struct pool *p, const char *what)
{
    char *id = p->id[p->id_n++];
    snprintf(id, sizeof(p->id[0]), "%s-%02zu", what, p->id_n);
    return id;
}

static int set_up(void **state)
{
    struct pool *p = calloc(1, sizeof(*p));
    p->sched = sched_new(&(struct sched_opts){.policy = SCHED_BY_FAIR_SHARE}, NULL);
    *state = p;
    return 0;
}

static struct sched_agent *add_agent(struct pool *p, int slots)
{
    struct sched_agent *agent = &p->agent[p->agent_n++];
    *agent = (struct sched_agent){.id = new_id(p, "agent"), .open = true, .slots = slots, .empty_slots = slots};
    sched_agent_join(p->sched, agent);
    return agent;
}

static struct sched_job *add_job(struct pool *p, double weight)
{
    struct sched_job *job = &p->job[p->job_n++];
    *job =
        (struct sched_job){.job_id = new_id(p, "job"), .weight = weight, .max_slots = -1, .submitted_us = ++p->now_us};
    return job;
}

static struct sched_request *add_request(struct pool *p, struct sched_job *job, int slots, bool preemptible)
{
    struct sched_request *r = &p->request[p->request_n++];
    *r = (struct sched_request){.allocation_id = new_id(p, "request"),
                                .job = job,
                                .slots = slots,
                                .preemptible = preemptible,
                                .request_us = ++p->now_us};
    sched_request_add(p->sched, r);
    return r;
}

static void end_request(struct pool *p, struct sched_request *r)
{
    while (r->share_n > 0) {
        struct sched_share share = r->share[0];
        struct sched_agent to = *share.agent;
        sched_request_gave_back(p->sched, r, share.agent);
        to.empty_slots += share.slots;
        sched_agent_set(p->sched, share.agent, &to);
    }
    sched_request_remove(p->sched, r);
    r->job = NULL;
}

static int tear_down(void **state)
{
    struct pool *p = *state;
    for (size_t i = 0; i < p->request_n; i++)
        if (p->request[i].job)
            end_request(p, &p->request[i]);
    for (size_t i = 0; i < p->agent_n; i++)
        sched_agent_leave(p->sched, &p->agent[i]);
    sched_free(p->sched);
    free(p);
    return 0;
}

static void run_pass(struct pool *p)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct sched_decision d;
    sched_pass(p->sched, ++p->now_us, &a, &d);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* In the first plan the younger job's gang has no place: only the agent of 8 slots could hold it, where an equally
 * large one runs. In the second plan both jobs want two slots, of which two are free now. */
static void test_fair_share__a_further_plan_keeps_the_order_of_age(void **state)
{
    struct pool *p = *state;
    struct sched_request *leaving[4];
    add_agent(p, 8);
    add_request(p, add_job(p, 1000), 8, true);
    run_pass(p);
    for (size_t i = 0; i < 4; i++) {
        add_agent(p, 3);
        leaving[i] = add_request(p, add_job(p, 1), 3, false);
    }
    run_pass(p);
    for (size_t i = 0; i < 4; i++)
        sched_request_releasing(p->sched, leaving[i]);
    add_agent(p, 2);
    struct sched_request *older = add_request(p, add_job(p, 1), 2, true);
    struct sched_job *younger = add_job(p, 1);
    struct sched_request *gang = add_request(p, younger, 8, true), *small = add_request(p, younger, 2, true);
    run_pass(p);
    assert_int_equal(older->state, SCHED_ALLOCATED);
    assert_int_equal(gang->state, SCHED_PENDING);
    assert_int_equal(small->state, SCHED_PENDING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_fair_share__a_further_plan_keeps_the_order_of_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
