/* Timelines of a pool whose provider launches its agents: machines of two slots, two seconds from launch to agent. */
#include <string.h>

#include "core/resources/elastic.h"
#include "machines.h"
#include "sim_main.h"
#include "store.h"

#define S INT64_C(1000000)

static const struct scale_opts two_at_most = {.max_instances = 2,
                                              .slots_per_instance = 2,
                                              .max_idle_us = 60 * S,
                                              .max_starting_us = 120 * S,
                                              .max_disconnected_us = 30 * S};

static struct sim *start_elastic(void **state, const struct scale_opts *scale)
{
    struct sim *sim = *state;
    sim_make_elastic(sim, scale);
    sim_run(sim, 1000);
    sim_expect(sim, "");
    return sim;
}

static void test_elastic__launches_for_what_waits_and_ends_what_idles(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5});
    sim_run(sim, 200000);
    sim_expect(sim, "[  1000] exp 1 > PAUSED -> ACTIVE\n"
                    "[  1000] order > launch 1\n"
                    "[  3500] m1 > back\n"
                    "[  3500] m1 > start trial 1 run 1 slots 0,1\n"
                    "[  4020] trial 1 > COMPLETED, restarts 0\n"
                    "[  4020] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[  4020] exp 1 > STOPPING_COMPLETED -> COMPLETED\n"
                    "[ 64020] order > end m1: idle for 1m0s\n");
    assert_int_equal(machines_n(sim), 0);
    assert_int_equal((int)sim->store->agent_n, 0); /* the store keeps nothing about it */
}

static void test_elastic__counts_what_starts_and_never_exceeds_the_most(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    for (int i = 0; i < 5; i++)
        sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 100});
    sim_run(sim, 20000);
    assert_int_equal(machines_n(sim), 2);
    assert_int_equal(sim->provider.launched, 2);
    sim_run(sim, 200000);
    assert_int_equal(sim->provider.launched, 2);
    assert_int_equal(machines_n(sim), 0);
    for (int x = 1; x <= 5; x++)
        assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
}

static void test_elastic__gangs_take_whole_machines(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 5});
    sim_run(sim, 10000);
    assert_int_equal(sim->provider.launched, 2);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
}

/* A trial of three slots cannot have whole machines of two slots, and one of six slots needs more machines than the
 * pool may have. */
static void test_elastic__launches_nothing_for_what_it_could_never_hold(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 3, .steps = 5});
    sim_create(sim, &(struct sim_experiment){.slots = 6, .steps = 5});
    sim_run(sim, 60000);
    sim_expect(sim, "[  1000] exp 1 > PAUSED -> ACTIVE\n"
                    "[  1000] exp 2 > PAUSED -> ACTIVE\n");
}

static void test_elastic__keeps_the_least_and_replaces_one_that_has_stopped(void **state)
{
    struct scale_opts one_at_least = two_at_most;
    struct sim *sim = *state;
    one_at_least.min_instances = 1;
    sim_make_elastic(sim, &one_at_least);
    sim_run(sim, 200000);
    sim_expect(sim, "[   500] order > launch 1\n"
                    "[  3000] m1 > back\n");
    machine_stops(sim, "m1");
    sim_run(sim, 100000);
    sim_expect(sim, "[200000] m1 > stops\n"
                    "[201000] order > end m1: stopped: out of luck\n"
                    "[201500] order > launch 1\n"
                    "[204000] m2 > back\n");
}

static void test_elastic__a_task_without_slots_gets_a_machine_too(void **state)
{
    struct scale_opts no_slots = two_at_most;
    struct sim *sim = start_elastic(state, &no_slots);
    sim_create(sim, &(struct sim_experiment){.slots = 0, .steps = 5});
    sim_run(sim, 100000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_int_equal(sim->provider.launched, 1);
    assert_int_equal(machines_n(sim), 0);
}

static void test_elastic__tries_a_failed_launch_again_after_growing_pauses(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    struct core_pool_view v;
    sim->provider.error = "no machines to be had";
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5});
    sim_run(sim, 10000);
    sim_expect(sim, "[  1000] exp 1 > PAUSED -> ACTIVE\n"
                    "[  1000] order > launch 1\n"
                    "[  2500] order > launch 1\n"
                    "[  5000] order > launch 1\n"
                    "[  9500] order > launch 1\n");
    assert_true(core_pool(sim->core, 0, &v));
    assert_string_equal(v.problem, "no machines to be had");
    assert_true(v.retry_us > sim->now_us);
    sim->provider.error = NULL;
    sim_run(sim, 20000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_true(core_pool(sim->core, 0, &v));
    assert_null(v.problem);
}

static void test_elastic__rests_for_the_configured_time_after_so_many_failed_launches(void **state)
{
    struct scale_opts patient = two_at_most;
    patient.launch_error_timeout_us = 600 * S;
    patient.launch_error_retries = 1;
    struct sim *sim = start_elastic(state, &patient);
    sim->provider.error = "no machines to be had";
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5});
    sim_run(sim, 600000);
    sim_expect(sim, "[  1000] exp 1 > PAUSED -> ACTIVE\n"
                    "[  1000] order > launch 1\n"
                    "[  2500] order > launch 1\n");
    sim_run(sim, 4000);
    sim_expect(sim, "[603000] order > launch 1\n");
}

static void test_elastic__machines_that_stop_at_once_are_failed_launches(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    struct core_pool_view v;
    sim->provider.stillborn = true;
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5});
    sim_run(sim, 30000);
    assert_in_range(sim->provider.launched, 3, 5);
    assert_true(core_pool(sim->core, 0, &v));
    assert_string_equal(v.problem + strlen("instance mN "), "ended before its agent had connected: out of luck");
    assert_in_range(machines_n(sim), 0, 1);
}

static void test_elastic__a_machine_whose_agent_never_comes_is_replaced(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim->provider.mute = true;
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5});
    sim_run(sim, 110000);
    sim->provider.mute = false;
    sim_run(sim, 20000);
    sim_expect(sim, "[  1000] exp 1 > PAUSED -> ACTIVE\n"
                    "[  1000] order > launch 1\n"
                    "[121500] order > end m1: not connected within 2m0s\n"
                    "[122500] order > launch 1\n"
                    "[125000] m2 > back\n"
                    "[125000] m2 > start trial 1 run 1 slots 0\n"
                    "[125520] trial 1 > COMPLETED, restarts 0\n"
                    "[125520] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[125520] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_elastic__one_that_hangs_is_ended_and_its_trial_runs_elsewhere(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 1000});
    sim_run(sim, 4000);
    machine_hangs(sim, "m1");
    sim_run(sim, 200000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
    assert_int_equal(sim->provider.launched, 2);
    assert_non_null(strstr(strbuf_str(&sim->story), "end m1: disconnected for 30s"));
}

static void test_elastic__what_is_told_to_end_gets_nothing_more(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5});
    sim_run(sim, 63200); /* m1 has been told to end, and still runs */
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5});
    sim_run(sim, 10000);
    assert_non_null(strstr(strbuf_str(&sim->story), "[ 64020] order > end m1: idle for 1m0s\n"
                                                    "[ 64200] exp 2 > PAUSED -> ACTIVE\n"
                                                    "[ 64520] order > launch 1\n"
                                                    "[ 67020] m2 > back\n"
                                                    "[ 67020] m2 > start trial 2 run 1 slots 0,1\n"));
}

static void test_elastic__what_cannot_be_ended_is_told_so_again(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5});
    sim->provider.cannot_end = true;
    sim_run(sim, 80000);
    assert_int_equal(machines_n(sim), 1);
    sim->provider.cannot_end = false;
    sim_run(sim, 10000);
    assert_int_equal(machines_n(sim), 0);
}

/* The trial has failed on m1, and a log policy has excluded that node. m1 is idle, but the trial cannot use it, so
 * another machine is launched. */
static void test_elastic__a_trial_that_only_excluded_nodes_could_hold_gets_a_new_one(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim,
               &(struct sim_experiment){.slots = 1, .steps = 20, .max_restarts = 1, .fail_runs = 1, .fail_step = 10});
    sim_run(sim, 2500);
    assert_int_equal(sim_log_matched(sim, 1, "m1", LOG_POLICY_EXCLUDE_NODE), 0);
    sim_run(sim, 10000);
    sim_expect(
        sim,
        "[  1000] exp 1 > PAUSED -> ACTIVE\n"
        "[  1000] order > launch 1\n"
        "[  3500] m1 > back\n"
        "[  3500] m1 > start trial 1 run 1 slots 0\n"
        "[  4510] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[  4510] order > launch 1\n"
        "[  7010] m2 > back\n"
        "[  7010] m2 > start trial 1 run 2 slots 0 from step 9\n"
        "[  8130] trial 1 > COMPLETED, restarts 1\n"
        "[  8130] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
        "[  8130] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

/* All machines that the pool may have are excluded. The one that is idle ends after its idle time, so that another one
 * can be launched. */
static void test_elastic__an_excluded_node_makes_room_when_it_has_idled(void **state)
{
    struct scale_opts one = two_at_most;
    one.max_instances = 1;
    struct sim *sim = start_elastic(state, &one);
    sim_create(sim,
               &(struct sim_experiment){.slots = 1, .steps = 20, .max_restarts = 1, .fail_runs = 1, .fail_step = 10});
    sim_run(sim, 2500);
    assert_int_equal(sim_log_matched(sim, 1, "m1", LOG_POLICY_EXCLUDE_NODE), 0);
    sim_run(sim, 70000);
    sim_expect(
        sim,
        "[  1000] exp 1 > PAUSED -> ACTIVE\n"
        "[  1000] order > launch 1\n"
        "[  3500] m1 > back\n"
        "[  3500] m1 > start trial 1 run 1 slots 0\n"
        "[  4510] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[ 64510] order > end m1: idle for 1m0s\n"
        "[ 65010] order > launch 1\n"
        "[ 67510] m2 > back\n"
        "[ 67510] m2 > start trial 1 run 2 slots 0 from step 9\n"
        "[ 68630] trial 1 > COMPLETED, restarts 1\n"
        "[ 68630] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
        "[ 68630] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

/* The same holds in a pool that always keeps as many machines as it may have. */
static void test_elastic__an_excluded_node_is_replaced_in_a_pool_of_fixed_size(void **state)
{
    struct scale_opts one = two_at_most;
    one.min_instances = one.max_instances = 1;
    struct sim *sim = *state;
    sim_make_elastic(sim, &one);
    sim_create(sim,
               &(struct sim_experiment){.slots = 1, .steps = 20, .max_restarts = 1, .fail_runs = 1, .fail_step = 10});
    sim_run(sim, 3500);
    assert_int_equal(sim_log_matched(sim, 1, "m1", LOG_POLICY_EXCLUDE_NODE), 0);
    sim_run(sim, 80000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[   500] order > launch 1\n"
        "[  3000] m1 > back\n"
        "[  3000] m1 > start trial 1 run 1 slots 0\n"
        "[  4010] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[ 64010] order > end m1: idle for 1m0s\n"
        "[ 64510] order > launch 1\n"
        "[ 67010] m2 > back\n"
        "[ 67010] m2 > start trial 1 run 2 slots 0 from step 9\n"
        "[ 68130] trial 1 > COMPLETED, restarts 1\n"
        "[ 68130] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
        "[ 68130] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
    sim_run(sim, 200000); /* no request waits, so the machine stays */
    sim_expect(sim, "");
}

/* The provider's list tells the master of a machine that the master launched and has forgotten in its crash. */
static void test_elastic__the_master_dies_between_launch_and_news(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim->provider.dies_late = true;
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5});
    sim_crash_master(sim, 1000);
    sim_run(sim, 10000);
    sim_expect(sim, "[  1000] exp 1 > PAUSED -> ACTIVE\n"
                    "[  1000] order > launch 1\n"
                    "[  1000] master > crash\n"
                    "[  2000] master > back\n"
                    "[  3000] m1 > back\n"
                    "[  3000] m1 > start trial 1 run 1 slots 0,1\n"
                    "[  3520] trial 1 > COMPLETED, restarts 0\n"
                    "[  3520] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[  3520] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
    sim_run(sim, 100000);
    assert_int_equal(machines_n(sim), 0);
}

/* After a restart, machines whose agents may come back count neither as surplus nor as missing. */
static void test_elastic__a_restart_launches_nothing_twice(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 300});
    sim_run(sim, 10000);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5});
    sim_crash_master(sim, 10000);
    sim_run(sim, 120000);
    assert_in_range(sim->provider.launched, 1, 2);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
    sim_run(sim, 100000);
    assert_int_equal(machines_n(sim), 0);
}

static void test_elastic__a_restart_waits_for_agents_on_their_way_back(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5});
    sim_run(sim, 10000); /* m1 is idle */
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5, .paused = true});
    sim_crash_master(sim, 1000);
    sim_run(sim, 1200);
    sim_request(sim, CORE_EXPERIMENT_ACTIVATE, 2);
    sim_run(sim, 10000);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
    assert_int_equal(sim->provider.launched, 1);
}

/* Sets max_slots; 5 stands for no limit. An experiment that has ended refuses the change, which is no failure. */
static void limit_slots(struct sim *sim, int experiment_id, int max_slots)
{
    struct core_resources_patch patch = {.set_max_slots = true, .max_slots = max_slots == 5 ? -1 : max_slots};
    sim_step(sim,
             &(struct core_event){.type = CORE_EXPERIMENT_RESOURCES,
                                  .now_us = sim->now_us,
                                  .resources = {.experiment_id = experiment_id, .patch = &patch}},
             NULL);
}

/* One random run, with crashes at any step, machines that stop or hang, and a provider that fails. In the end all work
 * and all machines must have ended. */
static void random_run(uint64_t seed)
{
    struct rng rng;
    int experiments = 0;
    rng_init(&rng, (uint32_t)seed);
    sim_init(&the_sim, seed);
    the_sim.quiet = true;
    sim_make_elastic(&the_sim, &(struct scale_opts){.max_instances = 3,
                                                    .slots_per_instance = 2,
                                                    .max_idle_us = 20 * S,
                                                    .max_starting_us = 10 * S,
                                                    .max_disconnected_us = 30 * S});
    for (int round = 0; round < 100; round++) {
        struct sim_agent *a = the_sim.agent_n > 0 ? &the_sim.agent[rng_int(&rng, (uint64_t)the_sim.agent_n)] : NULL;
        the_sim.provider.error = rng_int(&rng, 6) == 0 ? "no machines" : NULL;
        the_sim.provider.mute = rng_int(&rng, 6) == 0;
        the_sim.provider.stillborn = rng_int(&rng, 8) == 0;
        the_sim.provider.cannot_end = rng_int(&rng, 5) == 0;
        the_sim.provider.dies_late = rng_int(&rng, 2) == 0;
        int what = (int)rng_int(&rng, 10);
        if (what < 4 && experiments < 30 && the_sim.core)
            experiments = sim_create(&the_sim, &(struct sim_experiment){.slots = (int)rng_int(&rng, 5) & ~1,
                                                                        .steps = 1 + (int)rng_int(&rng, 100)});
        else if (what == 5 && a && a->machine == MACHINE_RUNS)
            machine_stops(&the_sim, a->id);
        else if (what == 6 && a && a->machine == MACHINE_RUNS)
            machine_hangs(&the_sim, a->id);
        else if (what >= 8 && experiments > 0 && the_sim.core)
            limit_slots(&the_sim, 1 + (int)rng_int(&rng, (uint64_t)experiments), (int)rng_int(&rng, 6));
        else if (what == 7)
            sim_crash_master(&the_sim, (int64_t)rng_int(&rng, 30000));
        sim_run(&the_sim, (int64_t)rng_int(&rng, 5000));
        assert_true(machines_n(&the_sim) <= 3);
        if (the_sim.core && !elastic_adds_up(the_sim.core, &the_sim.core->pool[0]))
            fail_msg("seed %llu, %lld ms: the sums are not those of the instances and of what waits",
                     (unsigned long long)seed, (long long)the_sim.now_us / 1000);
    }
    the_sim.provider.error = NULL;
    the_sim.provider.mute = the_sim.provider.stillborn = the_sim.provider.cannot_end = false;
    sim_run(&the_sim, 3000000);
    for (int x = 1; x <= experiments; x++)
        if (!run_state_is_terminal(sim_experiment_state(&the_sim, x)))
            fail_msg("seed %llu: experiment %d never ends", (unsigned long long)seed, x);
    assert_int_equal(machines_n(&the_sim), 0);
    assert_int_equal((int)the_sim.store->agent_n, 0);
    sim_release(&the_sim);
}

static void test_elastic__everything_ends_whatever_goes_wrong(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        random_run(seed);
}

/* A spot machine is taken back: its trial makes a checkpoint and goes on on another machine. */
static void test_elastic__what_its_provider_takes_back_ends_with_a_checkpoint(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 200});
    sim_run(sim, 9000);
    sim_expect(sim, "[  1000] exp 1 > PAUSED -> ACTIVE\n"
                    "[  1000] order > launch 1\n"
                    "[  3500] m1 > back\n"
                    "[  3500] m1 > start trial 1 run 1 slots 0,1\n");
    machine_is_taken_back(sim, "m1");
    sim_run(sim, 20000);
    sim_expect(sim, "[ 10000] m1 > is taken back\n"
                    "[ 11510] trial 1 > run 1 preempts after step 80\n"
                    "[ 11520] order > end m1: taken back by its provider: spot\n"
                    "[ 11520] order > launch 1\n"
                    "[ 14020] m2 > back\n"
                    "[ 14020] m2 > start trial 1 run 2 slots 0,1 from step 80\n"
                    "[ 26040] trial 1 > COMPLETED, restarts 0\n"
                    "[ 26040] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[ 26040] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

/* A machine that is taken back gets nothing more, even if it cannot be ended for a while. */
static void test_elastic__what_its_provider_takes_back_gets_nothing_more(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5});
    sim_run(sim, 10000); /* m1 is idle */
    machine_is_taken_back(sim, "m1");
    sim->provider.cannot_end = true;
    sim_run(sim, 6000);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 5});
    sim_run(sim, 10000);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
    assert_int_equal(sim->provider.launched, 2); /* the second experiment ran on another machine */
}

static void test_elastic__a_provider_that_cannot_list_is_told_until_it_can(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    struct core_pool_view v;
    struct core_event ev = {.type = CORE_INSTANCES_LISTED,
                            .listed = {.pool = "default", .list_error = "the key has expired"}};
    sim_step(sim, &ev, NULL);
    assert_true(core_pool(sim->core, 0, &v));
    assert_string_equal(v.problem, "the provider cannot list its machines: the key has expired");
    sim_run(sim, 6000);
    assert_true(core_pool(sim->core, 0, &v));
    assert_null(v.problem);
}

/* Launching and listing fail in one turn, as both do when the key has expired. */
static void test_elastic__a_launch_that_failed_is_remembered_if_the_list_failed_with_it(void **state)
{
    struct sim *sim = start_elastic(state, &two_at_most);
    struct core_pool_view v;
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5});
    sim_run(sim, 100); /* a launch is ordered, and not carried out yet */
    assert_int_equal(sim->provider.launch, 1);
    sim->provider.launch = 0;
    struct core_event ev = {.type = CORE_INSTANCES_LISTED,
                            .listed = {.pool = "default",
                                       .order = sim->provider.order,
                                       .launch_error = "no machines to be had",
                                       .list_error = "the key has expired"}};
    sim_step(sim, &ev, NULL);
    assert_true(core_pool(sim->core, 0, &v));
    assert_true(v.retry_us > sim->now_us);
    sim_run(sim, 1000); /* the next list comes, and knows nothing of the launch */
    assert_true(core_pool(sim->core, 0, &v));
    assert_string_equal(v.problem, "no machines to be had");
    sim_run(sim, 20000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
}

/* Machines are looked at one by one only if there is one to end. */
static void test_elastic__knows_from_the_counts_whether_any_would_end(void **state)
{
    struct rng rng;
    rng_init(&rng, 7);
    for (int round = 0; round < 20000; round++) {
        struct scale_instance v[6];
        int n_in[SCALE_CLASS_NR] = {0}, n = (int)rng_int(&rng, 7), least = (int)rng_int(&rng, 4),
            most = least + (int)rng_int(&rng, 4);
        int kinds = 1 + (int)rng_int(&rng, SCALE_CLASS_NR);
        for (int i = 0; i < n; i++) {
            v[i] = (struct scale_instance){.class = (enum scale_class)rng_int(&rng, (uint64_t)kinds), .launch_us = i};
            n_in[v[i].class]++;
        }
        assert_int_equal(scale_would_terminate(n_in, least, most), scale_terminate(v, (size_t)n, least, most) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elastic__launches_for_what_waits_and_ends_what_idles),
        TEST(test_elastic__counts_what_starts_and_never_exceeds_the_most),
        TEST(test_elastic__gangs_take_whole_machines),
        TEST(test_elastic__launches_nothing_for_what_it_could_never_hold),
        TEST(test_elastic__keeps_the_least_and_replaces_one_that_has_stopped),
        TEST(test_elastic__a_task_without_slots_gets_a_machine_too),
        TEST(test_elastic__tries_a_failed_launch_again_after_growing_pauses),
        TEST(test_elastic__rests_for_the_configured_time_after_so_many_failed_launches),
        TEST(test_elastic__machines_that_stop_at_once_are_failed_launches),
        TEST(test_elastic__a_machine_whose_agent_never_comes_is_replaced),
        TEST(test_elastic__one_that_hangs_is_ended_and_its_trial_runs_elsewhere),
        TEST(test_elastic__what_is_told_to_end_gets_nothing_more),
        TEST(test_elastic__what_its_provider_takes_back_ends_with_a_checkpoint),
        TEST(test_elastic__what_its_provider_takes_back_gets_nothing_more),
        TEST(test_elastic__a_provider_that_cannot_list_is_told_until_it_can),
        TEST(test_elastic__a_launch_that_failed_is_remembered_if_the_list_failed_with_it),
        TEST(test_elastic__what_cannot_be_ended_is_told_so_again),
        TEST(test_elastic__a_trial_that_only_excluded_nodes_could_hold_gets_a_new_one),
        TEST(test_elastic__an_excluded_node_makes_room_when_it_has_idled),
        TEST(test_elastic__an_excluded_node_is_replaced_in_a_pool_of_fixed_size),
        TEST(test_elastic__the_master_dies_between_launch_and_news),
        TEST(test_elastic__a_restart_launches_nothing_twice),
        TEST(test_elastic__a_restart_waits_for_agents_on_their_way_back),
        cmocka_unit_test(test_elastic__knows_from_the_counts_whether_any_would_end),
        cmocka_unit_test(test_elastic__everything_ends_whatever_goes_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
