/* Task logs: numbering, exactly once, filters in both directions, fields, retention, damaged blocks. */
#include "store/fixture.h"

#include "store/log_block.h"
#include "store/task_logs.h"

static struct store_log_line line(int i, const char *text)
{
    return (struct store_log_line){.time_us = T0 + i * 1000, .allocation_id = "t.1", .agent_id = "agent",
                                   .container_id = "c1", .level = 3, .source = "task", .stdtype = "stdout",
                                       .text = text,
                                   .text_n = strlen(text)};
}

static void append(struct fixture *f, const struct store_log_line *l, size_t n, int64_t expected_first_id)
{
    int64_t id;
    OK(f, store_task_log_append(f->st, "t", l, n, &id, &f->err));
    assert_int_equal(id, expected_first_id);
}

/* "1 one|2 two|…" in the order read, in steps of `max`. */
static const char *read_log(struct fixture *f, struct store_log_filter filter, bool descending, size_t max)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    struct store_log_reader *r;
    struct store_log_line *l;
    int64_t cursor = 0;
    size_t n;
    bool end = false;
    filter.task_id = "t";
    OK(f, store_log_reader_new(&filter, descending, &r, &f->err));
    while (!end) {
        OK(f, store_log_read(f->st, r, &cursor, max, &f->a, &l, &n, &end, &f->err));
        assert_true(n <= max);
        for (size_t i = 0; i < n; i++)
            strbuf_addf(&b, "%lld %.*s|", (long long)l[i].id, (int)l[i].text_n, l[i].text);
    }
    store_log_reader_free(r);
    return arena_strdup(&f->a, strbuf_str(&b));
}

#define READ(...) read_log(f, (struct store_log_filter){__VA_ARGS__}, false, 100)

static void test_lines__are_numbered_on_across_batches(void **state)
{
    struct fixture *f = *state;
    struct store_log_line l[] = {line(1, "one"), line(2, "two"), line(3, "three")};
    int64_t last, first;
    append(f, l, 2, 1);
    append(f, l + 2, 1, 3);
    assert_string_equal(READ(0), "1 one|2 two|3 three|");
    assert_string_equal(read_log(f, (struct store_log_filter){0}, false, 1), "1 one|2 two|3 three|");
    assert_string_equal(read_log(f, (struct store_log_filter){0}, true, 2), "3 three|2 two|1 one|");
    OK(f, store_task_log_last_id(f->st, "t", &last, &f->err));
    assert_int_equal(last, 3);
    FAILS(f, ERR_INVALID, "at least one line", store_task_log_append(f->st, "t", l, 0, &first, &f->err));
}

static void test_line__keeps_every_field_and_any_bytes(void **state)
{
    struct fixture *f = *state;
    struct store_log_line in[] = {line(5, ""), line(1, "x"), {.time_us = -7, .text = "", .text_n = 0}}, *out;
    struct store_log_reader *r;
    int64_t cursor = 0;
    size_t n;
    bool end;
    in[0].text = "a\0\xff\n";
    in[0].text_n = 4;
    in[0].has_rank = true;
    in[0].rank = 1023;
    append(f, in, 3, 1);
    OK(f, store_log_reader_new(&(struct store_log_filter){.task_id = "t"}, false, &r, &f->err));
    OK(f, store_log_read(f->st, r, &cursor, 10, &f->a, &out, &n, &end, &f->err));
    store_log_reader_free(r);
    assert_int_equal(n, 3);
    assert_int_equal(out[0].time_us, in[0].time_us);
    assert_int_equal(out[0].text_n, 4);
    assert_memory_equal(out[0].text, "a\0\xff\n", 4);
    assert_true(out[0].has_rank && out[0].rank == 1023);
    assert_string_equal(out[0].stdtype, "stdout");
    assert_string_equal(out[0].source, "task");
    assert_int_equal(out[1].time_us, in[1].time_us);
    assert_false(out[1].has_rank);
    assert_int_equal(out[2].time_us, -7);
    assert_null(out[2].allocation_id);
    assert_null(out[2].stdtype);
    assert_int_equal(out[2].level, 0);
}

static void test_numbered_lines__are_stored_exactly_once(void **state)
{
    struct fixture *f = *state;
    struct store_log_line l[] = {line(1, "1"), line(2, "2"), line(3, "3"), line(4, "4")};
    int64_t first, seq;
    size_t skipped;
    OK(f, store_task_log_append_numbered(f->st, "t", "c1", 1, l, 2, &first, &skipped, &seq, &f->err));
    assert_int_equal(seq, 2);
    /* Sent again with what came in between: only the new lines are kept. */
    OK(f, store_task_log_append_numbered(f->st, "t", "c1", 1, l, 4, &first, &skipped, &seq, &f->err));
    assert_int_equal(first, 3);
    assert_int_equal(skipped, 2);
    assert_int_equal(seq, 4);
    OK(f, store_task_log_append_numbered(f->st, "t", "c1", 2, l + 1, 2, &first, &skipped, &seq, &f->err));
    assert_int_equal(skipped, 2);
    assert_int_equal(seq, 4);
    FAILS(f, ERR_OUT_OF_RANGE, "lines from 6 on, but 4 are stored",
          store_task_log_append_numbered(f->st, "t", "c1", 6, l, 1, &first, &skipped, &seq, &f->err));
    OK(f, store_task_log_append_numbered(f->st, "t", "c2", 1, l, 1, &first, &skipped, &seq, &f->err)); /* its own
                                                                                                          numbers */
    assert_string_equal(READ(0), "1 1|2 2|3 3|4 4|5 1|");
}

static void test_numbered_lines__and_their_mark_are_one_transaction(void **state)
{
    struct fixture *f = *state;
    struct store_log_line l[] = {line(1, "1")};
    int64_t first, seq;
    size_t skipped;
    OK(f, store_begin(f->st, &f->err));
    OK(f, store_task_log_append_numbered(f->st, "t", "c1", 1, l, 1, &first, &skipped, &seq, &f->err));
    store_rollback(f->st);
    OK(f, store_task_log_mark(f->st, "c1", &seq, &f->err));
    assert_int_equal(seq, 0);
    assert_string_equal(READ(0), "");
}

/* 1 error rank 0 · 2 info rank 1 of another allocation · 3 no rank, from the master, stderr · 4 in a batch of its
 * own */
static void four(struct fixture *f)
{
    struct store_log_line l[] = {line(1, "Error: disk"), line(2, "step 17"), line(3, "hello"), line(4, "step 18")};
    l[0].level = 5;
    l[0].has_rank = l[1].has_rank = true;
    l[1].rank = 1;
    l[1].allocation_id = "t.2";
    l[2].source = "master";
    l[2].stdtype = "stderr";
    l[3].container_id = "c2";
    l[3].agent_id = "other";
    append(f, l, 3, 1);
    append(f, l + 3, 1, 4);
}

static void test_filters__choose_lines_and_pass_over_batches(void **state)
{
    struct fixture *f = *state;
    const char *t2[] = {"t.2"}, *c2[] = {"c2"}, *other[] = {"other"}, *err[] = {"stderr"}, *master[] = {"master"};
    const int32_t error[] = {5}, rank1[] = {1}, none[] = {-1};
    four(f);
    assert_string_equal(READ(.levels = {error, 1}), "1 Error: disk|");
    assert_string_equal(READ(.rank_ids = {rank1, 1}), "2 step 17|");
    assert_string_equal(READ(.rank_ids = {none, 1}), "3 hello|4 step 18|");
    assert_string_equal(READ(.allocation_ids = {t2, 1}), "2 step 17|");
    assert_string_equal(READ(.container_ids = {c2, 1}), "4 step 18|");
    assert_string_equal(READ(.agent_ids = {other, 1}), "4 step 18|");
    assert_string_equal(READ(.stdtypes = {err, 1}), "3 hello|");
    assert_string_equal(READ(.sources = {master, 1}), "3 hello|");
    assert_string_equal(READ(.after_us = T0 + 2000), "3 hello|4 step 18|");
    assert_string_equal(READ(.before_us = T0 + 2000), "1 Error: disk|2 step 17|");
    assert_string_equal(READ(.search = "ERROR"), "1 Error: disk|");
    assert_string_equal(READ(.search = "step 1[78]", .regex = true), "2 step 17|4 step 18|");
    assert_string_equal(READ(.search = "^step", .regex = true, .container_ids = {c2, 1}), "4 step 18|");
    assert_string_equal(read_log(f, (struct store_log_filter){.search = "step"}, true, 1), "4 step 18|2 step 17|");
}

static void test_regex__is_checked_and_bounded(void **state)
{
    struct fixture *f = *state;
    struct store_log_reader *r;
    struct store_log_line l[] = {line(1, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")};
    append(f, l, 1, 1);
    FAILS(f, ERR_INVALID, "search \"a(\": ", store_log_reader_new(&(struct store_log_filter){.task_id = "t",
                                                                                             .search = "a(",
                                                                                          .regex = true}, false, &r,
                                                                                              &f->err));
    assert_string_equal(READ(.search = "^(a+)+$", .regex = true), ""); /* would take for ever without a limit */
}

static void test_follow__the_cursor_finds_new_lines(void **state)
{
    struct fixture *f = *state;
    const int32_t error[] = {5};
    struct store_log_line l[] = {line(1, "a"), line(2, "b")}, *out;
    struct store_log_reader *r;
    int64_t cursor = 0;
    size_t n;
    bool end;
    append(f, l, 2, 1);
    OK(f, store_log_reader_new(&(struct store_log_filter){.task_id = "t", .levels = {error, 1}}, false, &r, &f->err));
    OK(f, store_log_read(f->st, r, &cursor, 10, &f->a, &out, &n, &end, &f->err));
    assert_true(n == 0 && end);
    assert_int_equal(cursor, 2); /* batches that were passed over are behind it */
    l[1].level = 5;
    append(f, l, 2, 3);
    OK(f, store_log_read(f->st, r, &cursor, 10, &f->a, &out, &n, &end, &f->err));
    assert_int_equal(n, 1);
    assert_int_equal(out[0].id, 4);
    assert_true(store_log_matches(r, &l[1]));
    assert_false(store_log_matches(r, &l[0]));
    store_log_reader_free(r);
}

static void test_count__with_and_without_filter(void **state)
{
    struct fixture *f = *state;
    int64_t n;
    four(f);
    OK(f, store_task_log_count(f->st, &(struct store_log_filter){.task_id = "t"}, &n, &f->err));
    assert_int_equal(n, 4);
    OK(f, store_task_log_count(f->st, &(struct store_log_filter){.task_id = "t", .search = "step"}, &n, &f->err));
    assert_int_equal(n, 2);
}

static void test_fields__are_distinct_and_sorted(void **state)
{
    struct fixture *f = *state;
    struct store_log_fields x;
    four(f);
    OK(f, store_task_log_fields(f->st, "t", &f->a, &x, &f->err));
    assert_int_equal(x.allocation_id_n, 2);
    assert_string_equal(x.allocation_id[0], "t.1");
    assert_int_equal(x.agent_id_n, 2);
    assert_int_equal(x.container_id_n, 2);
    assert_int_equal(x.stdtype_n, 2);
    assert_string_equal(x.stdtype[0], "stderr");
    assert_int_equal(x.source_n, 2);
    assert_int_equal(x.rank_n, 3);
    assert_int_equal(x.rank[0], -1);
    assert_int_equal(x.rank[2], 1);
}

static void test_retention__sweeps_what_ended_long_enough_ago(void **state)
{
    struct fixture *f = *state;
    struct store_log_line l[] = {line(1, "x"), line(2, "y")};
    int64_t id, lines;
    OK(f, store_task_insert(f->st, &(struct store_task){.id = "t", .type = "COMMAND", .job_id = "j", .start_us = T0,
                                                        .end_us = T0 + DAY_US}, &f->err));
    OK(f, store_task_insert(f->st, &(struct store_task){.id = "kept", .type = "COMMAND", .job_id = "j", .start_us = T0,
                                                        .end_us = T0 + DAY_US, .has_log_retention = true,
                                                        .log_retention_days = -1}, &f->err));
    append(f, l, 2, 1);
    OK(f, store_task_log_append(f->st, "kept", l, 2, &id, &f->err));
    OK(f, store_task_log_sweep(f->st, T0 + 3 * DAY_US, -1, &lines, &f->err));
    assert_int_equal(lines, 0); /* no retention: for ever */
    OK(f, store_task_log_sweep(f->st, T0 + 3 * DAY_US, 3, &lines, &f->err));
    assert_int_equal(lines, 0);
    OK(f, store_task_log_sweep(f->st, T0 + 3 * DAY_US, 2, &lines, &f->err));
    assert_int_equal(lines, 2);
    assert_string_equal(READ(0), "");
    append(f, l, 1, 3); /* numbers go on */
}

static void test_block__compresses(void **state)
{
    (void)state;
    struct store_log_line l[500];
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    char text[] = "epoch 1 loss 0.123456 accuracy 0.98 this is a line like many others\n";
    for (int i = 0; i < 500; i++)
        l[i] = line(i, text);
    log_block_encode(l, 500, &b);
    assert_true(b.n * 10 < 500 * strlen(text));
}

/* Whatever a damaged disk makes of a block: an error or lines, no crash. */
static void test_block__damage_is_an_error_not_a_crash(void **state)
{
    (void)state;
    struct store_log_line l[] = {line(1, "one"), line(2, "two"), line(3, "three")};
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    log_block_encode(l, 3, &b);
    for (size_t n = 0; n < b.n; n++) {
        cleanup_arena struct arena a = ARENA_INIT;
        cleanup_error struct error err = ERROR_INIT;
        struct store_log_line *out;
        size_t out_n;
        assert_int_equal(log_block_decode(b.s, n, 1, &a, &out, &out_n, &err), -1); /* cut short */
        assert_int_equal(err.kind, ERR_IO);
    }
    for (size_t i = 0; i < b.n * 8; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        cleanup_error struct error err = ERROR_INIT;
        struct store_log_line *out;
        size_t out_n;
        b.s[i / 8] ^= (char)(1 << i % 8);
        log_block_decode(b.s, b.n, 1, &a, &out, &out_n, &err);
        b.s[i / 8] ^= (char)(1 << i % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines__are_numbered_on_across_batches),
        TEST(test_line__keeps_every_field_and_any_bytes),
        TEST(test_numbered_lines__are_stored_exactly_once),
        TEST(test_numbered_lines__and_their_mark_are_one_transaction),
        TEST(test_filters__choose_lines_and_pass_over_batches),
        TEST(test_regex__is_checked_and_bounded),
        TEST(test_follow__the_cursor_finds_new_lines),
        TEST(test_count__with_and_without_filter),
        TEST(test_fields__are_distinct_and_sorted),
        TEST(test_retention__sweeps_what_ended_long_enough_ago),
        cmocka_unit_test(test_block__compresses),
        cmocka_unit_test(test_block__damage_is_an_error_not_a_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
