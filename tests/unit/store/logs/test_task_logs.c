/* Tests task logs: numbering, storing each line exactly once, filters in both directions, fields, retention, damaged
 * blocks. */
#include "store/fixture.h"

#include "common/base/rng.h"

#include "store/logs/log_block.h"
#include "store/logs/log_bytes.h"
#include "store/logs/log_find.h"
#include "store/logs/log_pattern.h"
#include "store/logs/log_regex.h"
#include "store/logs/log_seal.h"
#include "store/logs/log_words.h"
#include "store/logs/task_logs.h"

static struct store_log_line line(int i, const char *text)
{
    return (struct store_log_line){.time_us = T0 + i * 1000,
                                   .allocation_id = "t.1",
                                   .agent_id = "agent",
                                   .container_id = "c1",
                                   .level = 3,
                                   .source = "task",
                                   .stdtype = "stdout",
                                   .text = text,
                                   .text_n = strlen(text)};
}

static void append(struct fixture *f, const struct store_log_line *l, size_t n, int64_t expected_first_id)
{
    int64_t id;
    OK(f, store_task_log_append(f->st, "t", l, n, &id, &f->err));
    assert_int_equal(id, expected_first_id);
}

/* Reads a log in steps of `max` lines, and returns "1 one|2 two|…" in the order read. */
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
    OK(f, fixture_append_numbered(f, "t", "c1", 1, l, 2, &first, &skipped, &seq, &f->err));
    assert_int_equal(seq, 2);
    /* The same lines are sent again, with new ones behind them. Only the new lines are stored. */
    OK(f, fixture_append_numbered(f, "t", "c1", 1, l, 4, &first, &skipped, &seq, &f->err));
    assert_int_equal(first, 3);
    assert_int_equal(skipped, 2);
    assert_int_equal(seq, 4);
    OK(f, fixture_append_numbered(f, "t", "c1", 2, l + 1, 2, &first, &skipped, &seq, &f->err));
    assert_int_equal(skipped, 2);
    assert_int_equal(seq, 4);
    FAILS(f, ERR_OUT_OF_RANGE, "lines from 6 on, but 4 are stored",
          fixture_append_numbered(f, "t", "c1", 6, l, 1, &first, &skipped, &seq, &f->err));
    /* another container numbers its own lines */
    OK(f, fixture_append_numbered(f, "t", "c2", 1, l, 1, &first, &skipped, &seq, &f->err));
    assert_string_equal(READ(0), "1 1|2 2|3 3|4 4|5 1|");
}

static void test_numbered_lines__and_their_mark_are_one_transaction(void **state)
{
    struct fixture *f = *state;
    struct store_log_line l[] = {line(1, "1")};
    int64_t first, seq;
    size_t skipped;
    OK(f, store_begin(f->st, &f->err));
    OK(f, fixture_append_numbered(f, "t", "c1", 1, l, 1, &first, &skipped, &seq, &f->err));
    store_rollback(f->st);
    OK(f, store_task_log_mark(f->st, "c1", &seq, &f->err));
    assert_int_equal(seq, 0);
    assert_string_equal(READ(0), "");
}

/* Four lines: 1 is an error of rank 0, 2 is of level info, of rank 1 and of another allocation, 3 has no rank and is
 * from the master's stderr, and 4 is in a batch of its own. */
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

static void test_regex__what_every_match_holds_is_found_or_left(void **state)
{
    static const struct {
        const char *pattern, *needs;
    } row[] = {
        {"out of memory", "out of memory"},
        {"loss=\\d+\\.\\d+ at step", " at step"},
        {"^step 1[78]$", "step 1"},
        {"abc?d", "ab"},
        {"abc*", "ab"},
        {"ab+cde", "cde"},
        {"abcd{2,3}e", "abcd"},
        {"abcd{0,3}e", "abc"},
        {"abcd{,3}e", "abc"},
        {"ab{x}cdef", "ab{x}cdef"},
        {"a|bcd", "a|bcd"},
        {"(abc|def)ghij", "ghij"},
        {"^.*(error|warn)", "error|warn"},
        {"(error|warn)? x", " x"},
        {"(?:error|(a)?)", ""},
        {"((one|two) or|three)+", "one|two|three"},
        {"a|b|c|d|e", ""},
        {"(ab|(cd|ef)gh)", "ab|cd|ef"},
        {"(abc)?x", "x"},
        {"(a(b)c)defg", "defg"},
        {"(?i)abcd", "abcd"},
        {"(?i)cuda desk", "cuda de"},
        {"(?i)\xc3\xa9t", "t"},
        {"x(?i:y)skz", "x"},
        {"(?x)ab c", ""},
        {"(?=abc)", ""},
        {"(*UTF)abc", ""},
        {"[abc]defg[^]h]ij", "defg"},
        {"[]x]yz", "yz"},
        {"[[:alpha:]]yz", "yz"},
        {"[a[:]xyz:]", "xyz:]"},
        {"a\\.b", "a.b"},
        {"\\x41bcd", ""},
        {"\\Qa|b\\E", ""},
        {"\\N{U+41}bc", ""},
        {"\\[error\\] .* lost", "[error] "},
        {"", ""},
        {"\xc3\xa9t\xc3\xa9?x", "\xc3\xa9t"},
        {".*", ""},
        {"a{2}{3}", ""},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        cleanup_strbuf struct strbuf all = STRBUF_INIT;
        struct log_pattern p = log_pattern_read(row[i].pattern, &f->a);
        for (size_t k = 0; k < p.needs.n; k++)
            strbuf_addf(&all, "%s%s", k ? "|" : "", p.needs.text[k]);
        if (strcmp(strbuf_str(&all), row[i].needs) != 0)
            fail_msg("%s gave \"%s\", not \"%s\"", row[i].pattern, strbuf_str(&all), row[i].needs);
    }
}

static void test_regex__what_looks_beyond_its_line_is_told(void **state)
{
    static const char *const within[] = {"^a.*b$",        "[0-9]{9}",   "\\bz|\\d+?",
                                         "[ \\t\\]x]\\S", "(?i)(a|b)+", "[[:digit:]]\\.\\w"};
    static const char *const beyond[] = {"[^,]a", "\\s",    "a\\n",    "[\\s]",       "[\\t-z]",     "[\n]", "\n",
                                         "\\W",   "[\\D]",  "\\Aa",    "a\\z",        "(?s)a.b",     "a++b", "a{2}+b",
                                         "\\B",   "(?!a)b", "(?<=a)b", "[[:space:]]", "[[:^digit:]]"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(within) / sizeof(*within); i++)
        if (!log_pattern_read(within[i], &f->a).within_lines)
            fail_msg("%s stays within its line", within[i]);
    for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++)
        if (log_pattern_read(beyond[i], &f->a).within_lines)
            fail_msg("%s does not stay within its line", beyond[i]);
}

static const char *any_of(struct rng *rng, const char *const *all, size_t n)
{
    return all[rng_int(rng, n)];
}

/* Makes the same pattern in a form of which log_pattern.h finds no property. */
static struct log_regex *that_shows_nothing(struct fixture *f, const char *pattern)
{
    cleanup_strbuf struct strbuf whole = STRBUF_INIT;
    struct log_regex *r;
    strbuf_addf(&whole, "(?=)(?:%s)", pattern);
    OK(f, log_regex_new(whole.s, &r, &f->err));
    assert_int_equal(log_regex_needs(r).n, 0);
    return r;
}

/* Tries patterns made of everything that can cut a text short, on lines that almost match. Each line that PCRE2
 * finds must be found, and no five lines with a matching one among them may be skipped. */
static void test_regex__no_line_is_lost_for_what_shows_of_a_pattern(void **state)
{
    static const char *const piece[] = {"ab",         "c",     "c?",       "d*",   "e+",   "(fg|h)", "(?:ab|c|)",
                                        "((i|jk)c)+", "[ij]",  ".",        "\\d",  "{",    "k{0,2}", "c{2}",
                                        "\\.",        "^",     "$",        "(l)?", "|",    "(?i)",   "\\b",
                                        "\\S",        "[a-e]", "\xc3\xa9", "\\s",  "[^c]", "\\B",    "d++"};
    static const char *const text[] = {"ab", "AB",  "c",   "cc",       "d",    "ee",           "fg",
                                       "h",  "i",   "jkc", "7",        "{",    "kk",           ".",
                                       "l",  "abc", " ",   "\xc3\xa9", "\xc3", "\xe2\x84\xaa", "\n"};
    struct fixture *f = *state;
    struct rng rng;
    size_t matches = 0, passed_over = 0;
    rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        cleanup_strbuf struct strbuf pattern = STRBUF_INIT, lines = STRBUF_INIT;
        struct log_regex *r;
        for (uint64_t k = 1 + rng_int(&rng, 4); k > 0; k--)
            strbuf_adds(&pattern, any_of(&rng, piece, sizeof(piece) / sizeof(*piece)));
        if (log_regex_new(pattern.s, &r, NULL) < 0)
            continue;
        struct log_regex *plain = that_shows_nothing(f, pattern.s);
        bool any = false;
        for (int line = 0; line < 5; line++) {
            size_t from = lines.n;
            for (uint64_t k = rng_int(&rng, 4); k > 0; k--)
                strbuf_adds(&lines, any_of(&rng, text, sizeof(text) / sizeof(*text)));
            strbuf_addc(&lines, '\n');
            int found = log_regex_matches(plain, lines.s + from, lines.n - from, 1, NULL);
            if (log_regex_matches(r, lines.s + from, lines.n - from, 1, NULL) != found)
                fail_msg("%s on %s: %d", pattern.s, lines.s + from, found);
            matches += found > 0;
            any |= found > 0;
        }
        bool maybe = log_regex_may_match(r, lines.s, lines.n);
        if (any && !maybe)
            fail_msg("%s passes over %s", pattern.s, lines.s);
        passed_over += !maybe;
        log_regex_free(r);
        log_regex_free(plain);
    }
    assert_true(matches > 1000 && passed_over > 1000);
}

enum { MANY = 1200, BATCH = 100 };

static const char *step_text(struct fixture *f, int i)
{
    return arena_printf(&f->a, i % BATCH == 50 ? "step %d" : "step %d\n", i);
}

/* Returns the result that a search of these lines must have, found line by line. */
static const char *steps_that_match(struct fixture *f, const char *search, bool regex, bool descending)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    struct log_regex *r = regex ? that_shows_nothing(f, search) : NULL;
    for (int i = 0; i < MANY; i++) {
        int step = descending ? MANY - 1 - i : i;
        const char *text = step_text(f, step);
        bool found = r ? log_regex_matches(r, text, strlen(text), 1, NULL) > 0 : strstr(text, search) != NULL;
        if (found)
            strbuf_addf(&b, "%d %s|", step + 1, text);
    }
    log_regex_free(r);
    return arena_strdup(&f->a, strbuf_str(&b));
}

static bool seal(struct fixture *f, bool rest);

/* Of many lines few match, and some have no newline. They are searched in heads and in a block, in both directions,
 * a few lines at a time. */
static void test_search__finds_single_lines_among_many(void **state)
{
    static const struct {
        const char *search;
        bool regex;
    } query[] = {{"STEP 7[0-9]*5$", true}, {"step 7[0-9]*5$", true},
                 {"[0-9]{4}", true},       {"^step (13|77)", true},
                 {"11\\s", true},          {"^step 151$", true} /* the line before it has no newline */,
                 {"step 99", false},       {"p 1001", false}};
    struct fixture *f = *state;
    for (int from = 0; from < MANY; from += BATCH) {
        struct store_log_line l[BATCH];
        for (int i = 0; i < BATCH; i++)
            l[i] = line(from + i, step_text(f, from + i));
        append(f, l, BATCH, from + 1);
    }
    for (int sealed = 0; sealed < 2; sealed++) {
        for (size_t k = 0; k < 2 * sizeof(query) / sizeof(*query); k++) {
            const char *search = query[k / 2].search;
            bool regex = query[k / 2].regex, descending = k % 2;
            assert_string_equal(read_log(f, (struct store_log_filter){.search = search, .regex = regex}, descending, 3),
                                steps_that_match(f, search, regex, descending));
        }
        assert_true(sealed || seal(f, true));
    }
}

static void test_regex__is_checked_and_bounded(void **state)
{
    struct fixture *f = *state;
    struct store_log_reader *r;
    struct store_log_line l[] = {line(1, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")};
    append(f, l, 1, 1);
    FAILS(f, ERR_INVALID, "search \"a(\": ",
          store_log_reader_new(&(struct store_log_filter){.task_id = "t", .search = "a(", .regex = true}, false, &r,
                               &f->err));
    OK(f, store_log_reader_new(&(struct store_log_filter){.task_id = "t", .search = "^(a+)+$", .regex = true}, false,
                               &r, &f->err));
    struct store_log_line *out;
    int64_t cursor = 0;
    size_t n;
    bool end;
    FAILS(f, ERR_INVALID, "search \"^(a+)+$\" takes too long on line 1", /* without a limit it would take for ever */
          store_log_read(f->st, r, &cursor, 1, &f->a, &out, &n, &end, &f->err));
    store_log_reader_free(r);
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
    assert_int_equal(cursor, 2); /* the cursor has passed the batches that were skipped */
    l[1].level = 5;
    append(f, l, 2, 3);
    OK(f, store_log_read(f->st, r, &cursor, 10, &f->a, &out, &n, &end, &f->err));
    assert_int_equal(n, 1);
    assert_int_equal(out[0].id, 4);
    assert_int_equal(store_log_matches(r, &l[1], &f->err), 1);
    assert_int_equal(store_log_matches(r, &l[0], &f->err), 0);
    store_log_reader_free(r);
}

static void test_fields__are_distinct_and_sorted(void **state)
{
    struct fixture *f = *state;
    struct store_log_fields x;
    four(f);
    OK(f, store_task_log_fields(f->st, (struct store_texts){(const char *const[]){"t"}, 1}, &f->a, &x, &f->err));
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

static int64_t sweep(struct fixture *f, int64_t now_us, int32_t days, int64_t max_blocks)
{
    int64_t lines, all = 0;
    bool more = true;
    while (more) {
        OK(f, store_task_log_sweep(f->st, now_us, days, max_blocks, &lines, &more, &f->err));
        all += lines;
    }
    return all;
}

static void ended_task(struct fixture *f, const char *id, int64_t end_us)
{
    struct task_row t = {.job_id = "j", .start_us = T0, .end_us = end_us};
    snprintf(t.id, sizeof(t.id), "%s", id);
    OK(f, store_task_put(f->st, &t, true, &f->err));
}

static void test_retention__sweeps_what_ended_long_enough_ago(void **state)
{
    struct fixture *f = *state;
    struct store_log_line l[] = {line(1, "x"), line(2, "y")};
    int64_t id;
    const struct task_row kept = {.id = "kept",
                                  .job_id = "j",
                                  .start_us = T0,
                                  .end_us = T0 + DAY_US,
                                  .has_log_retention = true,
                                  .log_retention_days = -1};
    ended_task(f, "t", T0 + DAY_US);
    OK(f, store_task_put(f->st, &kept, true, &f->err));
    append(f, l, 2, 1);
    OK(f, store_task_log_append(f->st, "kept", l, 2, &id, &f->err));
    assert_int_equal(sweep(f, T0 + 3 * DAY_US, -1, 100), 0); /* a negative retention keeps logs for ever */
    assert_int_equal(sweep(f, T0 + 3 * DAY_US, 3, 100), 0);
    assert_int_equal(sweep(f, T0 + 3 * DAY_US, 2, 100), 2);
    assert_string_equal(READ(0), "");
    append(f, l, 1, 3); /* new lines are still numbered on */
}

static void test_retention__a_part_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct store_log_line l[] = {line(1, "x"), line(2, "y")};
    int64_t id, lines;
    bool more;
    ended_task(f, "t", T0);
    ended_task(f, "u", T0);
    for (int i = 0; i < 3; i++)
        append(f, l, 2, 2 * i + 1);
    OK(f, store_task_log_append(f->st, "u", l, 1, &id, &f->err));
    OK(f, store_task_log_sweep(f->st, T0, 0, 2, &lines, &more, &f->err));
    assert_int_equal(lines, 4);
    assert_true(more);
    assert_string_equal(READ(0), "5 x|6 y|"); /* the oldest lines were deleted first */
    assert_int_equal(sweep(f, T0, 0, 2), 3);
}

/* ---- sealing ----------------------------------------------------------------------------------------------------- */

static int64_t rows(struct fixture *f, const char *where)
{
    const struct engine_ops *ops = store_engine(f->st)->ops;
    struct engine_stmt *s;
    char sql[128];
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM task_log_blocks WHERE %s", where);
    OK(f, ops->prepare(store_engine(f->st), sql, &s, &f->err));
    OK(f, ops->step(s, &f->err));
    int64_t n = ops->integer(s, 0);
    ops->finalize(s);
    return n;
}

/* Appends heads of `per_head` lines each. The lines have numbered texts of about 100 bytes; every tenth is of rank 1
 * and of another container. */
static void append_many(struct fixture *f, int heads, int per_head)
{
    static char text[512][128];
    struct store_log_line l[512];
    int64_t id, last;
    OK(f, store_task_log_last_id(f->st, "t", &last, &f->err));
    for (int h = 0, number = (int)last; h < heads; h++) {
        for (int i = 0; i < per_head; i++) {
            snprintf(text[i], sizeof(text[i]),
                     "step %d of many, and the rest of the line is what it is in each of %d "
                     "lines or so\n",
                     ++number, heads * per_head);
            l[i] = line(number, text[i]);
            if (number % 10 == 0) {
                l[i].has_rank = true;
                l[i].rank = 1;
                l[i].container_id = "c2";
            }
        }
        OK(f, store_task_log_append(f->st, "t", l, (size_t)per_head, &id, &f->err));
    }
}

static bool seal(struct fixture *f, bool rest)
{
    struct log_seal *s;
    OK(f, store_log_seal_make(f->st, "t", LOG_SEAL_DENSE, rest, &s, &f->err));
    if (!s)
        return false;
    OK(f, store_begin(f->st, &f->err));
    OK(f, store_log_seal_put(f->st, s, &f->err));
    OK(f, store_commit(f->st, &f->err));
    log_seal_free(s);
    return true;
}

static void test_seal__keeps_every_line_and_its_number(void **state)
{
    struct fixture *f = *state;
    const char *c2[] = {"c2"};
    append_many(f, 70, 100); /* 7,000 lines, 600 KB */
    const char *up = READ(0), *down = read_log(f, (struct store_log_filter){0}, true, 700);
    const char *of_c2 = READ(.container_ids = {c2, 1}), *found = READ(.search = "STEP 4711 OF");
    assert_true(seal(f, false));
    assert_int_equal(rows(f, "sealed = 0"), 0);
    assert_int_equal(rows(f, "sealed = 1"), 2);
    assert_string_equal(READ(0), up);
    assert_string_equal(read_log(f, (struct store_log_filter){0}, true, 700), down);
    assert_string_equal(READ(.container_ids = {c2, 1}), of_c2);
    assert_string_equal(READ(.search = "STEP 4711 OF"), found);
    assert_non_null(strstr(found, "4711 step 4711 of many"));
    append_many(f, 1, 1);
    assert_non_null(strstr(READ(.search = "step 7001"), "7001 step 7001 of"));
}

static void test_seal__takes_what_is_worth_it(void **state)
{
    struct fixture *f = *state;
    assert_false(seal(f, true)); /* there is nothing to seal */
    append_many(f, 3, 100);
    assert_false(seal(f, false)); /* 25 KB are too little to be sealed */
    assert_int_equal(rows(f, "sealed = 0"), 3);
    assert_true(seal(f, true));
    assert_int_equal(rows(f, "sealed = 1"), 1);
    append_many(f, LOG_SEAL_HEADS + 5, 1); /* the heads are short, but there are many */
    assert_true(seal(f, false));
    assert_int_equal(rows(f, "sealed = 0"), 5);
    append_many(f, 40, 512); /* more than one round takes, so several rounds follow */
    assert_true(seal(f, false));
    assert_true(rows(f, "sealed = 0") > 0);
    assert_true(seal(f, false));
    for (int i = 0; seal(f, true) && i < 10; i++)
        ;
    assert_int_equal(rows(f, "sealed = 0"), 0);
}

static void test_seal__long_lines_are_not_cut(void **state)
{
    struct fixture *f = *state;
    static char text[3 * LOG_SEAL_BYTES];
    memset(text, 'x', sizeof(text));
    struct store_log_line l[] = {line(1, "before"), line(2, ""), line(3, "")};
    l[1].text = l[2].text = text;
    l[1].text_n = l[2].text_n = sizeof(text);
    append(f, l, 3, 1);
    assert_true(seal(f, false));
    assert_int_equal(rows(f, "sealed = 1"), 2);
    assert_string_equal(READ(.search = "e"), "1 before|");
    assert_int_equal(strlen(READ(.search = "xxx")), 2 * (sizeof(text) + strlen("2 |")));
}

static void test_seal__heads_that_are_gone_change_nothing(void **state)
{
    struct fixture *f = *state;
    struct log_seal *s;
    append_many(f, 3, 10);
    OK(f, store_log_seal_make(f->st, "t", LOG_SEAL_QUICK, true, &s, &f->err));
    assert_int_equal(log_seal_taken(s).heads, 3);
    assert_true(seal(f, true)); /* another seal was stored first */
    OK(f, store_begin(f->st, &f->err));
    FAILS(f, ERR_CONFLICT, "3 of 3 heads of its log are gone", store_log_seal_put(f->st, s, &f->err));
    store_rollback(f->st);
    log_seal_free(s);
    assert_int_equal(rows(f, "sealed = 1"), 1);
}

static void test_waiting__counts_heads_by_task(void **state)
{
    struct fixture *f = *state;
    struct store_log_waiting *w;
    size_t n;
    struct store_log_line l[] = {line(1, "12345")};
    int64_t id;
    append(f, l, 1, 1);
    append(f, l, 1, 2);
    OK(f, store_task_log_append(f->st, "u", l, 1, &id, &f->err));
    OK(f, store_log_waiting(f->st, &f->a, &w, &n, &f->err));
    assert_int_equal(n, 2);
    const struct store_log_waiting *t = strcmp(w[0].task_id, "t") == 0 ? &w[0] : &w[1];
    assert_int_equal(t->size.heads, 2);
    assert_int_equal(t->size.text_bytes, 10);
}

/* ---- a store from before sealed blocks --------------------------------------------------------------------------- */

static void put_v1_string(struct strbuf *b, const char *s)
{
    log_bytes_add_varint(b, strlen(s));
    strbuf_adds(b, s);
}

/* Makes a head of version 1 with two lines: "one" at T0, and "two" 5 µs later, at level 3 and of rank 7. */
static void make_v1_head(struct strbuf *out)
{
    static const uint64_t second[] = {10, 3, 8, 1, 0, 2, 0, 0}; /* time, level, rank, strings */
    cleanup_strbuf struct strbuf plain = STRBUF_INIT;
    log_bytes_add_varint(&plain, 2);
    put_v1_string(&plain, "t.1");
    put_v1_string(&plain, "c1");
    log_bytes_add_varint(&plain, 2);
    log_bytes_add_varint(&plain, log_bytes_zigzag(T0));
    for (int i = 0; i < 7; i++)
        log_bytes_add_varint(&plain, 0);
    put_v1_string(&plain, "one");
    for (int i = 0; i < 8; i++)
        log_bytes_add_varint(&plain, second[i]);
    put_v1_string(&plain, "two");
    strbuf_addc(out, 1);
    strbuf_addc(out, 0);
    log_bytes_add_varint(out, plain.n);
    strbuf_add(out, plain.s, plain.n);
}

/* Makes the database that a program without sealed blocks left: its tables, and one head of the task. */
static void make_store_before_blocks(struct fixture *f)
{
    cleanup_strbuf struct strbuf head = STRBUF_INIT, sql = STRBUF_INIT;
    fixture_older(f, "_log_blocks");
    make_v1_head(&head);
    strbuf_addf(&sql,
                "INSERT INTO task_log_heads (task_id, first_id, last_id, first_us, last_us, level_mask, rank_mask,"
                " container_id, lines) VALUES ('t', 1, 2, %lld, %lld, 9, 129, NULL, %s",
                (long long)T0, (long long)T0 + 5, fixture_server() ? "'\\x" : "X'");
    for (size_t i = 0; i < head.n; i++)
        strbuf_addf(&sql, "%02x", (unsigned char)head.s[i]);
    strbuf_adds(&sql, "'); INSERT INTO task_log_state VALUES ('t', 2, '{}')");
    fixture_exec(f, sql.s);
}

static void test_store_from_before_blocks__keeps_its_log(void **state)
{
    struct fixture *f = *state;
    const char *c1[] = {"c1"};
    struct store_log_line l[] = {line(1, "three")};
    make_store_before_blocks(f);
    fixture_open(f);
    assert_string_equal(READ(0), "1 one|2 two|");
    assert_string_equal(READ(.container_ids = {c1, 1}), "2 two|");
    append(f, l, 1, 3);
    assert_true(seal(f, true));
    assert_string_equal(READ(0), "1 one|2 two|3 three|");
    assert_string_equal(READ(.container_ids = {c1, 1}), "2 two|3 three|");
}

/* ---- damaged blocks, Bloom filters, finding texts ---------------------------------------------------------------- */

static void test_block__compresses(void **state)
{
    (void)state;
    struct store_log_line l[500];
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    char text[] = "epoch 1 loss 0.123456 accuracy 0.98 this is a line like many others\n";
    for (int i = 0; i < 500; i++)
        l[i] = line(i, text);
    log_block_encode(l, 500, LOG_BLOCK_QUICK, &b);
    assert_true(b.n * 10 < 500 * strlen(text));
}

static int decode(struct log_block *b, const void *data, size_t n, struct error *err)
{
    struct store_log_line *out;
    const char *text;
    size_t text_n, out_n;
    if (log_block_open(b, data, n, &text, &text_n, err) < 0)
        return -1;
    return log_block_lines(b, 1, &out, &out_n, err);
}

/* A damaged block must give an error or lines, but no crash. */
static void check_damage(const struct strbuf *whole)
{
    struct log_block *block = log_block_new();
    for (size_t n = 0; n < whole->n; n++) {
        cleanup_error struct error err = ERROR_INIT;
        char *cut = malloc(n + 1); /* a block of memory of its own, so that a sanitizer sees reads beyond its end */
        memcpy(cut, whole->s, n);
        assert_int_equal(decode(block, cut, n, &err), -1);
        assert_int_equal(err.kind, ERR_IO);
        free(cut);
    }
    for (size_t i = 0; i < whole->n * 8; i++) {
        cleanup_error struct error err = ERROR_INIT;
        whole->s[i / 8] ^= (char)(1 << i % 8);
        decode(block, whole->s, whole->n, &err);
        whole->s[i / 8] ^= (char)(1 << i % 8);
    }
    log_block_free(block);
}

static void test_block__damage_is_an_error_not_a_crash(void **state)
{
    (void)state;
    struct store_log_line l[] = {line(1, "one"), line(2, "two"), line(3, "three")}, many[60];
    cleanup_strbuf struct strbuf plain = STRBUF_INIT, packed = STRBUF_INIT, v1 = STRBUF_INIT;
    for (int i = 0; i < 60; i++)
        many[i] = line(i, "one of many that compress well");
    log_block_encode(l, 3, LOG_BLOCK_QUICK, &plain);
    log_block_encode(many, 60, LOG_BLOCK_DENSE, &packed);
    make_v1_head(&v1);
    check_damage(&plain);
    check_damage(&packed);
    check_damage(&v1);
}

static bool may_hold(const struct strbuf *words, const char *text)
{
    cleanup_arena struct arena a = ARENA_INIT;
    uint64_t *key;
    size_t n = log_words_text_keys(text, strlen(text), &a, &key);
    for (size_t i = 0; i < n; i++)
        if (!log_words_may_hold(words->s, words->n, key[i]))
            return false;
    return true;
}

static void test_words__never_hide_a_text_that_is_there(void **state)
{
    (void)state;
    const struct store_log_line l[] = {line(1, "CUDA out of memory: tried to allocate 20.00 MiB"), line(2, "Épôque 3")};
    cleanup_strbuf struct strbuf words = STRBUF_INIT;
    log_words_make(l, 2, &words);
    for (size_t from = 0; from < l[0].text_n; from++)
        for (size_t n = 1; from + n <= l[0].text_n; n++) {
            char part[64] = "";
            memcpy(part, l[0].text + from, n);
            assert_true(may_hold(&words, part));
        }
    assert_true(may_hold(&words, "cUdA OUT"));
    assert_true(may_hold(&words, "42")); /* a text without letters has no keys, so the filter excludes nothing */
    assert_false(may_hold(&words, "gradient overflow"));
    assert_true(log_words_may_hold(words.s, words.n, log_words_field_key(LOG_WORDS_CONTAINER, "c1")));
    assert_false(log_words_may_hold(words.s, words.n, log_words_field_key(LOG_WORDS_CONTAINER, "c2")));
    assert_false(log_words_may_hold(words.s, words.n, log_words_field_key(LOG_WORDS_AGENT, "c1")));
    assert_true(log_words_may_hold(NULL, 0, 1)); /* a head has no filter */
}

static void test_find__everywhere_in_a_text(void **state)
{
    (void)state;
    char text[80];
    for (size_t n = 1; n < 70; n++)
        for (size_t at = 0; at + 3 <= n; at++) {
            memset(text, 'a', sizeof(text));
            memcpy(text + at, "aB[", 3);
            assert_true(log_find(text, n, "Ab[", 3));
            assert_false(log_find(text, n, "Ab{", 3)); /* '[' and '{' differ by the same bit as the cases of a letter */
            assert_int_equal(log_find(text, at + 2, "ab[", 3), false);
        }
    assert_true(log_find("", 0, "", 0));
    assert_false(log_find("", 0, "x", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines__are_numbered_on_across_batches),
        TEST(test_line__keeps_every_field_and_any_bytes),
        TEST(test_numbered_lines__are_stored_exactly_once),
        TEST(test_numbered_lines__and_their_mark_are_one_transaction),
        TEST(test_filters__choose_lines_and_pass_over_batches),
        TEST(test_regex__what_every_match_holds_is_found_or_left),
        TEST(test_regex__what_looks_beyond_its_line_is_told),
        TEST(test_regex__no_line_is_lost_for_what_shows_of_a_pattern),
        TEST(test_search__finds_single_lines_among_many),
        TEST(test_regex__is_checked_and_bounded),
        TEST(test_follow__the_cursor_finds_new_lines),
        TEST(test_fields__are_distinct_and_sorted),
        TEST(test_retention__sweeps_what_ended_long_enough_ago),
        TEST(test_retention__a_part_at_a_time),
        TEST(test_seal__keeps_every_line_and_its_number),
        TEST(test_seal__takes_what_is_worth_it),
        TEST(test_seal__long_lines_are_not_cut),
        TEST(test_seal__heads_that_are_gone_change_nothing),
        TEST(test_waiting__counts_heads_by_task),
        TEST(test_store_from_before_blocks__keeps_its_log),
        cmocka_unit_test(test_block__compresses),
        cmocka_unit_test(test_block__damage_is_an_error_not_a_crash),
        cmocka_unit_test(test_words__never_hide_a_text_that_is_there),
        cmocka_unit_test(test_find__everywhere_in_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
