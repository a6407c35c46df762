#include "cmocka_setup.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/task/command_cause.h"

static void take(struct strbuf *cause, const char *line)
{
    command_cause_take(cause, line, strlen(line));
}

static void test_command_cause__the_first_line_that_tells_of_a_failure_counts(void **state)
{
    cleanup_strbuf struct strbuf cause = STRBUF_INIT, text = STRBUF_INIT;
    take(&cause, "INFO: first");
    take(&cause, "");
    take(&cause, "FATAL:   no\tuser namespace");
    take(&cause, "ERROR: afterwards");
    take(&cause, "usage: …");
    command_cause_describe("apptainer", &cause, 255 << 8, &text);
    assert_string_equal(text.s, "apptainer says: FATAL:   no user namespace (exit status 255)");
}

static void test_command_cause__without_one_it_is_the_last_line(void **state)
{
    cleanup_strbuf struct strbuf cause = STRBUF_INIT, text = STRBUF_INIT;
    command_cause_describe("singularity", &cause, 9, &text);
    assert_string_equal(text.s, "singularity says: nothing (signal 9 (Killed))");
    take(&cause, "one");
    take(&cause, "two");
    assert_string_equal(cause.s, "two");
}

static void test_command_cause__a_full_disk_is_known_by_its_words(void **state)
{
    assert_true(cause_is_disk_full("write /x: No space left on device"));
    assert_true(cause_is_disk_full("Disk quota exceeded"));
    assert_false(cause_is_disk_full("no such device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_cause__the_first_line_that_tells_of_a_failure_counts),
        cmocka_unit_test(test_command_cause__without_one_it_is_the_last_line),
        cmocka_unit_test(test_command_cause__a_full_disk_is_known_by_its_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
