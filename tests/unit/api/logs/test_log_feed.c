/* Tests what followers of a log get from memory, when they need the store, and that the memory is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/logs/log_feed.h"

static void push_lines(struct log_feeds *f, int64_t first_id, const char *text, size_t n)
{
    struct store_log_line line[16];
    for (size_t i = 0; i < n; i++)
        line[i] = (struct store_log_line){.container_id = "c", .text = text, .text_n = strlen(text)};
    log_feed_push(f, "t", first_id, line, n);
}

/* Returns what the feed answers, as text: "3-5" for lines, "none" or "store". */
static const char *feed_answer(struct log_feed *feed, struct log_mark mark, int64_t cursor)
{
    static char text[64];
    const struct log_chunk *c;
    switch (log_feed_look(feed, mark, cursor, &c)) {
    case LOG_FEED_STORE:
        return "store";
    case LOG_FEED_NONE:
        return "none";
    case LOG_FEED_LINES:
        snprintf(text, sizeof(text), "%lld-%lld", (long long)c->line[0].id, (long long)c->line[c->n - 1].id);
    }
    log_chunk_drop(c);
    return text;
}

static void test_a_follower__needs_the_store_once(void **state)
{
    (void)state;
    struct log_feeds *f = log_feeds_new();
    struct log_feed *feed = log_feed_follow(f, "t");
    assert_string_equal(feed_answer(feed, LOG_MARK_NONE, 0), "store");
    struct log_mark mark = log_feed_mark(feed);
    assert_string_equal(feed_answer(feed, mark, 7), "none");
    push_lines(f, 6, "x", 2); /* these lines were read from the store already, and are pushed late */
    assert_string_equal(feed_answer(feed, mark, 7), "none");
    push_lines(f, 8, "x", 3);
    assert_string_equal(feed_answer(feed, mark, 7), "8-10");
    push_lines(f, 11, "x", 1);
    assert_string_equal(feed_answer(feed, mark, 7), "8-10");
    assert_string_equal(feed_answer(feed, mark, 9), "8-10"); /* the cursor is in the middle of a chunk */
    assert_string_equal(feed_answer(feed, mark, 10), "11-11");
    assert_string_equal(feed_answer(feed, mark, 11), "none");
    assert_string_equal(feed_answer(feed, mark, 3), "store"); /* the follower has fallen behind */
    log_feed_leave(f, feed);
    log_feeds_free(f);
}

static void test_gap__sends_followers_to_the_store(void **state)
{
    (void)state;
    struct log_feeds *f = log_feeds_new();
    struct log_feed *feed = log_feed_follow(f, "t");
    struct log_mark mark = log_feed_mark(feed);
    push_lines(f, 1, "x", 1);
    log_feed_gap(f, "t"); /* line 2 is stored without being pushed */
    assert_string_equal(feed_answer(feed, mark, 1), "store");
    mark = log_feed_mark(feed);
    push_lines(f, 3, "x", 1); /* a gap in the numbers counts as a gap, too */
    assert_string_equal(feed_answer(feed, mark, 1), "store");
    mark = log_feed_mark(feed);
    assert_string_equal(feed_answer(feed, mark, 2), "3-3");
    push_lines(f, 2, "x", 1); /* the line comes out of order */
    assert_string_equal(feed_answer(feed, mark, 3), "store");
    log_feed_leave(f, feed);
    log_feeds_free(f);
}

static void test_memory__is_bounded_and_goes_with_the_last_follower(void **state)
{
    (void)state;
    static char text[LOG_FEED_BYTES / 2];
    memset(text, 'x', sizeof(text) - 1);
    struct log_feeds *f = log_feeds_new();
    struct log_feed *feed = log_feed_follow(f, "t");
    struct log_mark mark = log_feed_mark(feed);
    for (int i = 1; i <= 4; i++)
        push_lines(f, i, text, 1);
    assert_string_equal(feed_answer(feed, mark, 0), "store"); /* the first chunks were dropped */
    assert_string_equal(feed_answer(feed, mark, 2), "3-3");
    const struct log_chunk *held;
    assert_int_equal(log_feed_look(feed, mark, 2, &held), LOG_FEED_LINES);
    push_lines(f, 5, text, 4); /* the chunk is longer than the limit: it stays, but no other does */
    assert_string_equal(feed_answer(feed, mark, 4), "5-8");
    assert_string_equal(feed_answer(feed, mark, 3), "store");
    assert_int_equal(held->line[0].id, 3); /* a chunk that a reader holds stays */
    log_chunk_drop(held);
    struct log_feed *second = log_feed_follow(f, "t");
    assert_ptr_equal(second, feed);
    log_feed_leave(f, feed);
    assert_string_equal(feed_answer(second, mark, 4), "5-8");
    assert_false(log_feed_is_over(second));
    log_feed_end(f, "t");
    assert_true(log_feed_is_over(second));
    log_feed_leave(f, second);
    push_lines(f, 9, "x", 1); /* nobody follows the log, so nothing is kept */
    feed = log_feed_follow(f, "t");
    assert_string_equal(feed_answer(feed, log_feed_mark(feed), 0), "none");
    log_feed_leave(f, feed);
    log_feeds_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_follower__needs_the_store_once),
        cmocka_unit_test(test_gap__sends_followers_to_the_store),
        cmocka_unit_test(test_memory__is_bounded_and_goes_with_the_last_follower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
