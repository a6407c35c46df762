#include "cmocka_setup.h"

#include <string.h>
#include <unistd.h>

#include "common/base/strbuf.h"
#include "common/system/log.h"

static struct strbuf seen;

static void keep_log_line(void *ctx, int64_t now_us, enum log_level level, const char *line)
{
    strbuf_addf(&seen, "%s %s\n", log_level_name(level), line);
}

static int listen_to_log(void **state)
{
    log_init("test", LOG_INFO, 0);
    log_set_sink(keep_log_line, NULL);
    return 0;
}

static int forget_log(void **state)
{
    log_set_sink(NULL, NULL);
    strbuf_release(&seen);
    return 0;
}

static void test_log__passes_lines_of_its_level_and_above(void **state)
{
    log_debug("trial.step", "n=%d", 1);
    log_info("trial.exit", "code=%d", 137);
    log_error("store.full", "path=%s", "/x");
    assert_string_equal(strbuf_str(&seen), "info trial.exit code=137\nerror store.full path=/x\n");
    strbuf_reset(&seen);
    log_set_level(LOG_TRACE);
    log_trace("trial.step", "n=%d", 1);
    assert_string_equal(strbuf_str(&seen), "trace trial.step n=1\n");
}

static void test_log__one_line_stays_one_line(void **state)
{
    strbuf_reset(&seen);
    log_warning("login.failed", "user=%s", "x\ninfo login.ok user=root");
    assert_string_equal(strbuf_str(&seen), "warning login.failed user=x info login.ok user=root\n");
}

static void test_log__quotes_when_needed(void **state)
{
    assert_string_equal(log_quote("plain"), "plain");
    assert_string_equal(log_quote(""), "\"\"");
    assert_string_equal(log_quote("two words"), "\"two words\"");
    assert_string_equal(log_quote("say \"a\\b\"\n"), "\"say \\\"a\\\\b\\\"\\n\"");
    assert_string_equal(log_quote(NULL), "-");
    char big[5000];
    memset(big, '"', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    assert_in_range(strlen(log_quote(big)), 1000, 1023);
}

static void test_log__knows_its_levels_by_name(void **state)
{
    enum log_level level;
    assert_int_equal(log_level_parse("WARN", &level), 0);
    assert_int_equal(level, LOG_WARNING);
    assert_int_equal(log_level_parse("fatal", &level), 0);
    assert_int_equal(level, LOG_FATAL);
    assert_int_equal(log_level_parse("loud", &level), -1);
}

/* Reads back a line that was written to stderr, which is a pipe meanwhile. */
static void unquoted_value(const char *quoted, char *ret, size_t n)
{
    int ends[2], kept = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    log_info("task.end", "id=7 why=%s and a sentence", quoted);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[1]);
    ssize_t got = read(ends[0], ret, n - 1);
    close(ends[0]);
    assert_true(got > 0);
    ret[got] = '\0';
}

static void test_log__json_lines_have_the_keys_in_fields(void **state)
{
    char line[512];
    log_set_json(true);
    unquoted_value(log_quote("a \"b\" \\n\n= c"), line, sizeof(line));
    log_set_json(false);
    assert_true(strncmp(line, "{\"time\":\"2", 10) == 0);
    assert_non_null(
        strstr(line, "\"level\":\"info\",\"program\":\"test\",\"event\":\"task.end\","
                     "\"fields\":{\"id\":\"7\",\"why\":\"a \\\"b\\\" \\\\n\\n= c\"},\"text\":\"and a sentence\"}\n"));
    strbuf_reset(&seen);
    log_info("task.end", "id=%d", 8); /* the sink still gets the text form */
    assert_string_equal(strbuf_str(&seen), "info task.end id=8\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log__passes_lines_of_its_level_and_above),
        cmocka_unit_test(test_log__one_line_stays_one_line),
        cmocka_unit_test(test_log__quotes_when_needed),
        cmocka_unit_test(test_log__json_lines_have_the_keys_in_fields),
        cmocka_unit_test(test_log__knows_its_levels_by_name),
    };
    return cmocka_run_group_tests(tests, listen_to_log, forget_log);
}
