#include "cmocka_setup.h"

#include <stdio.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/system/log_ring.h"

/* "id:text id:text …" */
static void assert_lines(struct log_ring *r, int64_t from, size_t max, const char *expected)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    struct log_ring_line *line;
    size_t n = log_ring_read(r, from, max, &a, &line);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&b, "%s%d:%s", i ? " " : "", (int)line[i].id, line[i].text);
    assert_string_equal(strbuf_str(&b), expected);
}

static void test_ring__forgets_the_oldest_line(void **state)
{
    struct log_ring *r = log_ring_new(3, 1000);
    int64_t first, end;
    assert_lines(r, 0, 9, "");
    for (int i = 0; i < 5; i++)
        log_ring_add(r, 100 + i, LOG_INFO, (const char *const[]){"a", "b", "c", "d", "e"}[i]);
    assert_lines(r, 0, 9, "2:c 3:d 4:e");
    assert_lines(r, 3, 1, "3:d");
    assert_lines(r, 5, 9, "");
    log_ring_range(r, &first, &end);
    assert_true(first == 2 && end == 5);
    log_ring_free(r);
}

static void test_ring__holds_so_much_text_and_at_least_the_last_line(void **state)
{
    struct log_ring *r = log_ring_new(100, 10);
    log_ring_add(r, 1, LOG_INFO, "12345");
    log_ring_add(r, 2, LOG_WARNING, "6789");
    assert_lines(r, 0, 9, "0:12345 1:6789");
    log_ring_add(r, 3, LOG_INFO, "ab");
    assert_lines(r, 0, 9, "1:6789 2:ab");
    log_ring_add(r, 4, LOG_ERROR, "longer than all of it");
    assert_lines(r, 0, 9, "3:longer than all of it");
    log_ring_add(r, 5, LOG_INFO, "x");
    assert_lines(r, 0, 9, "4:x");
    log_ring_free(r);
}

static void test_ring__is_a_sink_of_the_log(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct log_ring *r = log_ring_new(10, 1000);
    struct log_ring_line *line;
    log_init("test", LOG_INFO, 0);
    log_set_sink(log_ring_add, r);
    log_debug("not.this", "%s", "");
    log_warning("disk.full", "path=%s", "/x");
    log_set_sink(NULL, NULL);
    log_info("nor.this", "%s", "");
    assert_int_equal(log_ring_read(r, 0, 9, &a, &line), 1);
    assert_string_equal(line->text, "disk.full path=/x");
    assert_true(line->level == LOG_WARNING && line->time_us > 0);
    log_ring_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring__forgets_the_oldest_line),
        cmocka_unit_test(test_ring__holds_so_much_text_and_at_least_the_last_line),
        cmocka_unit_test(test_ring__is_a_sink_of_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
