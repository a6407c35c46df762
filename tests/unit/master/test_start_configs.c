/* Configurations of experiments whose trials start: read once as long as they say the same, and never what they said
 * before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "master/start_configs.h"

/* The effective configuration, as it is stored. Caller frees. */
static char *stored_config(int slots)
{
    char yaml[256];
    struct expconf_pool pool = {.name = "default", .default_priority = 42};
    struct expconf_context context = {.pool = &pool,
                                      .pool_n = 1,
                                      .default_compute_pool = "default",
                                      .default_aux_pool = "default"};
    struct exp_config *c;
    snprintf(yaml, sizeof(yaml),
             "entrypoint: train\nname: x\nsearcher: {name: single, metric: loss}\nresources: {slots_per_trial: %d}\n"
             "checkpoint_storage: {type: shared_fs, host_path: /tmp}\n",
             slots);
    struct error err = ERROR_INIT;
    if (expconf_prepare(yaml, strlen(yaml), &context, &c, &err) < 0)
        fail_msg("%s", error_msg(&err));
    char *text = strdup(c->json);
    exp_config_free(c);
    return text;
}

static const struct exp_config *read_ok(struct start_configs *all, int32_t experiment, const char *text)
{
    const struct exp_config *c;
    struct error err = ERROR_INIT;
    if (start_configs_read(all, experiment, text, &c, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return c;
}

static void test_a_configuration__is_read_again_when_it_says_something_else(void **state)
{
    (void)state;
    struct start_configs *all = start_configs_new();
    char *two = stored_config(2), *three = stored_config(3);
    const struct exp_config *first = read_ok(all, 1, two);
    assert_int_equal(first->values.resources.slots_per_trial, 2);
    assert_ptr_equal(read_ok(all, 1, two), first);
    assert_int_equal(read_ok(all, 1, three)->values.resources.slots_per_trial, 3);
    for (int32_t x = 1; x < 500; x++) /* more than are kept */
        assert_int_equal(read_ok(all, x, x % 2 ? two : three)->values.resources.slots_per_trial, x % 2 ? 2 : 3);
    free(two);
    free(three);
    start_configs_free(all);
}

static void test_a_broken_configuration__is_an_error_each_time_and_leaves_nothing(void **state)
{
    (void)state;
    struct start_configs *all = start_configs_new();
    char *good = stored_config(1);
    const struct exp_config *c;
    read_ok(all, 1, good);
    for (int i = 0; i < 2; i++) {
        struct error err = ERROR_INIT;
        assert_int_equal(start_configs_read(all, 1, "{\"searcher\":5}", &c, &err), -1);
        error_release(&err);
    }
    assert_int_equal(read_ok(all, 1, good)->values.resources.slots_per_trial, 1);
    free(good);
    start_configs_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_configuration__is_read_again_when_it_says_something_else),
        cmocka_unit_test(test_a_broken_configuration__is_an_error_each_time_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
