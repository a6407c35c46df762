/* Tests checkpoints, their counters, lists and collection, and storage backends. */
#include "store/fixture.h"

#include "store/experiments/checkpoints.h"
#include "store/experiments/removals.h"
#include "store/metrics/metrics.h"

static void put(struct fixture *f, const char *uuid, int32_t steps, const char *state, const char *resources)
{
    const struct store_checkpoint c = {.uuid = uuid,
                                       .task_id = "t",
                                       .allocation_id = "t.1",
                                       .trial_id = 1,
                                       .report_us = T0 + steps,
                                       .state = state,
                                       .resources = resources,
                                       .metadata = "{\"steps_completed\":1}",
                                       .steps_completed = steps};
    OK(f, store_checkpoint_put(f->st, &c, &f->err));
}

static void validate(struct fixture *f, int32_t steps, const char *avg)
{
    const struct store_report r = {.trial_id = 1,
                                   .run_id = 1,
                                   .group = "validation",
                                   .has_steps = true,
                                   .steps = steps,
                                   .report_us = T0,
                                   .avg_metrics = avg};
    struct store_report_result result;
    OK(f, store_report_add(f->st, &r, &result, &f->err));
}

static void assert_counters(struct fixture *f, int32_t count, int64_t size)
{
    struct store_experiment x;
    struct store_trial t;
    OK(f, store_experiment_get(f->st, 1, false, &f->a, &x, &f->err));
    OK(f, store_trial_get(f->st, 1, false, &f->a, &t, &f->err));
    assert_int_equal(x.checkpoint_count, count);
    assert_int_equal(x.checkpoint_size, size);
    assert_int_equal(t.checkpoint_count, count);
    assert_int_equal(t.checkpoint_size, size);
}

static void test_checkpoint__comes_back_with_its_training(void **state)
{
    struct fixture *f = *state;
    struct store_checkpoint c;
    validate(f, 10, "{\"loss\":0.5}");
    put(f, "u1", 10, "COMPLETED", "{\"a\":\"10\",\"dir/b\":5}");
    OK(f, store_checkpoint_get(f->st, "u1", &f->a, &c, &f->err));
    assert_int_equal(c.size, 15);
    assert_int_equal(c.experiment_id, 1);
    assert_string_equal(c.allocation_id, "t.1");
    assert_string_equal(c.hparams, "{\"lr\":0.1}");
    assert_string_equal(c.experiment_config, "{\"name\":\"digits\"}");
    assert_string_equal(c.validation_metrics, "{\"loss\":0.5}");
    assert_null(c.training_metrics);
    assert_true(c.has_searcher_metric && c.searcher_metric == 0.5);
    assert_false(c.has_storage);
    OK(f, store_checkpoint_set_metadata(f->st, "u1", "{\"m\":1}", &f->err));
    OK(f, store_checkpoint_get(f->st, "u1", &f->a, &c, &f->err));
    assert_string_equal(c.metadata, "{\"m\":1}");
    FAILS(f, ERR_NOT_FOUND, "checkpoint 'u9' not found", store_checkpoint_get(f->st, "u9", &f->a, &c, &f->err));
}

static void test_checkpoint__stays_with_the_trial_that_reported_it_first(void **state)
{
    struct fixture *f = *state;
    struct store_checkpoint c;
    struct store_checkpoint_owner owner;
    bool found;
    const struct trial_row t = fixture_trial_row(2, 1);
    OK(f, store_trial_put(f->st, &t, true, &f->err));
    put(f, "a", 10, "COMPLETED", "{\"x\":3}");
    const struct store_checkpoint theirs = {.uuid = "a",
                                            .task_id = "other",
                                            .trial_id = 2,
                                            .report_us = T0,
                                            .state = "COMPLETED",
                                            .resources = "{\"y\":9}",
                                            .steps_completed = 99};
    FAILS(
        f, ERR_CONFLICT,
        "checkpoint a was reported by another trial, to which it belongs: nothing was changed; a new checkpoint needs a "
        "UUID of its own",
        store_checkpoint_put(f->st, &theirs, &f->err));
    OK(f, store_checkpoint_get(f->st, "a", &f->a, &c, &f->err));
    assert_int_equal(c.trial_id, 1);
    assert_int_equal(c.steps_completed, 10);
    assert_string_equal(c.resources, "{\"x\":3}");
    assert_counters(f, 1, 3);
    put(f, "a", 10, "COMPLETED", "{\"x\":4}"); /* the checkpoint's own trial reports it again */
    assert_counters(f, 1, 4);
    OK(f, store_checkpoint_owner(f->st, "a", &f->a, &owner, &found, &f->err));
    assert_true(found && owner.trial_id == 1 && owner.experiment_id == 1 && owner.user_id == 1);
    OK(f, store_checkpoint_owner(f->st, "z", &f->a, &owner, &found, &f->err));
    assert_false(found);
}

static void test_counters__follow_every_change(void **state)
{
    struct fixture *f = *state;
    put(f, "u1", 10, "COMPLETED", "{\"a\":10,\"b\":5}");
    put(f, "u2", 20, "COMPLETED", "{\"a\":100}");
    assert_counters(f, 2, 115);
    put(f, "u2", 20, "COMPLETED", "{\"a\":100}"); /* the same report, sent again */
    assert_counters(f, 2, 115);
    OK(f, store_checkpoint_set_resources(f->st, "u1", "{\"b\":5}", &f->err));
    assert_counters(f, 2, 105);
    OK(f, store_checkpoint_set_resources(f->st, "u1", "{}", &f->err));
    assert_counters(f, 1, 100);
    OK(f, store_checkpoint_set_resources(f->st, "u2", "{}", &f->err));
    assert_counters(f, 0, 0);
    FAILS(f, ERR_NOT_FOUND, "checkpoint 'u9' not found", store_checkpoint_set_resources(f->st, "u9", "{}", &f->err));
    FAILS(f, ERR_INVALID, "expected an object", store_checkpoint_set_resources(f->st, "u2", "[]", &f->err));
}

static void test_resources__left_over_decide_the_state(void **state)
{
    struct fixture *f = *state;
    struct store_checkpoint c;
    put(f, "u1", 10, "COMPLETED", "{\"a\":10,\"b\":5}");
    OK(f, store_checkpoint_set_resources(f->st, "u1", "{\"b\":5}", &f->err));
    OK(f, store_checkpoint_get(f->st, "u1", &f->a, &c, &f->err));
    assert_string_equal(c.state, "PARTIALLY_DELETED");
    OK(f, store_checkpoint_set_resources(f->st, "u1", "{}", &f->err));
    OK(f, store_checkpoint_get(f->st, "u1", &f->a, &c, &f->err));
    assert_string_equal(c.state, "DELETED");
}

/* Returns the UUIDs of a list in their order. */
static const char *list(struct fixture *f, struct store_checkpoint_filter filter)
{
    struct store_checkpoint_list l;
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    if (!filter.trial_id)
        filter.experiment_id = 1;
    OK(f, store_checkpoint_list(f->st, &filter, &f->a, &l, &f->err));
    for (size_t i = 0; i < l.checkpoint_n; i++)
        strbuf_addf(&b, "%s ", l.checkpoint[i].uuid);
    return arena_strdup(&f->a, strbuf_str(&b));
}

#define LIST(...) list(f, (struct store_checkpoint_filter){__VA_ARGS__})

static void test_list__sorts_by_attribute_and_by_metric(void **state)
{
    struct fixture *f = *state;
    const char *completed[] = {"COMPLETED"};
    put(f, "b", 30, "COMPLETED", "{\"x\":1}");
    put(f, "a", 10, "COMPLETED", "{\"x\":1}");
    put(f, "c", 20, "DELETED", "{}");
    validate(f, 10, "{\"loss\":0.9,\"acc\":0.1}");
    validate(f, 30, "{\"loss\":0.2,\"acc\":0.8}");
    assert_string_equal(LIST(.sort_by = 1), "a b c ");
    assert_string_equal(LIST(.sort_by = 3, .descending = true), "b c a ");
    assert_string_equal(LIST(.sort_by = 6), "b a c ");
    /* the checkpoint without a value comes last */
    assert_string_equal(LIST(.sort_by = 6, .descending = true), "a b c ");
    assert_string_equal(LIST(.sort_by_metric = "acc"), "a b c ");
    assert_string_equal(LIST(.sort_by_metric = "acc", .descending = true, .trial_id = 1), "b a c ");
    assert_string_equal(LIST(.states = {completed, 1}, .sort_by = 1), "a b ");
    assert_string_equal(LIST(.sort_by = 1, .page = {1, 1}), "b ");
    assert_string_equal(LIST(.trial_id = 9), "");
    for (int32_t sort = 0; sort <= 6; sort++)
        assert_int_equal(strlen(LIST(.sort_by = sort, .descending = sort % 2)), 6);
}

static void test_by_uuid__keeps_the_order_and_leaves_out_unknown(void **state)
{
    struct fixture *f = *state;
    const char *uuids[] = {"b", "x", "a"};
    struct store_checkpoint *c;
    size_t n;
    put(f, "a", 1, "COMPLETED", "{}");
    put(f, "b", 2, "COMPLETED", "{}");
    OK(f, store_checkpoints_by_uuid(f->st, (struct store_texts){uuids, 3}, &f->a, &c, &n, &f->err));
    assert_int_equal(n, 2);
    assert_string_equal(c[0].uuid, "b");
}

static void test_gc__leaves_out_warm_starts(void **state)
{
    struct fixture *f = *state;
    struct store_collection_candidate *g;
    size_t n;
    struct trial_row t = fixture_trial_row(2, 1);
    snprintf(t.warm_start_checkpoint, sizeof(t.warm_start_checkpoint), "a");
    OK(f, store_trial_put(f->st, &t, true, &f->err));
    put(f, "a", 10, "COMPLETED", "{}");
    put(f, "b", 20, "COMPLETED", "{}");
    put(f, "c", 30, "ERROR", "{}");
    validate(f, 20, "{\"loss\":0.5}");
    OK(f, store_checkpoints_for_collection(f->st, 1, &f->a, &g, &n, &f->err));
    assert_int_equal(n, 1);
    assert_string_equal(g[0].uuid, "b");
    assert_true(g[0].has_metric && g[0].metric == 0.5 && g[0].validation_id != 0);
}

static size_t due(struct fixture *f, int64_t now_us, struct store_removal **ret)
{
    size_t n;
    OK(f, store_removals_due(f->st, now_us, 10, &f->a, ret, &n, &f->err));
    return n;
}

static void test_removal__stays_marked_until_it_is_done(void **state)
{
    struct fixture *f = *state;
    struct store_removal *r;
    struct store_checkpoint c;
    const char *reason;
    int64_t next_us;
    put(f, "a", 10, "COMPLETED", "{\"x\":3}");
    FAILS(f, ERR_CONFLICT, "checkpoint 'u9' not found", store_removal_add(f->st, "u9", "[]", T0, &f->err));
    OK(f, store_removal_add(f->st, "a", "[]", T0, &f->err));
    OK(f, store_removal_add(f->st, "a", "[\"*.pt\"]", T0, &f->err));
    assert_int_equal(due(f, T0 - 1, &r), 0);
    assert_int_equal(due(f, T0, &r), 2);
    assert_string_equal(r[0].uuid, "a");
    assert_string_equal(r[0].site.experiment_config, "{\"name\":\"digits\"}");
    assert_null(r[0].site.storage);
    OK(f, store_removal_failed(f->st, "a", "[]", T0 + 60, "no disk", &f->err));
    assert_int_equal(due(f, T0, &r), 1);
    OK(f, store_removals_next(f->st, T0, &next_us, &f->err));
    assert_int_equal(next_us, T0 + 60);
    OK(f, store_removal_reason(f->st, 1, 0, &f->a, &reason, &f->err));
    assert_string_equal(reason, "no disk");
    OK(f, store_removal_done(f->st, "a", "[]", "{}", &f->err));
    assert_int_equal(due(f, T0 + 60, &r), 0); /* nothing is left that the patterns could match */
    OK(f, store_checkpoint_get(f->st, "a", &f->a, &c, &f->err));
    assert_string_equal(c.state, "DELETED");
}

static void test_removal__waits_for_trials_that_need_the_checkpoint(void **state)
{
    struct fixture *f = *state;
    struct store_removal *r;
    int32_t user;
    struct trial_row t = fixture_trial_row(2, 1);
    snprintf(t.warm_start_checkpoint, sizeof(t.warm_start_checkpoint), "a");
    t.state = RUN_ACTIVE;
    OK(f, store_trial_put(f->st, &t, true, &f->err));
    put(f, "a", 10, "COMPLETED", "{}");
    put(f, "b", 20, "COMPLETED", "{}");
    OK(f, store_removal_add_all(f->st, 1, 0, T0, &f->err));
    assert_int_equal(due(f, T0, &r), 1);
    assert_string_equal(r[0].uuid, "b");
    OK(f, store_checkpoint_user(f->st, "a", &user, &f->err));
    assert_int_equal(user, 2);
    OK(f, store_checkpoint_user(f->st, "b", &user, &f->err));
    assert_int_equal(user, 0);
    t.state = RUN_COMPLETED;
    OK(f, store_trial_put(f->st, &t, false, &f->err));
    assert_int_equal(due(f, T0, &r), 2);
}

static void test_collection__is_asked_for_once(void **state)
{
    struct fixture *f = *state;
    struct store_collection c;
    bool done;
    OK(f, store_collection_next(f->st, &c, &f->err));
    assert_int_equal(c.experiment_id, 0);
    OK(f, store_collection_ask(f->st, 1, &f->err));
    OK(f, store_collection_ask(f->st, 1, &f->err));
    OK(f, store_collection_next(f->st, &c, &f->err));
    assert_int_equal(c.experiment_id, 1);
    OK(f, store_collection_done(f->st, &c, &done, &f->err));
    assert_true(done);
    OK(f, store_collection_next(f->st, &c, &f->err));
    assert_int_equal(c.experiment_id, 0);
}

/* A collection has been read with the old policy, and is about to be stored as done, when a new one is asked for. */
static void test_collection__asked_for_meanwhile_is_not_done(void **state)
{
    struct fixture *f = *state;
    struct store_collection before, after;
    bool done;
    OK(f, store_collection_ask(f->st, 1, &f->err));
    OK(f, store_collection_next(f->st, &before, &f->err));
    OK(f, store_collection_ask(f->st, 1, &f->err));
    OK(f, store_collection_done(f->st, &before, &done, &f->err));
    assert_false(done);
    OK(f, store_collection_next(f->st, &after, &f->err));
    assert_int_equal(after.experiment_id, 1);
    OK(f, store_collection_done(f->st, &after, &done, &f->err));
    assert_true(done);
}

static void test_gc__knows_what_a_trial_goes_on_from(void **state)
{
    struct fixture *f = *state;
    struct store_collection_candidate *g;
    size_t n;
    struct trial_row t = fixture_trial_row(2, 1);
    snprintf(t.latest_checkpoint, sizeof(t.latest_checkpoint), "b");
    t.state = RUN_PAUSED;
    OK(f, store_trial_put(f->st, &t, true, &f->err));
    for (int i = 0; i < 2; i++) {
        const struct store_checkpoint c = {.uuid = i ? "b" : "a",
                                           .task_id = "t",
                                           .trial_id = 2,
                                           .report_us = T0 + i,
                                           .state = "COMPLETED",
                                           .steps_completed = 10 * i};
        OK(f, store_checkpoint_put(f->st, &c, &f->err));
    }
    OK(f, store_checkpoints_for_collection(f->st, 1, &f->a, &g, &n, &f->err));
    assert_int_equal(n, 2);
    assert_false(g[0].in_use);
    assert_true(g[1].in_use);
}

static void test_storage_backend__has_one_id_for_ever(void **state)
{
    struct fixture *f = *state;
    int32_t a, b, again;
    OK(f, store_storage_backend_id(f->st, "{\"type\":\"shared_fs\"}", &a, &f->err));
    OK(f, store_storage_backend_id(f->st, "{\"type\":\"s3\"}", &b, &f->err));
    OK(f, store_storage_backend_id(f->st, "{\"type\":\"shared_fs\"}", &again, &f->err));
    assert_int_equal(a, again);
    assert_int_not_equal(a, b);
}

static void test_storage_backend__is_a_trials_that_has_registered_it(void **state)
{
    struct fixture *f = *state;
    int32_t id;
    bool has;
    OK(f, store_storage_backend_id(f->st, "{\"type\":\"s3\"}", &id, &f->err));
    OK(f, store_trial_has_storage(f->st, 1, id, &has, &f->err));
    assert_false(has);
    OK(f, store_trial_storage_add(f->st, 1, id, &f->err));
    OK(f, store_trial_storage_add(f->st, 1, id, &f->err));
    OK(f, store_trial_has_storage(f->st, 1, id, &has, &f->err));
    assert_true(has);
    OK(f, store_trial_has_storage(f->st, 1, id + 1, &has, &f->err));
    assert_false(has);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TRIAL(test_checkpoint__comes_back_with_its_training),
        TEST_TRIAL(test_checkpoint__stays_with_the_trial_that_reported_it_first),
        TEST_TRIAL(test_counters__follow_every_change),
        TEST_TRIAL(test_resources__left_over_decide_the_state),
        TEST_TRIAL(test_list__sorts_by_attribute_and_by_metric),
        TEST_TRIAL(test_by_uuid__keeps_the_order_and_leaves_out_unknown),
        TEST_TRIAL(test_gc__leaves_out_warm_starts),
        TEST_TRIAL(test_gc__knows_what_a_trial_goes_on_from),
        TEST_TRIAL(test_removal__stays_marked_until_it_is_done),
        TEST_TRIAL(test_removal__waits_for_trials_that_need_the_checkpoint),
        TEST_TRIAL(test_collection__is_asked_for_once),
        TEST_TRIAL(test_collection__asked_for_meanwhile_is_not_done),
        TEST(test_storage_backend__has_one_id_for_ever),
        TEST_TRIAL(test_storage_backend__is_a_trials_that_has_registered_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
