/* Log policies: what they find in a line, and when they give up. */
#include "cmocka_setup.h"

#include <string.h>

#include "common/json/json.h"
#include "core/config/log_policies.h"

static struct log_policies *policies(const char *json)
{
    cleanup_json struct json_object *config = json_object_new_object();
    cleanup_arena struct arena a = ARENA_INIT;
    struct exp_values values;
    json_object_object_add(config, "log_policies", json_tokener_parse(json));
    assert_non_null(json_object_object_get(config, "log_policies"));
    exp_values_read(config, &a, &values);
    return log_policies_new(values.log_policies, values.log_policies_n);
}

/* Expects these patterns to match, given as digits such as "02". */
static void expect(struct log_policies *p, const char *line, const char *wanted)
{
    char found[16] = "";
    log_policies_scan(p, line, strlen(line));
    for (size_t i = 0, n = 0; i < log_policies_n(p); i++) {
        if (log_policies_get(p, i)->matched)
            found[n++] = (char)('0' + i);
        log_policies_get(p, i)->matched = false;
    }
    assert_string_equal(found, wanted);
}

static void test_log_policies__find_their_text_anywhere_in_a_line(void **state)
{
    struct log_policies *p = policies(
        "[{\"name\":\"a\",\"pattern\":\".*out of memory.*\"},{\"pattern\":\"^exit [0-9]+$\",\"action\":\"exclude_node\"},"
        "{\"name\":\"off\",\"pattern\":null},{\"name\":\"c\",\"pattern\":\".*\",\"action\":\"cancel_retries\"}]");
    assert_int_equal(log_policies_n(p), 3); /* one of the policies is switched off */
    assert_null(log_policies_get(p, 1)->name);
    assert_int_equal(log_policies_get(p, 1)->action, LOG_POLICY_EXCLUDE_NODE);
    assert_int_equal(log_policies_get(p, 2)->action, LOG_POLICY_CANCEL_RETRIES);
    assert_int_equal(log_policies_get(p, 0)->action, LOG_POLICY_NONE);
    expect(p, "CUDA out of memory\n", "02");
    expect(p, "exit 12\n", "12"); /* the newline at the end is not part of the line */
    expect(p, "no exit 12\n", "2");
    expect(p, "", "2");
    expect(p, "bytes \xff\xfe out of memory", "02");
    log_policies_free(p);
}

static void test_log_policies__take_a_star_before_a_question_mark_as_it_is(void **state)
{
    struct log_policies *p = policies("[{\"pattern\":\".*?b\"},{\"pattern\":\".*+\"},{\"pattern\":\".*\"}]");
    expect(p, "aab", "012");
    expect(p, "aa", "12");
    log_policies_free(p);
}

static void test_log_policies__give_up_what_takes_too_long_and_go_on_with_the_others(void **state)
{
    struct log_policies *p = policies("[{\"pattern\":\"(a|aa)+[c-z]\"},{\"pattern\":\"a1\"}]");
    expect(p, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1", "1");
    assert_true(log_policies_get(p, 0)->gave_up);
    assert_false(log_policies_get(p, 1)->gave_up);
    expect(p, "ac a1", "1");
    log_policies_free(p);
}

static void test_log_policy_patterns__are_refused_with_the_place(void **state)
{
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(log_policy_check_pattern("ok.*", &err), 0);
    assert_int_equal(log_policy_check_pattern(".*a[", &err), -1);
    assert_string_equal(error_msg(&err),
                        "\".*a[\" is no regular expression: missing terminating ] for character class at character 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_policies__find_their_text_anywhere_in_a_line),
        cmocka_unit_test(test_log_policies__take_a_star_before_a_question_mark_as_it_is),
        cmocka_unit_test(test_log_policies__give_up_what_takes_too_long_and_go_on_with_the_others),
        cmocka_unit_test(test_log_policy_patterns__are_refused_with_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
