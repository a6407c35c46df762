#include "cmocka_setup.h"

#include <string.h>

#include "core/searcher/searcher.h"

#define SPACE "{\"lr\": {\"type\": \"log\", \"base\": 10, \"minval\": -4, \"maxval\": -1}, \"n\": {\"type\": \"int\", \"minval\": 1, \"maxval\": 9}}"

static struct searcher *new_searcher(const char *config)
{
    struct searcher *s;
    cleanup_error struct error err = ERROR_INIT;
    if (searcher_new(config, SPACE, 42, &s, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return s;
}

static void create_all(struct searcher *s, struct searcher_actions *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->item[i].type == SEARCHER_CREATE)
            searcher_trial_created(s, a->item[i].request_id, a, NULL);
}

static void expect_shutdown(struct searcher_actions *a, bool cancel, bool failure)
{
    assert_int_equal(a->n, 1);
    assert_int_equal(a->item[0].type, SEARCHER_SHUTDOWN);
    assert_int_equal(a->item[0].cancel, cancel);
    assert_int_equal(a->item[0].failure, failure);
    searcher_actions_release(a);
}

/* One trial that ends in some way, or well when `early` is false. */
static void end_single(bool early, enum searcher_exit reason, bool cancel, bool failure)
{
    struct searcher *s = new_searcher("{\"name\": \"single\"}");
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    char id[CORE_UUID_MAX];
    searcher_initial_trials(s, &a, NULL);
    create_all(s, &a);
    memcpy(id, a.item[0].request_id, sizeof id);
    searcher_actions_release(&a);
    if (early) {
        searcher_trial_exited_early(s, id, reason, &a, NULL);
        searcher_trial_exited_early(s, id, reason, &a, NULL); /* told twice, counted once */
    }
    assert_int_equal(a.n, 0);
    searcher_trial_exited(s, id, &a, NULL);
    expect_shutdown(&a, cancel, failure);
    searcher_free(s);
}

static void test_single__ends_as_its_trial_ended(void **state)
{
    end_single(false, SEARCHER_EXIT_ERRORED, false, false);
    end_single(true, SEARCHER_EXIT_ERRORED, false, true);
    end_single(true, SEARCHER_EXIT_USER_CANCELED, true, false);
    end_single(true, SEARCHER_EXIT_INVALID_HP, false, false);
}

static void test_random__one_success_among_failures_is_a_success(void **state)
{
    struct searcher *s = new_searcher("{\"name\": \"random\", \"max_trials\": 3}");
    struct searcher_actions created = SEARCHER_ACTIONS_INIT, a = SEARCHER_ACTIONS_INIT;
    searcher_initial_trials(s, &created, NULL);
    assert_int_equal(created.n, 3);
    create_all(s, &created);
    for (int i = 0; i < 3; i++) {
        if (i != 1)
            searcher_trial_exited_early(s, created.item[i].request_id, SEARCHER_EXIT_ERRORED, &a, NULL);
        searcher_trial_exited(s, created.item[i].request_id, &a, NULL);
    }
    expect_shutdown(&a, false, false);
    searcher_actions_release(&created);
    searcher_free(s);
}

static void test_random__progress_is_the_mean_of_its_trials(void **state)
{
    struct searcher *s = new_searcher("{\"name\": \"random\", \"max_trials\": 4, \"max_concurrent_trials\": 2}");
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    searcher_initial_trials(s, &a, NULL);
    create_all(s, &a);
    searcher_set_trial_progress(s, a.item[0].request_id, 0.5);
    searcher_set_trial_progress(s, a.item[1].request_id, 0.0 / 0.0); /* not a number: none */
    assert_true(searcher_progress(s) == 0.25);
    searcher_actions_release(&a);
    searcher_free(s);
}

/* Both go on in the same way after the copy was taken, to the last hyperparameter. */
static void test_snapshot__continues_with_the_same_trials(void **state)
{
    const char *config = "{\"name\": \"random\", \"max_trials\": 6, \"max_concurrent_trials\": 2}";
    struct searcher *s = new_searcher(config), *copy = new_searcher(config);
    struct searcher_actions first = SEARCHER_ACTIONS_INIT, a = SEARCHER_ACTIONS_INIT, b = SEARCHER_ACTIONS_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    searcher_initial_trials(s, &first, NULL);
    create_all(s, &first);
    searcher_trial_exited_early(s, first.item[0].request_id, SEARCHER_EXIT_ERRORED, &a, NULL);
    searcher_snapshot(s, &text);
    assert_int_equal(searcher_restore(copy, text.s, NULL), 0);

    for (int i = 0; i < 2; i++) {
        searcher_trial_exited(s, first.item[i].request_id, &a, NULL);
        searcher_trial_exited(copy, first.item[i].request_id, &b, NULL);
    }
    assert_int_equal(a.n, 2);
    assert_int_equal(b.n, a.n);
    for (size_t i = 0; i < a.n; i++) {
        assert_string_equal(a.item[i].request_id, b.item[i].request_id);
        assert_string_equal(a.item[i].hparams, b.item[i].hparams);
        assert_int_equal(a.item[i].trial_seed, b.item[i].trial_seed);
    }
    searcher_actions_release(&first);
    searcher_actions_release(&a);
    searcher_actions_release(&b);
    searcher_free(s);
    searcher_free(copy);
}

static void expect_refused(const char *config, const char *space, const char *sentence)
{
    struct searcher *s;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(searcher_new(config, space, 1, &s, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_string_equal(error_msg(&err), sentence);
}

static void test_searcher__says_what_is_wrong_with_a_configuration(void **state)
{
    expect_refused("{\"name\": \"magic\"}", "{}", "searcher.name: this master has no searcher \"magic\" (it has: single, random)");
    expect_refused("{}", "{}", "searcher.name: is missing");
    expect_refused("{\"name\": \"random\"}", "{}", "searcher.max_trials: must be 1 or more");
    expect_refused("{\"name\": \"single\"}", "{\"lr\": {\"type\": \"double\", \"minval\": 1}}",
                   "hyperparameters.lr: needs the numbers minval and maxval");
    expect_refused("{\"name\": \"single\"}", "{\"net\": {\"k\": {\"type\": \"categorical\", \"vals\": []}}}",
                   "hyperparameters.k: needs a list vals with at least one value");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single__ends_as_its_trial_ended),
        cmocka_unit_test(test_random__one_success_among_failures_is_a_success),
        cmocka_unit_test(test_random__progress_is_the_mean_of_its_trials),
        cmocka_unit_test(test_snapshot__continues_with_the_same_trials),
        cmocka_unit_test(test_searcher__says_what_is_wrong_with_a_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
