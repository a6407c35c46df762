/* Long random runs: users, agents and the master do anything at any time; the invariants hold after every step
 * (store.c), and once everybody is back, everything ends. A failure prints its seed: `test_sim_random SEED` runs it
 * alone. */
#include <stdlib.h>

#include "sim_main.h"

enum { EXPERIMENTS = 20, ROUNDS = 150 };

static int one_of(struct rng *rng, int n)
{
    return (int)rng_int(rng, (uint64_t)n);
}

static struct sim_experiment random_experiment(struct rng *rng)
{
    bool single = one_of(rng, 2);
    return (struct sim_experiment){
        .slots = one_of(rng, 5),
        .needs = needs_of(one_of(rng, 3) ? 0 : one_of(rng, 9) / 2.0, one_of(rng, 2) ? 0 : 1 + one_of(rng, 40)),
        .priority = 40 + one_of(rng, 3),
        .max_restarts = one_of(rng, 3),
        .paused = one_of(rng, 4) == 0,
        .preemption_timeout_s = 1 + one_of(rng, 20),
        .steps = 1 + one_of(rng, 40),
        .fail_runs = one_of(rng, 3),
        .fail_step = 1 + one_of(rng, 10),
        .deaf = one_of(rng, 4) == 0,
        .invalid_hp = single && one_of(rng, 10) == 0, /* the searcher random would try others for ever */
        .cannot_start = one_of(rng, 10) == 0,
        .searcher = single ? NULL : "{\"name\": \"random\", \"max_trials\": 3, \"max_concurrent_trials\": 2}",
    };
}

static void another_pool(struct sim *sim, struct rng *rng, int experiments)
{
    struct core_experiment_view view;
    int x = 1 + one_of(rng, experiments + 1);
    const char *pool = one_of(rng, 2) ? "other" : "default";
    if (!sim->core || !core_experiment(sim->core, x, &view))
        return;
    struct core_queue_change change = {.job_id = view.row->job_id, .what = QUEUE_POOL, .pool = pool};
    struct core_event ev = {.type = CORE_QUEUE_CHANGE, .queue = {.change = &change, .n = 1}};
    sim_step(sim, &ev, NULL);
}

static void user_does_something(struct sim *sim, struct rng *rng, int experiments)
{
    static const enum core_event_type requests[] = {
        CORE_EXPERIMENT_ACTIVATE, CORE_EXPERIMENT_ACTIVATE, CORE_EXPERIMENT_PAUSE, CORE_EXPERIMENT_PAUSE,
        CORE_EXPERIMENT_CANCEL,   CORE_EXPERIMENT_KILL,     CORE_TRIAL_KILL,
    };
    enum core_event_type request = requests[one_of(rng, 7)];
    struct core_event ev = {.type = request};
    if (one_of(rng, 6) == 0) {
        sim_continue(sim, 1 + one_of(rng, experiments + 1));
        return;
    }
    if (one_of(rng, 6) == 0) {
        another_pool(sim, rng, experiments);
        return;
    }
    if (one_of(rng, 8) == 0) { /* a trial that needs many agents would wait for ever if it may not run on one of them */
        sim_log_matched(sim, 1 + one_of(rng, 3 * experiments + 1), "a3",
                        one_of(rng, 2) ? LOG_POLICY_EXCLUDE_NODE : LOG_POLICY_CANCEL_RETRIES);
        return;
    }
    if (request == CORE_TRIAL_KILL)
        ev.trial_id = 1 + one_of(rng, 3 * experiments + 1);
    else
        ev.experiment_id = 1 + one_of(rng, experiments + 1);
    sim_step(sim, &ev, NULL);
}

static void machines_do_something(struct sim *sim, struct rng *rng)
{
    struct sim_agent *a = &sim->agent[one_of(rng, sim->agent_n)];
    struct core_event enable = {.type = CORE_AGENT_ENABLE,
                                .enable = {.agent_id = a->id, .enable = one_of(rng, 2), .drain = one_of(rng, 2)}};
    struct core_event slot = {.type = CORE_SLOT_ENABLE,
                              .enable = {.agent_id = a->id,
                                         .slot = one_of(rng, a->slots),
                                         .enable = one_of(rng, 2),
                                         .drain = one_of(rng, 2)}};
    switch (one_of(rng, 6)) {
    case 0:
        sim_agent_away(sim, a->id, 1 + one_of(rng, 60000));
        break;
    case 1:
        sim_agent_power_cut(sim, a->id, 1 + one_of(rng, 60000));
        break;
    case 2:
        sim_crash_master(sim, 1 + one_of(rng, 90000));
        break;
    case 3: /* the crash happens in one of the next steps */
        sim->crash_at = sim->steps + 1 + one_of(rng, 5);
        sim->crash_mode = (enum sim_crash)(CRASH_BEFORE_COMMIT + one_of(rng, 3));
        break;
    case 4:
        sim_step(sim, &enable, NULL);
        break;
    default:
        sim_step(sim, &slot, NULL);
        break;
    }
}

static void all_is_well_again(struct sim *sim, int experiments)
{
    sim->crash_at = 0;
    sim_run(sim, 200000);
    for (int i = 0; i < sim->agent_n; i++) {
        struct core_event ev = {.type = CORE_AGENT_ENABLE, .enable = {.agent_id = sim->agent[i].id, .enable = true}};
        assert_true(sim_step(sim, &ev, NULL));
    }
    for (int x = 1; x <= experiments; x++)
        sim_request(sim, CORE_EXPERIMENT_ACTIVATE, x);
    sim_run(sim, 4000000);
}

static void random_run(uint64_t seed)
{
    struct rng rng;
    int experiments = 0;
    rng_init(&rng, (uint32_t)seed);
    sim_init(&the_sim, seed);
    the_sim.quiet = true;
    sim_add_other_pool(&the_sim);
    sim_add_machine(&the_sim, "a1", 4, 8, 64);
    sim_add_machine(&the_sim, "a2", 4, 4, 40);
    sim_add_machine(&the_sim, "a3", 2, 4, 100);
    sim_add_other_agent(&the_sim, "b1", 4);
    sim_add_other_agent(&the_sim, "b2", 2);
    for (int i = 3; i < 5; i++) /* the other pool's agents tell what they have when they connect again */
        the_sim.agent[i].has = needs_of(6, 50);
    for (int i = 3; i < 5; i++)
        sim_agent_away(&the_sim, the_sim.agent[i].id, 1);
    sim_run(&the_sim, 100);
    for (int round = 0; round < ROUNDS; round++) {
        int what = one_of(&rng, 4);
        struct sim_experiment x = random_experiment(&rng);
        if (what < 2 && experiments < EXPERIMENTS && the_sim.core && the_sim.crash_at <= the_sim.steps)
            experiments = sim_create(&the_sim, &x);
        else if (what < 3)
            user_does_something(&the_sim, &rng, experiments);
        else
            machines_do_something(&the_sim, &rng);
        sim_run(&the_sim, one_of(&rng, 3000));
    }
    all_is_well_again(&the_sim, experiments);
    for (int x = 1; x <= experiments; x++)
        if (!run_state_is_terminal(sim_experiment_state(&the_sim, x)))
            fail_msg("experiment %d never ends: it is %s", x, run_state_name(sim_experiment_state(&the_sim, x)));
    assert_int_equal(sim_open_allocations(&the_sim), 0);
    sim_release(&the_sim);
}

static uint64_t first_seed = 1, last_seed = 40;

static void test_random__everything_ends_and_nothing_is_lost(void **state)
{
    for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        random_run(seed);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random__everything_ends_and_nothing_is_lost),
    };
    if (argc > 1)
        first_seed = last_seed = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
