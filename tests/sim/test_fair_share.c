/* Fair share by itself: small pools whose decisions are carried out at once, until a pass decides nothing more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "core/sched/sched.h"

enum { AGENTS_MAX = 8, JOBS_MAX = 16, REQUESTS_MAX = 32, QUOTAS = 2 };

struct pool {
    struct sched *sched;
    struct sched_agent agent[AGENTS_MAX];
    struct sched_job job[JOBS_MAX];
    struct sched_request request[REQUESTS_MAX];
    size_t agent_n, job_n, request_n;
    char id[AGENTS_MAX + JOBS_MAX + REQUESTS_MAX][16];
    size_t id_n;
    int64_t now_us;
    struct rng rng;
    struct sched_ledger ledger;
    struct sched_quota quota[QUOTAS];
    struct sched_quotas quotas[QUOTAS];
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
    p->sched = sched_new(&(struct sched_opts){.policy = SCHED_BY_FAIR_SHARE}, &p->ledger);
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

/* ---- owners and borrowers ---------------------------------------------------------------------------------------- */

static int random_upto(struct pool *p, int n)
{
    return (int)rng_int(&p->rng, (uint64_t)n);
}

static void add_quota(struct pool *p, size_t i, int own, int limit)
{
    p->quota[i] = (struct sched_quota){.what = "quota", .own = own, .limit = limit};
    p->quotas[i] = (struct sched_quotas){.quota = {&p->quota[i]}, .n = 1};
    sched_quotas_add(&p->quotas[i]);
}

static void print_pool(const struct pool *p)
{
    for (size_t i = 0; i < p->agent_n; i++)
        printf("%s: %d slots, %d free\n", p->agent[i].id, p->agent[i].slots, p->agent[i].empty_slots);
    for (size_t i = 0; i < QUOTAS; i++)
        printf("quota %zu: %d own, limit %d, %d held, %d owned\n", i, p->quota[i].own, p->quota[i].limit,
               p->quota[i].held, p->quota[i].owned);
    for (size_t i = 0; i < p->request_n; i++) {
        const struct sched_request *r = &p->request[i];
        if (!r->job)
            continue;
        printf("%s of %s (weight %g, quota %td): %d slots, %s%s:", r->allocation_id, r->job->job_id, r->job->weight,
               r->job->quotas ? r->job->quotas - p->quotas : -1, r->slots, r->state == SCHED_PENDING ? "waits" : "runs",
               r->borrows ? " and borrows" : "");
        for (size_t k = 0; k < r->share_n; k++)
            printf(" %s", r->share[k].agent->id);
        printf("\n");
    }
}

/* Ends what a pass stops, and lets it wait again, until a pass decides nothing. */
static void settle(struct pool *p)
{
    for (int passes = 0;; passes++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct sched_decision d;
        sched_pass(p->sched, ++p->now_us, &a, &d);
        if (d.allocate_n == 0 && d.release_n == 0)
            return;
        if (passes > 100) {
            print_pool(p);
            fail_msg("the pool does not come to rest");
        }
        for (size_t i = 0; i < d.release_n; i++) {
            struct sched_request *r = d.release[i];
            struct sched_job *job = r->job;
            end_request(p, r);
            r->job = job;
            r->request_us = ++p->now_us;
            sched_request_add(p->sched, r);
        }
    }
}

/* The second job's request is over the limit as long as the first job has all of it. A limit that is lowered stops
 * nothing, although a request waits for it. */
static void test_fair_share__jobs_of_a_quota_share_its_limit(void **state)
{
    struct pool *p = *state;
    add_agent(p, 8);
    add_quota(p, 0, 0, 4);
    struct sched_job *first = add_job(p, 1), *second = add_job(p, 1);
    first->quotas = second->quotas = &p->quotas[0];
    for (int i = 0; i < 4; i++)
        add_request(p, first, 1, true);
    settle(p);
    assert_int_equal(first->active, 4);
    p->quota[0].limit = 2;
    struct sched_job same = *first;
    sched_job_set(p->sched, first, &same);
    add_request(p, second, 1, true);
    settle(p);
    assert_int_equal(first->active, 4);
    p->quota[0].limit = 4;
    same = *first;
    sched_job_set(p->sched, first, &same);
    settle(p);
    assert_int_equal(first->active, 3);
    assert_int_equal(second->active, 1);
}

/* Returns whether the request would fit if all that borrow were stopped. */
static bool would_fit(const struct pool *p, const struct sched_request *r)
{
    int free[AGENTS_MAX], whole = 0;
    for (size_t i = 0; i < p->agent_n; i++)
        free[i] = p->agent[i].empty_slots;
    for (size_t i = 0; i < p->request_n; i++)
        for (size_t k = 0; p->request[i].job && p->request[i].borrows && k < p->request[i].share_n; k++)
            free[p->request[i].share[k].agent - p->agent] += p->request[i].share[k].slots;
    for (size_t i = 0; i < p->agent_n; i++) {
        if (free[i] >= r->slots)
            return true;
        whole += free[i] == p->agent[i].slots ? free[i] : 0;
    }
    return whole >= r->slots;
}

static void check_owners(const struct pool *p)
{
    for (size_t i = 0; i < p->request_n; i++) {
        const struct sched_request *r = &p->request[i];
        const struct sched_quota *quota = r->job && r->job->quotas ? r->job->quotas->quota[0] : NULL;
        if (!quota || r->state != SCHED_PENDING || quota->held + r->slots > quota->own || !would_fit(p, r))
            continue;
        print_pool(p);
        fail_msg("%s with %d slots waits though they are its quota's own", r->allocation_id, r->slots);
    }
}

static void change_something(struct pool *p, const int *size)
{
    size_t i = (size_t)random_upto(p, REQUESTS_MAX);
    int job = random_upto(p, JOBS_MAX);
    if (p->request_n < REQUESTS_MAX) {
        add_request(p, &p->job[job], size[job], true);
    } else if (p->request[i].job) {
        end_request(p, &p->request[i]);
    } else {
        p->request[i] = (struct sched_request){.allocation_id = p->request[i].allocation_id,
                                               .job = &p->job[job],
                                               .slots = size[job],
                                               .preemptible = true,
                                               .request_us = ++p->now_us};
        sched_request_add(p->sched, &p->request[i]);
    }
}

/* Sizes divide each other, so that offers have places, and the pool has all that quotas own. Then what is a quota's own
 * does not wait for what is lent, and what is stopped comes to an end. TEST_SEED=N begins with another seed. */
static void test_fair_share__owners_do_not_wait_for_borrowers(void **state)
{
    static const int sizes[] = {1, 1, 2, 4, 8, 16};
    static const double weights[] = {1, 1, 1, 2, 1e-3, 1e17};
    struct pool *p;
    (void)state;
    const char *text = getenv("TEST_SEED");
    uint32_t first = text ? (uint32_t)strtoul(text, NULL, 10) : 1;
    for (uint32_t seed = first; seed < first + 1000; seed++) {
        int size[JOBS_MAX];
        set_up((void **)&p);
        rng_init(&p->rng, seed);
        int agents = 2 + random_upto(p, 3), slots = 4 << random_upto(p, 2), all = agents * slots;
        int own = random_upto(p, all + 1), other = random_upto(p, all - own + 1);
        add_quota(p, 0, own, own + random_upto(p, all));
        add_quota(p, 1, other, all);
        for (int i = 0; i < agents; i++)
            add_agent(p, slots);
        for (size_t i = 0; i < JOBS_MAX; i++) {
            struct sched_job *job = add_job(p, weights[random_upto(p, 6)]);
            job->quotas = &p->quotas[random_upto(p, QUOTAS)];
            size[i] = sizes[random_upto(p, 6)];
        }
        for (int i = 0; i < 100; i++) {
            change_something(p, size);
            settle(p);
            check_owners(p);
        }
        tear_down((void **)&p);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_fair_share__a_further_plan_keeps_the_order_of_age),
        TEST(test_fair_share__jobs_of_a_quota_share_its_limit),
        cmocka_unit_test(test_fair_share__owners_do_not_wait_for_borrowers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
