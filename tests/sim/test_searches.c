/* Whole searches in the simulated cluster, and what a crash of the master between any two steps leaves of them. */
#include <string.h>

#include "sim_main.h"
#include "store.h"

#define HALVING \
    "\"metric\": \"loss\", \"num_rungs\": 2, \"max_trials\": 5, \"divisor\": 2, \"max_concurrent_trials\": 2"

static const struct {
    const char *name, *searcher;
} searches[] = {
    {"single", "{\"name\": \"single\", \"max_length\": 3}"},
    {"random", "{\"name\": \"random\", \"max_trials\": 4, \"max_concurrent_trials\": 2}"},
    {"grid", "{\"name\": \"grid\", \"max_concurrent_trials\": 2}"},
    {"stopped", "{\"name\": \"async_halving\", \"max_time\": 4, \"time_metric\": \"batches\", " HALVING "}"},
    {"promoted", "{\"name\": \"async_halving\", \"max_length\": {\"batches\": 4}, " HALVING "}"},
    {"stop once", "{\"name\": \"async_halving\", \"max_length\": {\"batches\": 4}, \"stop_once\": true, " HALVING "}"},
    {"adaptive",
     "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": 6, \"max_time\": 4, \"time_metric\": "
     "\"batches\", \"divisor\": 2, \"mode\": \"conservative\", \"max_concurrent_trials\": 3}"},
    {"adaptive, promoted",
     "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": 5, \"max_length\": {\"batches\": 4}, "
     "\"divisor\": 2, \"max_concurrent_trials\": 2}"},
};
enum { SEARCH_N = sizeof(searches) / sizeof(searches[0]) };

static void create_search(struct sim *sim, size_t i, int fail_trial)
{
    sim_create(sim, &(struct sim_experiment){.slots = 1,
                                             .steps = 4,
                                             .searched = true,
                                             .searcher = searches[i].searcher,
                                             .max_restarts = 1,
                                             .fail_trial = fail_trial,
                                             .fail_runs = 2,
                                             .fail_step = 1});
}

/* Runs a search on one slot, so that trials report in the same order however long anything takes. The second trial
 * fails twice and ends in error. */
static void run_search(struct sim *sim, size_t i)
{
    sim_add_agent(sim, "a1", 1);
    create_search(sim, i, 2);
    sim_run(sim, 200000);
}

/* Writes down every trial, with its hyperparameters and its steps. A trial that the searcher has stopped may have
 * trained on while the master was down. */
static void describe_trials(const struct sim *sim, struct strbuf *ret)
{
    strbuf_reset(ret);
    for (int id = 1; id <= (int)sim->store->trial_n; id++) {
        const struct trial_row *t = sim_trial(sim, id);
        strbuf_addf(ret, "%d %s %u %s %s restarts %d runs %d", id, t->request_id, t->seed, t->hparams,
                    run_state_name(t->state), t->restarts, t->run_id);
        if (t->stopped_by_searcher)
            strbuf_adds(ret, " stopped\n");
        else
            strbuf_addf(ret, " steps %d\n", t->steps_completed);
    }
    strbuf_addf(ret, "%s, %d open\n", run_state_name(sim_experiment_state(sim, 1)), sim_open_allocations(sim));
}

static void crash_at(size_t i, int step, enum sim_crash mode, const char *expected)
{
    static struct sim crashed;
    static struct strbuf found;
    sim_init(&crashed, 1);
    crashed.crash_at = step;
    crashed.crash_mode = mode;
    run_search(&crashed, i);
    describe_trials(&crashed, &found);
    if (strcmp(found.s, expected) != 0) {
        print_message("%s, crash at step %d, mode %d:\n%s", searches[i].name, step, mode, strbuf_str(&crashed.story));
        print_message("expected:\n%s", expected);
        print_message("found:\n%s", found.s);
        fail_msg("the search is another one after a crash");
    }
    sim_release(&crashed);
    strbuf_release(&found);
}

static void test_crash__between_any_two_steps_leaves_the_search_as_it_was(void **state)
{
    for (size_t i = 0; i < SEARCH_N; i++) {
        static struct sim undisturbed;
        cleanup_strbuf struct strbuf expected = STRBUF_INIT;
        sim_init(&undisturbed, 1);
        run_search(&undisturbed, i);
        describe_trials(&undisturbed, &expected);
        assert_int_equal(sim_experiment_state(&undisturbed, 1), RUN_COMPLETED);
        int steps = undisturbed.steps;
        sim_release(&undisturbed);
        for (int step = 3; step <= steps; step++) /* the first steps add the agent and the experiment */
            for (enum sim_crash mode = CRASH_BEFORE_COMMIT; mode <= CRASH_AFTER_EFFECTS; mode++)
                crash_at(i, step, mode, expected.s);
    }
}

static void test_promotion__a_waiting_trial_leaves_its_slot_to_others(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    create_search(sim, 4, -1);
    sim_run(sim, 20000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   220] a1 > start trial 2 run 1 slots 0\n"
                    "[   640] trial 2 > COMPLETED, restarts 0\n"
                    "[   640] a1 > start trial 3 run 1 slots 0\n"
                    "[   860] a1 > start trial 4 run 1 slots 0\n"
                    "[  1280] trial 4 > COMPLETED, restarts 0\n"
                    "[  1280] a1 > start trial 5 run 1 slots 0\n"
                    "[  1490] trial 1 > COMPLETED, restarts 0\n"
                    "[  1490] trial 3 > COMPLETED, restarts 0\n"
                    "[  1700] trial 5 > COMPLETED, restarts 0\n"
                    "[  1700] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[  1700] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_pause__a_search_goes_on_after_it(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 2);
    create_search(sim, 6, -1);
    sim_run(sim, 350);
    sim_request(sim, CORE_EXPERIMENT_PAUSE, 1);
    sim_run(sim, 5000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_PAUSED);
    assert_int_equal(sim_open_allocations(sim), 0);
    sim_request(sim, CORE_EXPERIMENT_ACTIVATE, 1);
    sim_run(sim, 50000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_int_equal(sim->store->trial_n, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_crash__between_any_two_steps_leaves_the_search_as_it_was),
        TEST(test_promotion__a_waiting_trial_leaves_its_slot_to_others),
        TEST(test_pause__a_search_goes_on_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
