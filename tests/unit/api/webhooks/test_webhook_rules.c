#include "cmocka_setup.h"

#include <string.h>

#include "api/webhooks/webhook_rules.h"

static void test_url__is_http_with_a_host_and_without_credentials(void **state)
{
    static const char *const wrong[] = {"",
                                        "x",
                                        "ftp://x/",
                                        "http://",
                                        "https:///x",
                                        "http://?",
                                        "http://u@x/",
                                        "http://u:p@x:80/",
                                        "http://a b/",
                                        "http://x/\n",
                                        "file:///",
                                        "http://\xc3\xa4.de/",
                                        "javascript:x"};
    static const char *const right[] = {"http://x", "HTTPS://hooks.example.org:8443/services/T0/B1?x=@y",
                                        "http://[::1]:80/"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(webhook_check_url(wrong[i], NULL), -1);
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        assert_int_equal(webhook_check_url(right[i], NULL), 0);
    assert_int_equal(webhook_check_url(NULL, NULL), -1);
}

static void test_name__is_visible(void **state)
{
    assert_int_equal(webhook_check_name("on call", NULL), 0);
    assert_int_equal(webhook_check_name("", NULL), -1);
    assert_int_equal(webhook_check_name("   ", NULL), -1);
    assert_int_equal(webhook_check_name("a\tb", NULL), -1);
    assert_int_equal(webhook_check_name(NULL, NULL), -1);
}

static void test_triggers__name_states_of_experiments(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_webhook_trigger *t;
    struct wire_webhook_trigger given[] = {{.trigger_type = WIRE_WEBHOOK_TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE,
                                            .condition = "{\"state\":\"STATE_ERROR\"}"},
                                           {.trigger_type = WIRE_WEBHOOK_TRIGGER_TYPE_CUSTOM}};
    assert_int_equal(webhook_read_triggers(given, 2, &a, &t, NULL), 0);
    assert_string_equal(t[0].state, "ERROR");
    assert_string_equal(t[1].type, "CUSTOM");
    assert_int_equal(webhook_read_triggers(given, 0, &a, &t, NULL), -1);
    static const char *const wrong[] = {NULL, "{}", "{\"state\":1}", "{\"state\":\"\"}", "{\"state\":\"UNSPECIFIED\"}",
                                        "[]"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        given[0].condition = wrong[i];
        assert_int_equal(webhook_read_triggers(given, 1, &a, &t, NULL), -1);
    }
}

static void test_triggers__have_patterns_and_events_as_conditions(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_webhook_trigger *t;
    struct wire_webhook_trigger given[] = {
        {.trigger_type = WIRE_WEBHOOK_TRIGGER_TYPE_TASK_LOG, .condition = "{\"regex\":\"a|b\"}"},
        {.trigger_type = WIRE_WEBHOOK_TRIGGER_TYPE_TASK_LOG, .condition = "{\"regex\":\"a\"}"},
        {.trigger_type = WIRE_WEBHOOK_TRIGGER_TYPE_CUSTOM, .condition = "{\"event\":\"MODEL_ALIAS\"}"},
        {.trigger_type = WIRE_WEBHOOK_TRIGGER_TYPE_CUSTOM, .condition = "{}"}};
    assert_int_equal(webhook_read_triggers(given, 4, &a, &t, NULL), 0);
    assert_string_equal(t[0].type, "TASK_LOG");
    assert_string_equal(t[0].regex, "a|b");
    assert_string_equal(t[2].type, "MODEL_ALIAS");
    assert_string_equal(t[3].type, "CUSTOM");
    static const char *const wrong[] = {
        NULL, "{}", "[]", "{\"regex\":7}", "{\"regex\":\"\"}", "{\"regex\":\"(\"}", "{\"regex\":\"a\\u0000b\"}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        given[0].condition = wrong[i];
        assert_int_equal(webhook_read_triggers(given, 1, &a, &t, NULL), -1);
    }
}

static void test_experiment__chooses_what_is_told_of_it(void **state)
{
    const struct store_webhook all = {.id = 7, .name = "n", .mode = "WORKSPACE"};
    const struct store_webhook specific = {.id = 7, .name = "n", .mode = "SPECIFIC"};
    static const struct {
        const char *config;
        bool all, specific;
    } row[] = {
        {"{}", true, false},
        {"{\"integrations\":null}", true, false},
        {"{\"integrations\":{\"webhooks\":{\"webhook_id\":[6,7]}}}", true, true},
        {"{\"integrations\":{\"webhooks\":{\"webhook_id\":[6]}}}", true, false},
        {"{\"integrations\":{\"webhooks\":{\"webhook_name\":[\"n\"]}}}", true, true},
        {"{\"integrations\":{\"webhooks\":{\"webhook_name\":[\"m\"]}}}", true, false},
        {"{\"integrations\":{\"webhooks\":{\"exclude\":true,\"webhook_id\":[7]}}}", false, false},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        assert_int_equal(webhook_concerns(&all, row[i].config), row[i].all);
        assert_int_equal(webhook_concerns(&specific, row[i].config), row[i].specific);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url__is_http_with_a_host_and_without_credentials),
        cmocka_unit_test(test_name__is_visible),
        cmocka_unit_test(test_triggers__name_states_of_experiments),
        cmocka_unit_test(test_triggers__have_patterns_and_events_as_conditions),
        cmocka_unit_test(test_experiment__chooses_what_is_told_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
